package watches

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// maxGaps is the maximum number of gaps that are kept. The coverage begins at the end of the last one that was dropped.
	maxGaps = 200
	// sameGap is the maximum difference between the starts, and between the ends, of two gaps that are merged.
	sameGap = 2 * time.Second
	// firstLists applies to a process without a history. If the first lists of the process take longer than firstLists,
	// the delay counts as a gap. Otherwise, the coverage begins when the lists are complete.
	firstLists = 5 * time.Minute
)

// notListed is the reason for a gap before the first list of a resource, until a request has failed.
const notListed event.Reason = "not listed yet"

// Coverage describes when the resources were watched. It distinguishes "no incident" from "not watched".
type Coverage struct {
	// `Since` is the start of the coverage. kubeflap has been watching since then, except in the gaps. Earlier
	// processes are included if they recorded their events.
	Since time.Time
	// Gaps is sorted by end, with ongoing gaps last.
	Gaps []Gap
	// NotWatched holds the watches whose gaps are ongoing.
	NotWatched []Watch
}

// Gap is a period in which kubeflap was not watching some resources.
type Gap struct {
	// Resources contains the resources' names in the API.
	Resources []string
	From      time.Time
	// To is zero while the gap is ongoing.
	To     time.Time
	Reason event.Reason
}

// Within returns the gaps that overlap a period. If one of the times is zero, the period has no limit on that side.
func (c *Coverage) Within(from, to time.Time) []Gap {
	return slices.DeleteFunc(slices.Clone(c.Gaps), func(g Gap) bool {
		return !to.IsZero() && g.From.After(to) || !from.IsZero() && !g.To.IsZero() && g.To.Before(from)
	})
}

// Coverage returns the coverage at the current time.
func (w *Watches) Coverage() Coverage {
	c := w.coverage
	c.Since, c.Gaps = cmp.Or(c.Since, w.begin), slices.Clone(c.Gaps)
	for _, k := range event.Kinds() {
		if g, ok := w.ongoingGap(k); ok {
			c.Gaps, c.NotWatched = mergeGap(c.Gaps, g), append(c.NotWatched, w.read(k))
		}
	}
	return c
}

// Continue continues the coverage of an earlier process, which stopped at a time. No resource has been watched since.
// Gaps that were ongoing continue, too. Call it before the first event.
func (w *Watches) Continue(c Coverage, stopped time.Time) {
	for k := range w.states {
		w.states[k].gap = Gap{From: stopped, Reason: event.ReasonNotRunning}
	}
	w.coverage = Coverage{Since: c.Since}
	for _, g := range c.Gaps {
		if !g.To.IsZero() {
			w.coverage.Gaps = append(w.coverage.Gaps, g)
			continue
		}
		ongoing := Gap{From: g.From, Reason: g.Reason}
		if !g.From.After(c.Since) { // the resource has never been watched
			w.begin, ongoing.From = g.From, time.Time{}
		}
		if g.Reason == notListed {
			ongoing.Reason = ""
		}
		for _, k := range event.Kinds() {
			if slices.Contains(g.Resources, k.String()) {
				w.states[k].gap = ongoing
			}
		}
	}
}

// ongoingGap returns the ongoing gap of a resource. ok is false if the resource is watched, if the cluster does not
// have it, or if its watch has only just broken.
func (w *Watches) ongoingGap(k event.Kind) (g Gap, ok bool) {
	s := &w.states[k]
	if s.up || w.Absent(k) || w.begin.IsZero() {
		return Gap{}, false
	}
	g = Gap{Resources: []string{k.String()}, From: s.gap.From, Reason: cmp.Or(s.gap.Reason, notListed)}
	if s.isFirstGap() {
		g.From = w.begin
	}
	return g, s.isFirstGap() || w.now.Sub(g.From) > tolerance
}

// isFirstGap reports whether the resource has never been watched. The start of its gap is then not in `gap`.
func (s *state) isFirstGap() bool { return s.gap.From.IsZero() }

