package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/reads"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// made is when a node renewed its Lease, by kubeflap's clock. It is the time at which the watch showed the renewal, unless the
// watch may be late. In that case, the node's clock gives the time since its last renewal.
func (x *heartbeats) made(n *node, seen, renewed time.Time) time.Time {
	made := renewed
	switch {
	case !x.reads.Doubtful():
		return seen
	case n != nil && !n.heartbeat.renewalSeen.IsZero():
		made = n.heartbeat.renewalSeen.Add(renewed.Sub(n.heartbeat.renewed))
	}
	if made.After(seen) {
		return seen
	}
	return made
}

// renew handles a renewal that the node made at made and the watch showed at seen. If the watch showed it late, it is pending
// until the next renewal.
func (x *Nodes) renew(n *node, made, seen, renewed time.Time) {
	h := &n.heartbeat
	late, follows := reads.IsLate(made, seen), false
	if last := h.pending.Renewal(); last != nil {
		follows = last.WasBacklog(renewed.Sub(h.renewed), h.rhythm.Interval(), late)
		x.endPending(n, follows, seen)
	} else if !late {
		x.endPending(n, false, seen)
	}
	if !late || h.last.IsZero() {
		x.beat(n, made, seen, renewed)
		return
	}
	x.hold(n, reads.Held{Made: made, Seen: seen, Follows: follows})
}

// hold keeps a heartbeat pending. The next interval begins with it.
func (x *heartbeats) hold(n *node, p reads.Held) {
	h := &n.heartbeat
	p.Late, p.Missed = h.late, h.missed
	h.late, h.missed = false, false
	h.pending = append(h.pending, p)
	x.await(n)
}

// endPending counts the pending heartbeats, and the intervals that they end: those of a backlog of the watch when they were made, others when they were seen. Where a
// report belongs among renewals of a backlog is not known.
func (x *Nodes) endPending(n *node, backlog bool, t time.Time) {
	h := &n.heartbeat
	pending, late, missed := h.pending, h.late, h.missed
	if len(pending) == 0 {
		return
	}
	h.pending, h.late, h.missed = nil, false, false
	for _, p := range pending {
		h.late, h.missed = h.late || p.Late, h.missed || p.Missed
		switch {
		case !backlog:
			x.beat(n, p.Seen, t, time.Time{})
		case p.Report:
			h.total++
		default:
			x.beat(n, p.Made, t, time.Time{})
		}
	}
	h.late, h.missed = late, missed // of the interval since then
}

// lastSeen is when the last heartbeat was seen, one that is pending included.
func (h *heartbeat) lastSeen() time.Time {
	if n := len(h.pending); n > 0 {
		return h.pending[n-1].Seen
	}
	return h.last
}

// mayCatchUp notes, after a missed heartbeat, from where on renewals may show that the watch was late.
func (h *heartbeat) mayCatchUp() {
	if h.missed && h.catchUp == nil && !h.renewalSeen.IsZero() {
		h.catchUp = &reads.CatchUp{Renewed: h.renewed, Seen: h.renewalSeen, Intervals: h.intervals.Clone()}
	}
}

// noteLateRenewal handles a renewal before it counts as a heartbeat. After a missed heartbeat, it may be one of the renewals that
// the watch shows late.
func (x *heartbeats) noteLateRenewal(n *node, e event.Event, renewed time.Time) *reads.CatchUp {
	h := &n.heartbeat
	if e.Type != event.Modified || h.renewed.IsZero() || h.renewalSeen.IsZero() || renewed.Sub(h.renewed) > x.period/2 {
		return nil
	}
	return h.catchUp
}

// caughtUp reports that the watch was late, if the renewals cover the silence.
func (x *heartbeats) caughtUp(n *node, t, renewed time.Time) {
	h := &n.heartbeat
	if h.catchUp == nil || !h.catchUp.Covers(t, renewed, x.period/2) {
		return
	}
	silence := t.Sub(h.catchUp.Seen)
	h.intervals = h.catchUp.Intervals
	h.catchUp = nil
	x.found.Add(transition.HeartbeatsWereInTime{At: at(t), Node: n.name, Silence: silence})
}
