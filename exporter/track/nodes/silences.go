package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// maxSilences is the maximum number of silences in memory.
const maxSilences = 1000

// GraceTable compares grace periods. It counts the silences that ended in the last 24 hours. It has no rows if kubeflap cannot see silences.
func (x *Nodes) GraceTable() controlplane.Table {
	now, t := x.watches.Now(), controlplane.Table{Rows: []controlplane.Row{}}
	t.Since = latest(now.Add(-24*time.Hour), x.silencesSince()).UTC()
	if len(x.silences) == maxSilences {
		t.Since = latest(t.Since, x.silences[0].Ended.UTC()) // earlier silences may have been dropped
	}
	all := slices.DeleteFunc(slices.Clone(x.silences), func(s controlplane.Silence) bool { return s.Ended.Before(t.Since) })
	for _, n := range x.inOrder() {
		x.addSilence(&all, n, now, false) // the ongoing one
	}
	if x.watches.IsSynced(event.KindNode) && x.areLeasesKnown() {
		t.Rows = controlplane.Rows(all, x.grace.MonitorPeriod())
	}
	return t
}

// silencesSince returns the start of the period in which kubeflap saw all silences.
func (x *heartbeats) silencesSince() time.Time {
	if !x.restoredSince.IsZero() {
		return x.restoredSince
	}
	return latest(x.watches.SyncedAt(event.KindNode), x.watches.SyncedAt(event.KindLease))
}

// addSilence adds the node's silence from its last heartbeat to t, unless the interval was too short. If `seen` is set,
// kubeflap saw the whole interval.
func (x *heartbeats) addSilence(to *[]controlplane.Silence, n *node, t time.Time, seen bool) {
	h := &n.heartbeat
	if t.Sub(h.last) < controlplane.ShortestSilence || h.last.IsZero() || !n.exists || !x.provesSilence(n) {
		return
	}
	usual, since, until := h.undisturbed(), h.last, t
	if !seen {
		since = latest(x.intervalStart(n), x.watchedSince(n))
	}
	if x.isBlind() {
		until = x.watches.DownSince(x.source())
	}
	if until.Sub(since) <= usual {
		return
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
		s.Addresses = x.Addresses.ReadyOn(n.name)
	}
	if *to = append(*to, s); len(*to) > maxSilences {
		*to = (*to)[1:]
	}
}
