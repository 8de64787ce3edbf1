package compare

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// settle is the time within which two watchers receive the same event, even on a slow machine.
const settle = time.Second

// patience is the maximum wait until the cluster no longer changes after a scenario.
const patience = 2 * time.Minute

// Span holds the recorder's counts just before and just after a recording ended.
type Span struct {
	before, after truth.Counts
	// began is the time of the first reading. There was no transition between the two readings.
	began time.Time
	// lasted is the time between the two readings of the counts.
	lasted time.Duration
	// blind is true if kubeflap's watches were broken during the recording.
	blind bool
}

// Around calls the function end, which must end the recording. It returns the counts before and after this call.
func (c Comparison) Around(ctx context.Context, end func() error) (s Span, err error) {
	s.blind = c.Base.Reported != nil
	if s.before, s.began, err = c.quiet(ctx); err != nil {
		return s, err
	}
	if err := end(); err != nil {
		return s, err
	}
	if err := poll.Sleep(ctx, settle); err != nil {
		return s, err
	}
	s.after, err = c.expected()
	s.lasted = time.Since(s.began)
	return s, err
}

// Began returns the time of the first reading of the counts. It is a quiet point: nothing but heartbeats followed.
func (s *Span) Began() time.Time { return s.began }

// WaitUntilQuiet waits until there has been no transition for a while. It returns a time after which there was none.
func (c Comparison) WaitUntilQuiet(ctx context.Context) (time.Time, error) {
	_, began, err := c.quiet(ctx)
	return began, err
}

// quiet waits until there has been no transition for the duration settle. The recorder and kubeflap have then received
// the same events. quiet returns the expected counts, and the time at which it read them.
func (c Comparison) quiet(ctx context.Context) (before truth.Counts, began time.Time, err error) {
	err = poll.Until(ctx, patience, "no more changes", func(ctx context.Context) (err error) {
		transitions := c.Truth.Transitions()
		began = time.Now()
		if before, err = c.expected(); err != nil {
			return err
		}
		if err := poll.Sleep(ctx, settle); err != nil {
			return err
		}
		if n := c.Truth.Transitions() - transitions; n > 0 {
			return fmt.Errorf("got %d transitions", n)
		}
		return nil
	})
	return before, began, err
}

func (c Comparison) expected() (truth.Counts, error) {
	now, err := c.Truth.Counts()
	return c.Base.expected(now), err
}

// Replayed compares the metrics at the end of the replay with the recorder's counts.
func (s *Span) Replayed(reported truth.Counts) error {
	if d := s.outside(reported); len(d) > 0 {
		return fmt.Errorf("the replay of the recording differs in %d series:\n%s", len(d), Table(d))
	}
	return nil
}

// OfIncidents reports whether a metric describes incidents.
func OfIncidents(name string) bool {
	switch name {
	case "kubeflap_incidents", "kubeflap_incidents_total", "kubeflap_incident_nodes", "kubeflap_node_verdict", "kubeflap_service_verdict":
		return true
	}
	return false
}

// replayable reports whether a metric must have the same value in the replay as in the original run. The age of a
// heartbeat is not replayable, because it depends on the time of the scrape. If the watches were broken, no metric of
// heartbeats is replayable: the recording has its own watches, so the number of heartbeats can differ.
func (s *Span) replayable(name string) bool {
	return slices.Contains(metrics(), name) && name != heartbeatAge && (!s.blind || !strings.HasPrefix(name, "kubeflap_node_heartbeat"))
}

// outside lists the series whose value in the replay is not between the values before and after. It allows the usual
// tolerance.
func (s *Span) outside(reported truth.Counts) []Difference {
	return differing(func(d Difference) (Difference, bool) {
		first, last := d.Truth, value(s.after, d.Series)
		low, high := min(first, last), max(first, last)
		if truth.Name(d.Series) == intervalMax {
			// The longest interval may still be growing when the recording ends.
			high = max(high, first+s.lasted.Seconds())
		}
		if d.Truth = min(max(d.Reported, low), high); math.IsNaN(d.Truth) { // before or after lacks the series
			d.Truth = last
		}
		return d, s.replayable(truth.Name(d.Series)) && !d.agree()
	}, s.before, s.after, reported)
}
