package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	watchRelists = "kubeflap_watch_relists_total"
	watchErrors  = "kubeflap_watch_errors_total"
	watchBlind   = "kubeflap_watch_blind_seconds_total"

	// afterglow is how long kubeflap's counts can change after the last event: its longest batching window is 10 s.
	afterglow = 11 * time.Second
	// comeBack is the maximum time until kubeflap's watches work again after the API server is back. kubeflap's longest
	// pause between retries is 10 s, some retries may be too early, and lists take time on a slow machine. The log
	// contains the actual time.
	comeBack = time.Minute
	// catchUp is longer than 2 s. kubeflap measures no interval in the first 2 s after a break, because events can then
	// be older.
	catchUp = 3 * time.Second
	// noticed is the maximum time until kubeflap knows that the API server has died. The connection breaks immediately,
	// but a slow machine needs more time.
	noticed = 5 * time.Second
)

// blindness holds kubeflap's metrics before and after an outage of the API server.
type blindness struct {
	lab *Lab
	// began is a time slightly before the first scrape.
	began            time.Time
	before, reported truth.Counts
	// excused means that kubeflap may report late nodes, because they were really late.
	excused bool
}

// scrape reads kubeflap's metrics.
func (c *Checks) scrape(ctx context.Context) (truth.Counts, error) {
	return compare.Scrape(ctx, c.URL+"/metrics")
}

// beforeBlindness reads kubeflap's metrics while all of its watches work. Without kubeflap, there is nothing to check.
func (l *Lab) beforeBlindness(ctx context.Context) (*blindness, error) {
	b := &blindness{lab: l, began: time.Now()}
	if l.URL == "" {
		return b, nil
	}
	if err := poll.Sleep(ctx, afterglow); err != nil {
		return nil, err
	}
	var err error
	b.before, err = l.scrape(ctx)
	return b, err
}

// during is the check while the API server is away: kubeflap must still report its last state, and nothing new.
func (b *blindness) during(ctx context.Context) (err error) {
	if b.before == nil {
		return nil
	}
	if b.reported, err = b.lab.scrape(ctx); err != nil {
		return err
	}
	return errors.Join(compare.Ready(ctx, b.lab.URL), b.unmoved())
}

// after waits until kubeflap's watches work again, and then checks kubeflap's metrics. The parameter gone is the duration
// of the API server's outage.
func (b *blindness) after(ctx context.Context, gone time.Duration) (err error) {
	if b.before == nil {
		return nil
	}
	if err := b.lab.sees(ctx); err != nil {
		return err
	}
	if b.reported, err = b.lab.scrape(ctx); err != nil {
		return err
	}
	err = errors.Join(compare.Ready(ctx, b.lab.URL), b.unmoved(), b.saidSo(gone), b.beats(gone))
	return errors.Join(err, poll.Sleep(ctx, catchUp))
}

// sees waits until all of kubeflap's watches work, which ends the growth of its blind time.
func (c *Checks) sees(ctx context.Context) error {
	return poll.Until(ctx, patience, "kubeflap to see again", func(ctx context.Context) error {
		first, err := c.scrape(ctx)
		if err != nil {
			return err
		}
		if err := poll.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		second, err := c.scrape(ctx)
		if err != nil {
			return err
		}
		if grown := second.Sum(watchBlind) - first.Sum(watchBlind); grown > 0 {
			return fmt.Errorf("the blind time has increased by %.3f s", grown)
		}
		return nil
	})
}

// unmoved checks the series of unchanged objects: they must not decrease, double or appear. It skips heartbeats,
// because the kubelets reconnect before kubeflap does.
func (b *blindness) unmoved() error {
	moves := func(series string) bool {
		name := truth.Name(series)
		switch name {
		case "kubeflap_node_heartbeats_total", "kubeflap_node_heartbeat_age_seconds", "kubeflap_node_clock_offset_seconds":
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
		if !moves(series) && (was != is || known != still) {
			errs = append(errs, fmt.Errorf("%s changed from %v to %v", series, was, is))
		}
	}
	return errors.Join(errs...)
}

// saidSo checks that kubeflap reports its blindness for each watch.
func (b *blindness) saidSo(gone time.Duration) error {
	grown := truth.Counts{}
	for series, is := range b.reported {
		grown[series] = is - b.before[series]
	}
	var errs []error
	if grown.Sum(watchRelists) == 0 {
		errs = append(errs, fmt.Errorf("kubeflap has relisted no resource"))
	}
	for _, resource := range watched() {
		blind := time.Duration(grown.Sum(watchBlind, "resource", resource) * float64(time.Second))
		b.lab.Log.Info("blind", "resource", resource, "server away", gone.Round(time.Millisecond), "blind", blind.Round(time.Millisecond),
			"relists", grown.Sum(watchRelists, "resource", resource), "errors", grown.Sum(watchErrors, "resource", resource))
		if blind < gone-noticed || blind > gone+comeBack {
			errs = append(errs, fmt.Errorf("kubeflap reports that it was blind to %s for %s, but the server was down for %s", resource, blind, gone))
		}
	}
	return errors.Join(errs...)
}

// beats checks that no heartbeat was lost or counted twice, as far as this can be determined. While the API server is
// up, a node renews every 10 s. It also renews once when the server is back, and sometimes posts its status. If
// kubeflap lists the Leases before this renewal, it sees the whole interval: the outage, and up to one interval before
// it.
func (b *blindness) beats(gone time.Duration) error {
	most := 3 + math.Floor((time.Since(b.began)-afterglow-gone).Seconds()/renewal.Seconds())
	var errs []error
	for node := range b.lab.Cluster.Kubelets {
		grown := b.reported.Sum("kubeflap_node_heartbeats_total", "node", node) - b.before.Sum("kubeflap_node_heartbeats_total", "node", node)
		longest := b.reported.Sum("kubeflap_node_heartbeat_interval_max_seconds", "node", node)
		if grown < 0 || grown > most {
			errs = append(errs, fmt.Errorf("%s: unexpected increase of heartbeats: %v", node, grown))
		}
		if longest >= (gone + 2*renewal).Seconds() {
			errs = append(errs, fmt.Errorf("%s: kubeflap measured an interval of %.1f s although the server was down for %s", node, longest, gone))
		}
	}
	return errors.Join(errs...)
}
