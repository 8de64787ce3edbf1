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

// settle is the maximum delay between two watchers that receive the same event, on a slow machine.
const settle = time.Second

// patience is the maximum wait for the last changes of a scenario.
const patience = 2 * time.Minute

// Span holds the counts before and after the end of a recording. The recording ended at some time in between.
type Span struct {
	before, after answers
	// lasted is the time between before and after.
	lasted time.Duration
	// blind is true if the watches were broken for some time.
	blind bool
}

// answers holds the counts of the recorder and of the live kubeflap.
type answers struct{ truth, live truth.Counts }

// Around returns the Span around a call of end, which must end the recording.
func (c Comparison) Around(ctx context.Context, end func() error) (s Span, err error) {
	s.blind = c.Base.Reported != nil
	var began time.Time
	if s.before, began, err = c.quiet(ctx); err != nil {
		return s, err
	}
	if err := end(); err != nil {
		return s, err
	}
	if err := poll.Sleep(ctx, settle); err != nil {
		return s, err
	}
	s.after, err = c.both(ctx)
	s.lasted = time.Since(began)
	return s, err
}

// quiet waits until nothing has changed for a while, and returns the counts of both sides and their time. Without
// recent changes, the recorder and kubeflap have seen the same events. A value that changes and reverts within the Span
// is not detected.
func (c Comparison) quiet(ctx context.Context) (before answers, began time.Time, err error) {
	err = poll.Until(ctx, patience, "no more changes", func(ctx context.Context) (err error) {
		transitions := c.Truth.Transitions()
		began = time.Now()
		if before, err = c.both(ctx); err != nil {
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

func (c Comparison) both(ctx context.Context) (answers, error) {
	now, err := c.Truth.Counts()
	if err != nil {
		return answers{}, err
	}
	live, err := Scrape(ctx, c.URL)
	return answers{c.Base.expected(now), live}, err
}

// Replayed compares the final counts of the replay with the truth.
func (s Span) Replayed(reported truth.Counts) error {
	return failed("the replay of the recording", s.outside(s.before.truth, s.after.truth, reported, func(name string) bool {
		return slices.Contains(metrics(), name) && s.replayable(name)
	}))
}

// Rest compares the replay with the live kubeflap on metrics that the recorder does not count. Both had their own
// watches. The order across watches is not guaranteed, so values that depend on it may differ.
func (s Span) Rest(reported truth.Counts) []Difference {
	return s.outside(s.before.live, s.after.live, reported, func(name string) bool {
		return !slices.Contains(metrics(), name) && s.replayable(name)
	})
}

// Paces compares two replays of the same recording at different speeds. They must agree on all metrics except those of
// the process.
func Paces(atOnce, paced truth.Counts) error {
	return failed("the replay at another speed", Span{}.outside(atOnce, atOnce, paced, func(name string) bool {
		return strings.HasPrefix(name, "kubeflap_") && !ofProcess(name)
	}))
}

// OfIncidents reports whether a metric describes incidents.
func OfIncidents(name string) bool {
	switch name {
	case "kubeflap_incidents", "kubeflap_incidents_total", "kubeflap_node_verdict", "kubeflap_service_verdict":
		return true
	}
	return false
}

// ofProcess reports whether a metric describes kubeflap's process, not the cluster.
func ofProcess(name string) bool {
	return name == "kubeflap_build_info" || name == "kubeflap_log_lines_dropped_total"
}

func failed(who string, differences []Difference) error {
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("%s differs in %d series:\n%s", who, len(differences), Table(differences))
}

// replayable reports whether the replay must have the same values of a metric. Ages depend on the time of the scrape.
// Also, the recording has its own watches. They can break at other times than those of the live kubeflap, and then miss
// other heartbeats.
func (s Span) replayable(name string) bool {
	name = plain(name)
	switch {
	case !strings.HasPrefix(name, "kubeflap_"), strings.HasPrefix(name, "kubeflap_watch_"), ofProcess(name),
		name == heartbeatAge:
		return false
	}
	return !s.blind || !strings.HasPrefix(name, "kubeflap_node_heartbeat")
}

// outside lists the series whose value in the replay is not between before and after, not even within the tolerance.
func (s Span) outside(before, after, reported truth.Counts, of func(name string) bool) []Difference {
	series := map[string]bool{}
	for _, counts := range []truth.Counts{before, after, reported} {
		for s := range counts {
			if of(truth.Name(s)) {
				series[s] = true
			}
		}
	}
	var all []Difference
	for name := range series {
		first, last, is := value(before, name), value(after, name), value(reported, name)
		low, high := min(first, last), max(first, last)
		if truth.Name(name) == intervalMax {
			// The longest interval grows until the next heartbeat, which may come after the recording's end.
			high = max(high, first+s.lasted.Seconds())
		}
		nearest := min(max(is, low), high)
		if math.IsNaN(nearest) { // the series is missing on one side
			nearest = last
		}
		if d := (Difference{name, nearest, is}); !d.agree() {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.Series, b.Series) })
	return all
}
