package watches

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// `tolerance` is the shortest break of a watch that counts. Shorter breaks are normal: the API server ends a watch
	// every 5 to 10 minutes (see apiclient.WatchTimeout), and the watch continues from the same resource version within
	// milliseconds.
	tolerance = time.Second
	// maxGaps is the maximum number of gaps that are kept for a resource. The coverage begins at the end of the last one
	// that was dropped.
	maxGaps = 200
	// sameGap is the maximum difference between the starts, and between the ends, of two gaps that are merged.
	sameGap = 2 * time.Second
	// firstLists applies to a process without a history. If the first lists of the process take longer than firstLists,
	// the delay counts as a gap. Otherwise, the coverage begins when the lists are complete.
	firstLists = 5 * time.Minute
)

// notListed is the reason for a gap before the first list of a resource, until a request has failed.
const notListed event.Reason = "not listed yet"

// gap is a period without a working watch of one resource. If the resource was never watched before, From is zero, and
// the gap began with the first event.
type gap struct {
	Gap
	// `latest` is the latest failure. Reason is the first one.
	latest event.Reason
	// `noticed` is the time at which kubeflap noticed the break. It is zero if the watch has not worked before.
	noticed time.Time
	// restarted is set if kubeflap was restarted in the gap.
	restarted bool
}

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
	c := Coverage{Since: cmp.Or(w.coverageSince, w.begin)}
	var all, ongoing []Gap
	for _, k := range event.Kinds() {
		for _, g := range w.states[k].gaps {
			from := cmp.Or(g.From, w.begin)
			switch {
			case g.To.IsZero() || !w.counts(&g):
			case g.From.IsZero() && g.To.Sub(from) <= firstLists:
				c.Since = later(c.Since, g.To) // the coverage begins when the first lists are complete
			default:
				all = append(all, Gap{[]string{k.String()}, from, g.To, g.Reason})
			}
		}
		if from, ok := w.ongoingGap(k); ok {
			ongoing = append(ongoing, Gap{Resources: []string{k.String()}, From: from, Reason: w.states[k].lastGap().Reason})
			c.NotWatched = append(c.NotWatched, w.read(k))
		}
	}
	slices.SortStableFunc(all, func(a, b Gap) int { return a.To.Compare(b.To) })
	for _, g := range append(all, ongoing...) {
		if i := slices.IndexFunc(c.Gaps, g.isSame); i >= 0 {
			c.Gaps[i].Resources, c.Gaps[i].To = append(c.Gaps[i].Resources, g.Resources...), g.To
		} else {
			c.Gaps = append(c.Gaps, g)
		}
	}
	return c
}

// Continue continues the coverage of an earlier process, which stopped at a time. No resource has been watched since.
// Gaps that were ongoing continue, too. Call it before the first event.
func (w *Watches) Continue(c Coverage, stopped time.Time) {
	w.coverageSince = c.Since
	for k := range w.states {
		w.states[k].gaps = nil
	}
	for _, g := range c.Gaps {
		if g.To.IsZero() && !g.From.After(c.Since) { // the resources have never been watched
			w.begin, g.From = g.From, time.Time{}
		}
		for _, k := range event.Kinds() {
			if slices.Contains(g.Resources, k.String()) {
				w.states[k].gaps = append(w.states[k].gaps, gap{Gap: g, latest: g.Reason})
			}
		}
	}
	for k := range w.states {
		if s := &w.states[k]; len(s.gaps) == 0 || !s.lastGap().To.IsZero() {
			s.gaps = append(s.gaps, gap{Gap: Gap{From: stopped, Reason: event.ReasonNotRunning}, latest: event.ReasonNotRunning})
		}
	}
}

// counts reports whether kubeflap may have missed something in a gap. A watch that breaks for a moment misses nothing.
func (w *Watches) counts(g *gap) bool {
	return g.From.IsZero() || cmp.Or(g.To, w.now).Sub(g.From) > tolerance
}

// ongoingGap returns the start of a resource's ongoing gap. ok is false if the resource is watched, if the cluster does
// not have it, or if its watch has only just broken.
func (w *Watches) ongoingGap(k event.Kind) (from time.Time, ok bool) {
	if w.Up(k) || w.Absent(k) || w.begin.IsZero() || !w.counts(w.states[k].lastGap()) {
		return time.Time{}, false
	}
	return cmp.Or(w.states[k].lastGap().From, w.begin), true
}

// beginGap records that a working watch broke at a time. If the last gap has the same reason and ended only then, it
// continues. For example, the lists in a new segment of a recording are complete even if a watch is down.
func (w *Watches) beginGap(s *watch, from time.Time, reason event.Reason) {
	s.status = broken
	if n := len(s.gaps); n > 0 && s.lastGap().Reason == reason && !s.lastGap().To.Before(from) {
		s.lastGap().To, s.lastGap().noticed = time.Time{}, w.now
		return
	}
	s.gaps = append(s.gaps, gap{Gap: Gap{From: from, Reason: reason}, latest: reason, noticed: w.now})
	if len(s.gaps) > maxGaps {
		s.blindDropped += w.blindIn(s, &s.gaps[0])
		w.coverageSince = later(w.coverageSince, s.gaps[0].To)
		s.gaps = slices.Delete(s.gaps, 0, 1)
	}
}

// explain records why the watch still does not work, and reports whether it failed again.
func (g *gap) explain(reason event.Reason) (failed bool) {
	failed = weight(reason) > weight(event.ReasonNotRunning)
	if weight(reason) > weight(g.Reason) {
		g.Reason = reason
	}
	if failed || weight(reason) > weight(g.latest) {
		g.latest = reason
	}
	return failed
}

// weight orders reasons. A failure explains more than a restart of kubeflap, and both explain more than anything else.
func weight(r event.Reason) int {
	switch r {
	case notListed, event.ReasonEnded, event.ReasonNotRecorded:
		return 0
	case event.ReasonNotRunning:
		return 1
	}
	return 2
}

// blind returns the total time without a working watch after the first list.
func (w *Watches) blind(s *watch) time.Duration {
	sum := s.blindDropped
	for i := range s.gaps {
		sum += w.blindIn(s, &s.gaps[i])
	}
	return sum
}

// blindIn returns the part of a gap that counts as blind. Gaps due to a restart do not. An ongoing gap that is shorter than
// `tolerance` does not count. Otherwise, the total would decrease at its end.
func (w *Watches) blindIn(s *watch, g *gap) time.Duration {
	end := cmp.Or(g.To, w.now)
	if !s.synced() || !end.After(s.syncedAt) || g.restarted || end.Sub(g.From) < tolerance {
		return 0
	}
	return w.Counted(later(g.From, s.syncedAt), end)
}

// isSame reports whether other resources have the resource's gap, too: with the same reason, and nearly the same start and
// end.
func (g *Gap) isSame(others Gap) bool {
	return others.Reason == g.Reason && others.From.Sub(g.From).Abs() <= sameGap && others.To.Sub(g.To).Abs() <= sameGap &&
		!slices.Contains(others.Resources, g.Resources[0])
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