// explainGap records why a resource is not watched. The argument absent is set if the cluster does not have the resource.
// The reason of a gap is the first failure. The time during which kubeflap does not run, or the cluster does not have the
// resource, is separate from the time before and after.
func (w *Watches) explainGap(k event.Kind, reason event.Reason, absent bool) {
	g := &w.states[k].gap
	switch {
	case g.Reason == reason && absent == w.Absent(k):
	case g.Reason == event.ReasonNotRecorded && reason == event.ReasonNotRunning:
		g.Reason = reason // kubeflap was restarted again before it had listed the resource
	case absent, w.Absent(k), g.Reason == event.ReasonNotRunning, reason == event.ReasonNotRunning:
		w.endGap(k)
		*g = Gap{From: w.now, Reason: reason}
	case g.Reason == "" || g.Reason == event.ReasonEnded:
		g.Reason = reason
	}
}

// beginGap records that the gap of a resource begins at a time. If the previous gap has the same reason and ended only
// then, it continues. For example, the lists in a new segment of a recording are complete even if a watch is down.
func (w *Watches) beginGap(k event.Kind, from time.Time, reason event.Reason) {
	for i := range w.coverage.Gaps {
		before := &w.coverage.Gaps[i]
		if before.Reason == reason && !before.To.Before(from) && slices.Contains(before.Resources, k.String()) {
			from = before.From
			before.Resources = slices.DeleteFunc(slices.Clone(before.Resources), func(r string) bool { return r == k.String() })
		}
	}
	w.coverage.Gaps = slices.DeleteFunc(w.coverage.Gaps, func(g Gap) bool { return len(g.Resources) == 0 })
	w.states[k].gap = Gap{From: from, Reason: reason}
}

// endGap records that the ongoing gap of a resource ends now.
func (w *Watches) endGap(k event.Kind) {
	g, ok := w.ongoingGap(k)
	first := w.states[k].isFirstGap()
	w.states[k].gap = Gap{}
	switch {
	case !ok || k.IsOptional():
	case first && w.now.Sub(w.begin) <= firstLists:
		w.coverage.Since = w.now // the coverage begins when the first lists are complete
	default:
		g.To = w.now
		all := mergeGap(w.coverage.Gaps, g)
		if dropped := len(all) - maxGaps; dropped > 0 {
			w.coverage.Since = all[dropped-1].To
			all = slices.Delete(all, 0, dropped)
		}
		w.coverage.Gaps = all
	}
}

// mergeGap adds a gap to a list. If another resource has a gap with the same reason, and nearly the same start and end,
// mergeGap merges the two gaps. No gap in the list ends later than the added one.
func mergeGap(all []Gap, g Gap) []Gap {
	i := slices.IndexFunc(all, func(x Gap) bool {
		return x.Reason == g.Reason && x.From.Sub(g.From).Abs() <= sameGap && x.To.Sub(g.To).Abs() <= sameGap && !slices.Contains(x.Resources, g.Resources[0])
	})
	if i < 0 {
		return append(all, g)
	}
	g.Resources = slices.Concat(all[i].Resources, g.Resources)
	if all[i].From.Before(g.From) {
		g.From = all[i].From
	}
	all[i] = g
	return all
}

// missed describes, for each resource, the changes that kubeflap may have missed in a gap.
var missed = [...]string{
	event.KindNode:          "nodes that were not Ready for a short time, and taints",
	event.KindLease:         "late and missed heartbeats",
	event.KindPod:           "pods that were not Ready for a short time, and why addresses were lost",
	event.KindService:       "Services that were created, changed or deleted",
	event.KindEndpointSlice: "addresses that were lost for a short time, and outages of Services",
	event.KindEndpoints:     "changes of manually managed Endpoints",
}

// Missed describes the changes that kubeflap may have missed in the gap.
func (g *Gap) Missed() string {
	if len(g.Resources) == len(event.Kinds()) {
		return "changes that were reverted during the gap, and the exact times of other changes"
	}
	var all []string
	for _, k := range event.Kinds() {
		if slices.Contains(g.Resources, k.String()) {
			all = append(all, missed[k])
		}
	}
	return strings.Join(all, "; ")
}
