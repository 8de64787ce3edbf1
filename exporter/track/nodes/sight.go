package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// sight knows which heartbeats kubeflap can see.
type sight struct {
	watches *watches.Watches
	// `resumed` is the end of the last break of the watch that shows heartbeats. Heartbeat intervals start at that time
	// or later, so heartbeats during the break never count as late.
	resumed time.Time
}

// `source` returns the resource that kubeflap watches for heartbeats.
func (x *sight) source() event.Kind {
	if x.watches.Missing(event.KindLease) {
		return event.KindNode
	}
	return event.KindLease
}

// isBlind reports whether kubeflap currently cannot see heartbeats. It returns false for a watch that is cut off
// (Watches.IsCutOff), because this watch will show all heartbeats later.
func (x *sight) isBlind() bool {
	return !x.watches.Up(x.source()) && !x.watches.IsCutOff(x.source())
}

// liveFrom returns the time from which heartbeats arrive without delay. Until then, a resumed watch delivers the events
// that it missed.
func (x *sight) liveFrom() time.Time { return watches.LiveFrom(x.resumed) }

// canDetectSilence reports whether kubeflap would notice missed heartbeats of the node, at the latest when the node
// controller sets it to Unknown. Without permission to watch Leases, this requires regular status reports of the node.
func (x *sight) canDetectSilence(n *node) bool { return x.areLeasesKnown() || n.heartbeat.steady.is() }

// areLeasesKnown reports whether kubeflap sees all Leases that there are. Missing heartbeats then prove that a node is
// silent, even before the node controller sets it to Unknown.
func (x *sight) areLeasesKnown() bool {
	return x.source() == event.KindLease || x.watches.Absent(event.KindLease)
}

// watchedSince returns the time since which kubeflap has watched the node's heartbeats. Heartbeats that became late before
// that time are not counted.
func (x *sight) watchedSince(n *node) time.Time {
	return latest(n.created, x.watches.SyncedAt(event.KindLease))
}

// intervalStart returns the start of the current interval. It is the last heartbeat or the end of the watch's last
// break, whichever is later.
func (x *sight) intervalStart(n *node) time.Time {
	if last := n.heartbeat.lastSeen(); last.IsZero() || last.After(x.resumed) {
		return last
	}
	return x.resumed
}

// lastRenewal returns the time of the last Lease renewal if kubeflap has seen no heartbeat since the watch broke.
// Otherwise lastRenewal returns zero. If the renewal happened during the break, its time is estimated from its
// renewTime.
func (x *sight) lastRenewal(n *node) time.Time {
	h := &n.heartbeat
	if x.isBlind() || h.last.After(x.resumed) || x.source() != event.KindLease || !n.hasLease {
		return time.Time{}
	}
	return h.renewalSeen
}

// clocksAgree is the maximum difference between an interval by the node's clock and the same interval by kubeflap's
// clock. A larger difference means that the watch delayed a heartbeat.
const clocksAgree = 5 * time.Second

// spansBreak reports whether the watch broke between the node's last known heartbeat and the heartbeat at t, and the
// node sent no heartbeat in between. A restored watch shows such heartbeats first, so kubeflap would already know them.
// byNode is the time of the heartbeat at t by the node's clock. If the two clocks disagree on the interval between the
// two heartbeats, the watch delayed one of them, and spansBreak returns false.
func (x *sight) spansBreak(n *node, t time.Time, byNode event.NodeTime) bool {
	h := &n.heartbeat
	switch {
	case h.last.IsZero(), h.estimated, !h.timed, !h.last.Before(x.liveFrom()), x.isBlind():
		return false
	case !x.watches.Up(event.KindNode), !n.exists:
		return false // a status report may have been missed
	case h.byNode.IsZero() || byNode.IsZero():
		return false
	}
	return (t.Sub(h.last) - byNode.Sub(h.byNode)).Abs() <= clocksAgree
}

// WatchWorks records that a watch works again after a break.
func (x *sight) WatchWorks(e event.Event) {
	if e.Kind == x.source() {
		x.resumed = e.Seen
	}
}

func latest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.After(first) {
			first = t
		}
	}
	return first
}
