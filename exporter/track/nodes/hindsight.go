package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/reads"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// made is when a node renewed its Lease, by kubeflap's clock: when the watch shows that, unless the watch may be late. Then the node's clock tells how long after its
// last renewal that was.
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

// renew takes in a heartbeat that a node made and the watch showed then. If the watch showed it late, it is pending until the next one.
func (x *Nodes) renew(n *node, made, seen, renewed time.Time) {
	h := &n.heartbeat
	late := reads.IsLate(made, seen)
	follows := false
	if p := h.pending; p != nil {
		follows = p.WasBacklog(renewed.Sub(h.renewed), h.interval(), late)
		x.endPending(n, p, follows, seen)
	}
	if !late || h.last.IsZero() {
		x.beat(n, made, seen)
		return
	}
	h.pending = &reads.Pending{Made: made, Seen: seen, Late: h.late, Missed: h.missed, Follows: follows}
	h.late, h.missed = false, false
	x.await(n)
}

// endPending counts a pending heartbeat, and the interval that it ends: up to when it was made if it was part of a backlog of the watch, else up to when it was seen.
func (x *Nodes) endPending(n *node, p *reads.Pending, backlog bool, t time.Time) {
	h := &n.heartbeat
	late, missed := h.late, h.missed // since then
	h.pending, h.late, h.missed = nil, p.Late, p.Missed
	if backlog {
		x.beat(n, p.Made, t)
		h.late, h.missed = late, missed
		return
	}
	h.late, h.missed = h.late || late, h.missed || missed
	x.beat(n, p.Seen, t)
}

// lastSeen is when the last heartbeat was made, as far as is known. One that is pending was probably in time.
func (h *heartbeat) lastSeen() time.Time {
	if h.pending != nil {
		return h.pending.Made
	}
	return h.last
}

// noteLateRenewal takes in a renewal, before it counts as a heartbeat. After a missed one it may be the beginning or a part of what the watch shows late.
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
