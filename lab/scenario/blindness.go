package scenario

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	watchRelists = "kubeflap_watch_relists_total"
	watchErrors  = "kubeflap_watch_errors_total"
	watchBlind   = "kubeflap_watch_blind_seconds_total"
	// outageStart is absent while the watches are broken for longer than 90 s.
	outageStart = "kubeflap_service_outage_start_timestamp_seconds"

	// afterglow is how long kubeflap's counts can change after the last event. The longest batching window that
	// kubeflap simulates is 10 s.
	afterglow = 11 * time.Second
	// comeBack is the maximum time from the return of the API server until all watches of kubeflap work. kubeflap
	// retries at least every 10 s. Several attempts can fail, and lists take time on a slow machine.
	comeBack = time.Minute
	// catchUp is how long a test waits after a reconnect. It must exceed the first 2 s, in which kubeflap measures no
	// intervals because events can be old.
	catchUp = 3 * time.Second
	// noticed is the maximum time from the death of the API server until kubeflap reports it. The connection breaks
	// immediately, but a slow machine needs more time.
	noticed = 5 * time.Second
)

// blindness holds kubeflap's metrics before and after an outage of the API server.
type blindness struct {
	*Lab
	// began is the time at which beforeBlindness was called, before it waited and scraped.
	began            time.Time
	before, reported truth.Counts
	// excused is true if heartbeats were really late. kubeflap is then allowed to count late heartbeats.
	excused bool
}

// beforeBlindness reads kubeflap's metrics while all of its watches work.
func beforeBlindness(l *Lab) *blindness {
	b := &blindness{Lab: l, began: time.Now()}
	l.Sleep(afterglow)
	b.before = l.Scrape()
	return b
}

// Ready returns an error unless kubeflap is ready.
func (l *Lab) Ready() error { return compare.Ready(l.Ctx, l.URL) }

// grown returns the increase of a metric since beforeBlindness was called.
func (b *blindness) grown(metric string, labels ...string) float64 {
	return b.reported.Sum(metric, labels...) - b.before.Sum(metric, labels...)
}

// during checks kubeflap while the API server is down. kubeflap must keep its last state and report nothing new.
func (b *blindness) during() {
	b.reported = b.Scrape()
	b.Must(errors.Join(b.Ready(), b.checkUnchanged()))
}

// after waits until kubeflap's watches work again, and then checks its metrics. The API server was down for the
// duration gone.
func (b *blindness) after(gone time.Duration) {
	waitForRecoveredWatches(b.Lab)
	b.reported = b.Scrape()
	b.Must(errors.Join(b.Ready(), b.checkUnchanged(), b.checkBlindTime(gone), b.checkHeartbeats(gone)))
	b.Sleep(catchUp)
}

// waitForRecoveredWatches waits until kubeflap_watch_blind_seconds_total stops increasing, because all watches work.
func waitForRecoveredWatches(l *Lab) {
	l.Until("kubeflap to see again", func(l *Lab) {
		first := l.Scrape().Sum(watchBlind)
		l.Sleep(100 * time.Millisecond)
		grown := l.Scrape().Sum(watchBlind) - first
		l.Expect(grown == 0, "the blind time has increased by %.3f s", grown)
	})
}

// checkUnchanged checks that no series has changed, appeared or disappeared. It ignores metrics of incidents and
// watches. It also ignores metrics of heartbeats, because kubelets can renew their Leases before kubeflap's watches
// work again.
func (b *blindness) checkUnchanged() error {
	moves := func(series string) bool {
		name := truth.Name(series)
		switch name {
		case "kubeflap_node_heartbeat_age_seconds", "kubeflap_node_clock_offset_seconds":
			return true
		case "kubeflap_node_heartbeats_late_total", "kubeflap_node_heartbeats_missed_total":
			return b.excused
		}
		return !strings.HasPrefix(name, "kubeflap_") || strings.HasPrefix(name, "kubeflap_watch_") || compare.OfIncidents(name) ||
			strings.HasPrefix(name, "kubeflap_node_heartbeat_interval")
	}
	all := maps.Clone(b.before)
	maps.Copy(all, b.reported)
	var errs []error
	for _, series := range slices.Sorted(maps.Keys(all)) {
		was, known := b.before[series]
		is, still := b.reported[series]
		if truth.Name(series) == outageStart && !still {
			continue // kubeflap does not know whether the outage goes on
		}
		if !moves(series) && (was != is || known != still) {
			errs = append(errs, fmt.Errorf("%s changed from %v to %v", series, was, is))
		}
	}
	return errors.Join(errs...)
}

// checkBlindTime checks for each watch that kubeflap's blind time is about as long as the outage of the API server.
func (b *blindness) checkBlindTime(gone time.Duration) error {
	var errs []error
	if b.grown(watchRelists) == 0 {
		errs = append(errs, errors.New("kubeflap has relisted no resource"))
	}
	for _, resource := range watched() {
		blind := time.Duration(b.grown(watchBlind, "resource", resource) * float64(time.Second))
		b.Log.Info("blind", "resource", resource, "server away", gone.Round(time.Millisecond), "blind", blind.Round(time.Millisecond),
			"relists", b.grown(watchRelists, "resource", resource), "errors", b.grown(watchErrors, "resource", resource))
		if blind < gone-noticed || blind > gone+comeBack {
			errs = append(errs, fmt.Errorf("kubeflap reports that it was blind to %s for %s, but the server was down for %s", resource, blind, gone))
		}
	}
	return errors.Join(errs...)
}

// checkHeartbeats checks that kubeflap has lost no heartbeat and counted none twice, as far as the counts can show this.
// While the API server is up, a node renews its Lease every 10 s. When the server is back, the node renews its Lease
// once more, and sometimes posts its status. The longest possible interval is the sum of the outage and the renewal
// interval before it.
func (b *blindness) checkHeartbeats(gone time.Duration) error {
	most := 3 + math.Floor((time.Since(b.began)-afterglow-gone).Seconds()/renewal.Seconds())
	var errs []error
	if grown := b.grown("kubeflap_node_heartbeat_interval_seconds_count"); grown < 0 || grown > most*float64(len(b.nodes())) {
		errs = append(errs, fmt.Errorf("unexpected increase of heartbeats: %v", grown))
	}
	for _, node := range b.nodes() {
		if interval := b.reported.Sum(longest, "node", node); interval >= (gone + 2*renewal).Seconds() {
			errs = append(errs, fmt.Errorf("%s: kubeflap measured an interval of %.1f s although the server was down for %s", node, interval, gone))
		}
	}
	return errors.Join(errs...)
}
