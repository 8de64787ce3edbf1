// Package coverage records when resources were not watched, so that "no incident" can be distinguished from "not
// watched".
package coverage

import (
	"slices"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// maxGaps is the maximum number of gaps that are kept.
	maxGaps = 200
	// sameGap is the maximum difference between the starts, and between the ends, of two gaps that are merged.
	sameGap = 2 * time.Second
)

// FirstLists applies to a process without a history. If the first lists of the process take longer than FirstLists, the
// delay counts as a gap. Otherwise, the coverage begins when the lists are complete.
const FirstLists = 5 * time.Minute

// NotListed is the reason for a gap before the first list of a resource.
const NotListed event.Reason = "not listed yet"

// Gap is a period in which kubeflap was not watching some resources.
type Gap struct {
	// Resources contains the resources' names in the API.
	Resources []string
	From      time.Time
	// To is zero while the gap is ongoing.
	To     time.Time
	Reason event.Reason
}

// State is the coverage at a point in time.
type State struct {
	// `Since` is the start of the coverage. kubeflap has been watching since then, except in the gaps. Earlier
	// processes are included if they recorded their events.
	Since time.Time
	// Started is the start time of this process. It is zero in a replay.
	Started time.Time
	// AsOf is the time of the state.
	AsOf time.Time
	// Gaps is sorted by end, with ongoing gaps last. LeftOut counts the older gaps that were dropped.
	Gaps    []Gap
	LeftOut int
}

// Log records gaps. Its times come from the callers, not from the clock. It is safe for concurrent use.
type Log struct {
	mu sync.Mutex
	// begin is the earliest possible start of the coverage.
	begin time.Time
	State
	open [event.NumKinds]gap
	// watched is set for resources that this process has watched.
	watched [event.NumKinds]bool
	// `broke` holds the reason for the latest break of each watch.
	broke [event.NumKinds]event.Reason
}

// gap is the ongoing gap of one resource. `from` is zero if there is no gap.
type gap struct {
	from   time.Time
	reason event.Reason
}

// New returns a Log for a process with the given start time. The time is zero in a replay, which begins with its first
// event.
func New(started time.Time) *Log {
	return &Log{begin: started, State: State{Since: started, Started: started}}
}

// Restarted records that the Log so far comes from earlier processes, which stopped at a time, and that another process
// started.
func (l *Log) Restarted(stopped, started time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Started = started
	for _, k := range event.Kinds() {
		if l.watched[k] {
			l.end(k, stopped)
			l.open[k], l.broke[k] = gap{stopped, event.ReasonNotRunning}, ""
		}
	}
}

// Observe handles the tracker's transitions for broken and working watches. Without these transitions, the Log would
// miss breaks that start and end between two calls of Update.
func (l *Log) Observe(x transition.Transition) {
	switch x := x.(type) {
	case transition.WatchBroke:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.broke[x.Resource] = x.Reason
	case transition.WatchWorks:
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[x.Resource].from.IsZero() && x.Blind > 0 {
			reason := l.broke[x.Resource]
			if reason == "" {
				reason = event.ReasonEnded
			}
			l.open[x.Resource] = gap{x.Time.Add(-x.Blind), reason}
		}
		l.broke[x.Resource] = ""
		l.end(x.Resource, x.Time)
	}
}

// Update records which resources are not watched at t.
func (l *Log) Update(t time.Time, unwatched []watches.Watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.After(l.AsOf) { // an event can be older than the last Update
		l.AsOf = t
	}
	if l.begin.IsZero() { // a replay begins with its first event
		l.begin, l.Since = t, t
	}
	for _, k := range event.Kinds() {
		i := slices.IndexFunc(unwatched, func(w watches.Watch) bool { return w.Resource == k })
		if i < 0 {
			l.end(k, t)
			continue
		}
		l.recordUnwatched(t, &unwatched[i])
	}
}

func (l *Log) recordUnwatched(t time.Time, w *watches.Watch) {
	now := &l.open[w.Resource]
	reason := w.Reason
	if reason == "" {
		reason = NotListed
	}
	switch {
	case now.from.IsZero():
		*now = gap{w.Since, reason}
		// Before the first list, Since is only the time of the first event. The gap begins earlier.
		if !l.watched[w.Resource] || w.Since.IsZero() || w.Since.Before(l.begin) {
			now.from = l.begin
		}
	case now.reason == NotListed:
		now.reason = reason
	case now.reason == event.ReasonNotRunning && reason != NotListed && reason != event.ReasonNotRunning:
		l.end(w.Resource, t)
		*now = gap{t, reason}
	}
}

func (l *Log) end(k event.Kind, t time.Time) {
	g := l.open[k]
	l.open[k], l.watched[k] = gap{}, true
	switch {
	case g.from.IsZero() || !t.After(g.from):
		return
	case !g.from.After(l.begin) && t.Sub(l.begin) <= FirstLists:
		// The coverage begins when the first lists are complete.
		if t.After(l.Since) {
			l.Since = t
		}
		return
	}
	l.Gaps = mergeGap(l.Gaps, Gap{[]string{k.String()}, g.from, t, g.reason})
	if n := len(l.Gaps) - maxGaps; n > 0 {
		l.LeftOut += n
		l.Gaps = slices.Delete(l.Gaps, 0, n)
	}
}

// mergeGap adds a gap to a list. If a recent gap of other resources has the same reason, and nearly the same start and
// end, mergeGap merges the two gaps.
func mergeGap(all []Gap, g Gap) []Gap {
	for i := len(all) - 1; i >= max(len(all)-len(event.Kinds()), 0); i-- {
		x := &all[i]
		if x.Reason != g.Reason || x.To.IsZero() != g.To.IsZero() || x.From.Sub(g.From).Abs() > sameGap || x.To.Sub(g.To).Abs() > sameGap ||
			slices.Contains(x.Resources, g.Resources[0]) {
			continue
		}
		x.Resources = append(slices.Clone(x.Resources), g.Resources...)
		if g.From.Before(x.From) {
			x.From = g.From
		}
		if g.To.After(x.To) {
			x.To = g.To
		}
		return all
	}
	return append(all, g)
}

// Now returns the coverage at the time of the last Update.
func (l *Log) Now() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.State
	s.Gaps = slices.Clone(l.Gaps)
	for _, k := range event.Kinds() {
		if g := l.open[k]; !g.from.IsZero() {
			s.Gaps = mergeGap(s.Gaps, Gap{Resources: []string{k.String()}, From: g.from, Reason: g.reason})
		}
	}
	return s
}

// Within returns the gaps that overlap a period. If one of the times is zero, the period has no limit on that side.
func (s *State) Within(from, to time.Time) []Gap {
	return slices.DeleteFunc(slices.Clone(s.Gaps), func(g Gap) bool {
		return !to.IsZero() && g.From.After(to) || !from.IsZero() && !g.To.IsZero() && g.To.Before(from)
	})
}
