package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
	"github.com/kubeflap/kubeflap/exporter/track/reads"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// estimateMade estimates the time of a renewal by kubeflap's clock. Normally, this is the time at which the watch
// showed the renewal. If the watch may be late, the estimate is the time of the previous renewal plus the difference
// between the two renewTimes.
func (x *heartbeats) estimateMade(n *node, seen, renewed time.Time) time.Time {
	made := renewed
	switch {
	case !x.reads.Doubtful():
		return seen
	case n != nil && !n.heartbeat.renewalSeen.IsZero():
		made = n.heartbeat.renewalSeen.Add(renewed.Sub(n.heartbeat.lastRenewTime))
	}
	if made.After(seen) {
		return seen
	}
	return made
}

// applyRenewal handles a renewal that the node sent at `made` and the watch showed at `seen`. A renewal that arrived
// late stays pending until the node's next renewal.
func (x *Nodes) applyRenewal(n *node, made, seen, renewed time.Time) {
	h := &n.heartbeat
	late, follows := reads.IsLate(made, seen), false
	if last := h.pending.Renewal(); last != nil {
		follows = last.WasBacklog(renewed.Sub(h.lastRenewTime), h.rhythm.Interval(), late)
		x.endPending(n, follows, seen)
	} else if !late {
		x.endPending(n, false, seen)
	}
	if !late || h.last.IsZero() {
		x.countHeartbeat(n, made, seen, renewed)
		return
	}
	x.addPending(n, reads.PendingHeartbeat{Made: made, Seen: seen, Follows: follows})
}

// addPending adds a heartbeat to the pending heartbeats. The next interval begins at this heartbeat.
func (x *heartbeats) addPending(n *node, p reads.PendingHeartbeat) {
	h := &n.heartbeat
	p.Late, p.Missed = h.late, h.missed
	h.late, h.missed = false, false
	h.pending = append(h.pending, p)
	x.scheduleCheck(n)
}

// endPending counts the pending heartbeats. If the watch delivered them late as a backlog, they count at the times when
// the node sent them. Otherwise, they count at the times when kubeflap saw them. A status report in a backlog ends no
// interval, because its position among the renewals is unknown.
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
			x.countHeartbeat(n, p.Seen, t, time.Time{})
		case p.Report:
			h.total++
		default:
			x.countHeartbeat(n, p.Made, t, time.Time{})
		}
	}
	h.late, h.missed = late, missed // these values belong to the current interval
}

// lastSeen returns the time at which kubeflap saw the last heartbeat. This heartbeat can be pending.
func (h *heartbeat) lastSeen() time.Time {
	if n := len(h.pending); n > 0 {
		return h.pending[n-1].Seen
	}
	return h.last
}

// startCatchUp starts to track renewals if a heartbeat is missed. Later renewals can show that the watch was late.
func (h *heartbeat) startCatchUp() {
	if h.missed && h.catchUp == nil && !h.renewalSeen.IsZero() {
		h.catchUp = &reads.CatchUp{Renewed: h.lastRenewTime, Seen: h.renewalSeen, Intervals: h.intervals.Clone()}
	}
}

// catchUpAfter returns the node's CatchUp if the watch may have delivered a renewal late, and otherwise nil.
func (x *heartbeats) catchUpAfter(n *node, e event.Event, renewed time.Time) *reads.CatchUp {
	h := &n.heartbeat
	if e.Type != event.Modified || h.lastRenewTime.IsZero() || h.renewalSeen.IsZero() || renewed.Sub(h.lastRenewTime) > x.period/2 {
		return nil
	}
	return h.catchUp
}

// reportCatchUp adds a transition if the renewals show that the watch was late and the node was not.
func (x *heartbeats) reportCatchUp(n *node, t, renewed time.Time) {
	h := &n.heartbeat
	if h.catchUp == nil || !h.catchUp.Covers(t, renewed, x.period/2) {
		return
	}
	silence := t.Sub(h.catchUp.Seen)
	h.intervals = h.catchUp.Intervals
	x.silences = slices.DeleteFunc(x.silences, func(s grace.Silence) bool { return s.Node == n.name && s.Ended.After(h.catchUp.Seen) })
	h.catchUp = nil
	x.found.Add(transition.HeartbeatsWereInTime{At: at(t), Node: n.name, Silence: silence})
}
