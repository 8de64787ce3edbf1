package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// maxSilences is the maximum number of silences in memory.
const maxSilences = 1000

// GraceTable compares grace periods. It counts the silences that ended in the last 24 hours, and the ongoing ones. It has no
// rows if kubeflap cannot see silences.
func (x *Nodes) GraceTable() controlplane.Table {
	now := x.watches.Now()
	t := controlplane.Table{Rows: []controlplane.Row{}, Since: latest(now.Add(-24*time.Hour), x.silencesSince).UTC()}
	all := slices.DeleteFunc(slices.Clone(x.silences), func(s controlplane.Silence) bool { return s.Ended.Before(t.Since) })
	for _, n := range x.inOrder() {
		all = append(all, x.silence(n, now, false)...)
	}
	if x.watches.IsSynced(event.KindNode) && x.areLeasesKnown() {
		for _, seconds := range [...]time.Duration{20, 30, 40, 50, 60, 80, 100, 120} {
			t.Rows = append(t.Rows, controlplane.RowOf(all, seconds*time.Second, x.grace.MonitorPeriod()))
		}
	}
	return t
}

// endSilence records the node's silence from its last heartbeat to t, if there was one.
func (x *heartbeats) endSilence(n *node, t time.Time, seen bool) {
	x.silences = append(x.silences, x.silence(n, t, seen)...)
	if dropped := len(x.silences) - maxSilences; dropped > 0 {
		x.silences, x.silencesSince = x.silences[dropped:], x.silences[dropped].Ended
	}
}

// silence returns the node's silence from its last heartbeat to t, or nothing if the interval was too short. If `seen` is
// set, kubeflap saw the whole interval.
func (x *heartbeats) silence(n *node, t time.Time, seen bool) []controlplane.Silence {
	h := &n.heartbeat
	if t.Sub(h.last) < controlplane.ShortestSilence || h.last.IsZero() || !n.exists || !x.areLeasesKnown() {
		return nil
	}
	usual, since, until := h.undisturbed(), h.last, t
	if !seen {
		since = latest(x.intervalStart(n), x.watchedSince(n))
	}
	if x.isBlind() {
		until = x.watches.DownSince(x.source())
	}
	if until.Sub(since) <= usual {
		return nil
	}
	// A new leader starts a new grace period. While the API server does not answer, the node controller cannot act.
	leads, _ := x.controlPlane.LeadsSince(t)
	since = latest(since, leads, x.reads.AnswersSince)
	s := controlplane.Silence{Node: n.name, Ended: t, Shortest: min(until.Sub(since), x.reads.Answers.Sub(since)), Longest: t.Sub(h.last), Addresses: h.addresses}
	if h.overdue || n.ready == event.StatusUnknown && !n.statusSince.After(h.last) {
		s.Shortest = 0 // the node controller did not act, or the node was already Unknown
	}
	switch {
	case n.ready == event.StatusFalse:
		s.Addresses = 0 // the node controller only changes the pods of a node that was Ready (monitorNodeHealth)
	case !h.missed || x.grace.Period <= usual:
		s.Addresses = x.ReadyOn(n.name)
	}
	return []controlplane.Silence{s}
}
