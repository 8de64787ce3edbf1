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

// settle is how much later an event may reach one watcher than another, on a slow machine.
const settle = time.Second

// patience is for a scenario's last changes.
const patience = 2 * time.Minute

// Span is what there was to tell before a recording ended and after it: it ended
// somewhere in between.
type Span struct {
	before, after answers
	// lasted is how long it was from before to after.
	lasted time.Duration
	// blind says that the watches were broken for a while.
	blind bool
}

// answers are those of the truth and of the live kubeflap.
type answers struct{ truth, live truth.Counts }

// Around is the Span around what end does, which should end the recording.
func (c Comparison) Around(ctx context.Context, end func() error) (s Span, err error) {
	s.blind = c.Base.Told != nil
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

// quiet is what both told at that time, when nothing has changed since for a while. What comes and goes within the Span is not in
// it, and the recorder of the truth and kubeflap's see an event at about the same time.
func (c Comparison) quiet(ctx context.Context) (before answers, began time.Time, err error) {
	err = poll.Until(ctx, patience, "nothing to change", func(ctx context.Context) (err error) {
		transitions := c.Truth.Transitions()
		began = time.Now()
		if before, err = c.both(ctx); err != nil {
			return err
		}
		if err := poll.Sleep(ctx, settle); err != nil {
			return err
		}
		if n := c.Truth.Transitions() - transitions; n > 0 {
			return fmt.Errorf("there were %d transitions", n)
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

// Replayed compares what the replay of the recording tells in the end with the truth.
func (s Span) Replayed(told truth.Counts) error {
	return failed("the replay of the recording", s.outside(s.before.truth, s.after.truth, told, func(name string) bool {
		return slices.Contains(metrics(), name) && s.replayable(name)
	}))
}

// Rest compares the replay with the live kubeflap on what the truth does not know. They had
// watches of their own, and no order across watches is promised: what depends on it may differ.
func (s Span) Rest(told truth.Counts) []Difference {
	return s.outside(s.before.live, s.after.live, told, func(name string) bool {
		return !slices.Contains(metrics(), name) && s.replayable(name)
	})
}

// Paces compares two replays of the same recording, at once and at some pace: of
// everything but the process itself they must tell the same.
func Paces(atOnce, paced truth.Counts) error {
	return failed("the replay at another speed", Span{}.outside(atOnce, atOnce, paced, func(name string) bool {
		return strings.HasPrefix(name, "kubeflap_") && !ofProcess(name)
	}))
}

// OfIncidents reports whether a metric tells of incidents.
func OfIncidents(name string) bool {
	switch name {
	case "kubeflap_incidents", "kubeflap_incidents_total", "kubeflap_node_verdict", "kubeflap_service_verdict":
		return true
	}
	return false
}

// ofProcess reports whether a metric is of kubeflap's process and not of the cluster.
func ofProcess(name string) bool {
	return name == "kubeflap_build_info" || name == "kubeflap_log_lines_dropped_total"
}

func failed(who string, differences []Difference) error {
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("%s differs in %d series:\n%s", who, len(differences), Table(differences))
}

// replayable reports whether the replay must tell the same of a metric. How old
// something is depends on when one looks, and the recording has watches of its own:
// if they broke, they were blind at other moments, in which other heartbeats fell.
func (s Span) replayable(name string) bool {
	name = plain(name)
	switch {
	case !strings.HasPrefix(name, "kubeflap_"), strings.HasPrefix(name, "kubeflap_watch_"), ofProcess(name),
		name == heartbeatAge:
		return false
	}
	return !s.blind || !strings.HasPrefix(name, "kubeflap_node_heartbeat")
}

// outside lists what lies neither between before and after nor near them.
func (s Span) outside(before, after, told truth.Counts, of func(name string) bool) []Difference {
	series := map[string]bool{}
	for _, counts := range []truth.Counts{before, after, told} {
		for s := range counts {
			if of(truth.Name(s)) {
				series[s] = true
			}
		}
	}
	var all []Difference
	for name := range series {
		first, last, is := value(before, name), value(after, name), value(told, name)
		low, high := min(first, last), max(first, last)
		if truth.Name(name) == intervalMax {
			// It grows until the heartbeat comes that makes it small again, maybe
			// after the recording's end.
			high = max(high, first+s.lasted.Seconds())
		}
		nearest := min(max(is, low), high)
		if math.IsNaN(nearest) { // one of them is missing
			nearest = last
		}
		if d := (Difference{name, nearest, is}); !d.agree() {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.Series, b.Series) })
	return all
}
