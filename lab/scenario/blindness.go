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

	// afterglow is how long kubeflap may go on counting what has happened: its longest
	// window in which a consumer would gather changes is 10 s.
	afterglow = 11 * time.Second
	// comeBack is how long kubeflap may take to see again when the server is back: its
	// longest pause between two tries is 10 s, some tries may come too early, and a slow machine
	// takes its time to list. How long it was is in the log.
	comeBack = time.Minute
	// catchUp is for how long after a break kubeflap measures no interval: what comes then
	// may be what it had missed. It takes 2 s.
	catchUp = 3 * time.Second
	// noticed is how soon kubeflap should know that the server has died. It is told, but a slow
	// machine takes its time.
	noticed = 5 * time.Second
)

// blindness is kubeflap's metrics around a time without a server.
type blindness struct {
	lab *Lab
	// began is somewhat before the first of these.
	began        time.Time
	before, told truth.Counts
	// excused: nodes were late in truth, so that kubeflap may say so.
	excused bool
}

// scrape reads kubeflap's metrics.
func (c *Checks) scrape(ctx context.Context) (truth.Counts, error) {
	return compare.Scrape(ctx, c.URL+"/metrics")
}

// beforeBlindness is called while kubeflap sees everything. Without kubeflap there is
// nothing to check.
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

// during checks that kubeflap goes on telling what it knew, and nothing more.
func (b *blindness) during(ctx context.Context) (err error) {
	if b.before == nil {
		return nil
	}
	if b.told, err = b.lab.scrape(ctx); err != nil {
		return err
	}
	return errors.Join(compare.Ready(ctx, b.lab.URL), b.unmoved())
}

// after waits until kubeflap sees again and checks what it then tells. The server
// was away for that long.
func (b *blindness) after(ctx context.Context, gone time.Duration) (err error) {
	if b.before == nil {
		return nil
	}
	if err := b.lab.sees(ctx); err != nil {
		return err
	}
	if b.told, err = b.lab.scrape(ctx); err != nil {
		return err
	}
	err = errors.Join(compare.Ready(ctx, b.lab.URL), b.unmoved(), b.saidSo(gone), b.beats(gone))
	return errors.Join(err, poll.Sleep(ctx, catchUp))
}

// sees waits until all of kubeflap's watches work: its blindness grows as long as one
// does not.
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
			return fmt.Errorf("its blindness has grown by %.3f s", grown)
		}
		return nil
	})
}

// unmoved checks what nobody touched: nothing may go back, double or be invented. Heartbeats
// are another matter, because the kubelets are back before kubeflap is.
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
	maps.Copy(all, b.told)
	var errs []error
	for _, series := range slices.Sorted(maps.Keys(all)) {
		was, known := b.before[series]
		is, still := b.told[series]
		if !moves(series) && (was != is || known != still) {
			errs = append(errs, fmt.Errorf("%s was %v and is %v", series, was, is))
		}
	}
	return errors.Join(errs...)
}

// saidSo checks that kubeflap tells of its blindness, for each watch.
func (b *blindness) saidSo(gone time.Duration) error {
	grown := truth.Counts{}
	for series, is := range b.told {
		grown[series] = is - b.before[series]
	}
	var errs []error
	if grown.Sum(watchRelists) == 0 {
		errs = append(errs, fmt.Errorf("no resource was listed again"))
	}
	for _, resource := range watched() {
		blind := time.Duration(grown.Sum(watchBlind, "resource", resource) * float64(time.Second))
		b.lab.Log.Info("blind", "resource", resource, "server away", gone.Round(time.Millisecond), "blind", blind.Round(time.Millisecond),
			"relists", grown.Sum(watchRelists, "resource", resource), "errors", grown.Sum(watchErrors, "resource", resource))
		if blind < gone-noticed || blind > gone+comeBack {
			errs = append(errs, fmt.Errorf("blind to %s for %s, the server was away for %s", resource, blind, gone))
		}
	}
	return errors.Join(errs...)
}

// beats checks that no heartbeat was forgotten or counted twice, as far as one can tell: a
// node renews every 10 s while there is a server, once more when it is back, and posts its status now and then.
// And no interval may be as long as the blindness: in it nobody could see a heartbeat.
func (b *blindness) beats(gone time.Duration) error {
	most := 3 + math.Floor((time.Since(b.began)-afterglow-gone).Seconds()/renewal.Seconds())
	var errs []error
	for node := range b.lab.Cluster.Kubelets {
		grown := b.told.Sum("kubeflap_node_heartbeats_total", "node", node) - b.before.Sum("kubeflap_node_heartbeats_total", "node", node)
		longest := b.told.Sum("kubeflap_node_heartbeat_interval_max_seconds", "node", node)
		if grown < 0 || grown > most {
			errs = append(errs, fmt.Errorf("%s: %v heartbeats more", node, grown))
		}
		if longest >= gone.Seconds() {
			errs = append(errs, fmt.Errorf("%s: an interval of %.1f s was seen while the server was away for %s", node, longest, gone))
		}
	}
	return errors.Join(errs...)
}
