package watches

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
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

// notListed is the reason for a gap before the first list of a resource, until a request has failed.
const notListed event.Reason = "not listed yet"

// Coverage describes when the resources were watched. It distinguishes "no incident" from "not watched".
type Coverage struct {
	// `Since` is the start of the coverage. kubeflap has been watching since then, except in the gaps. Earlier
	// processes are included if they recorded their events.
	Since time.Time
	// Gaps is sorted by end, with ongoing gaps last. LeftOut counts the older gaps that were dropped.
	Gaps    []Gap
	LeftOut int
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
	c.Gaps = slices.Clone(c.Gaps)
	for _, k := range event.Kinds() {
		if g, ok := w.ongoingGap(k); ok {
			c.NotWatched = append(c.NotWatched, w.read(k))
			c.Gaps = mergeGap(c.Gaps, Gap{[]string{k.String()}, g.from, time.Time{}, g.reason})
		}
	}
	return c
}

// Continue continues the coverage of an earlier process, which stopped at a time. No resource has been watched since.
func (w *Watches) Continue(c Coverage, stopped time.Time) {
	for i := range c.Gaps {
		if g := &c.Gaps[i]; g.To.IsZero() {
			g.To = stopped
		}
	}
	c.NotWatched = nil
	w.coverage = c
	for k := range w.state {
		w.state[k].gap = gap{stopped, event.ReasonNotRunning}
	}
}

// gap is the ongoing gap of one resource. `from` is zero before the first list.
type gap struct {
	from   time.Time
	reason event.Reason
}

// ongoingGap returns the ongoing gap of a resource. ok is false if the resource is watched, if the cluster does not
// have it, or if its watch has just broken.
func (w *Watches) ongoingGap(k event.Kind) (g gap, ok bool) {
	s := &w.state[k]
	if s.up || s.gap.reason == event.ReasonAbsent || w.begin.IsZero() {
		return gap{}, false
	}
	g = s.gap
	if g.from.IsZero() {
		g.from = w.begin
	}
	if g.reason == "" {
		g.reason = notListed
	}
	return g, s.gap.from.IsZero() || w.now.Sub(g.from) > tolerance
}

// explainGap records why a resource is not watched. The reason of a gap is the first failure. The time during which
// kubeflap does not run, or the cluster does not have the resource, is separate from the time before and after.
func (w *Watches) explainGap(k event.Kind, reason event.Reason) {
	g := &w.state[k].gap
	switch {
	case g.reason == reason:
	case isSeparate(g.reason) || isSeparate(reason):
		w.endGap(k)
		*g = gap{w.now, reason}
	case g.reason == "" || g.reason == event.ReasonEnded:
		g.reason = reason
	}
}

func isSeparate(reason event.Reason) bool {
	return reason == event.ReasonNotRunning || reason == event.ReasonAbsent
}

// endGap records that the ongoing gap of a resource ends now.
func (w *Watches) endGap(k event.Kind) {
	g, ok := w.ongoingGap(k)
	first := w.state[k].gap.from.IsZero()
	w.state[k].gap = gap{}
	switch {
	case !ok || k == event.KindControlPlaneLease:
	case first && w.now.Sub(w.begin) <= FirstLists:
		w.coverage.Since = w.now // the coverage begins when the first lists are complete
	default:
		all := mergeGap(w.coverage.Gaps, Gap{[]string{k.String()}, g.from, w.now, g.reason})
		dropped := max(len(all)-maxGaps, 0)
		w.coverage.Gaps = slices.Delete(all, 0, dropped)
		w.coverage.LeftOut += dropped
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
		return "every change that was reverted before the end of the gap, and the time of every other change"
	}
	var all []string
	for _, k := range event.Kinds() {
		if slices.Contains(g.Resources, k.String()) {
			all = append(all, missed[k])
		}
	}
	return strings.Join(all, "; ")
}
