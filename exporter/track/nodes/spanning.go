package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// clocksAgree is the maximum difference between an interval by the node's clock and the same interval by kubeflap's
// clock. A larger difference means that the watch delayed a heartbeat.
const clocksAgree = 5 * time.Second

// spansBreak reports whether the watch broke between the node's last known heartbeat and the heartbeat at t, and the
// node sent no heartbeat in between. A restored watch shows such heartbeats first, so kubeflap would already know them.
// byNode is the time of the heartbeat at t by the node's clock. If the two clocks disagree on the interval between the
// two heartbeats, the watch delayed one of them, and spansBreak returns false.
func (x *heartbeats) spansBreak(n *node, t, byNode time.Time) bool {
	h := &n.heartbeat
	switch {
	case h.last.IsZero(), h.estimated, !h.timed, !h.last.Before(x.liveFrom()), x.isBlind():
		return false
	case !x.watches.Up(event.KindNode), !n.exists:
		return false // a status report may have been missed
	case h.lastByNode.IsZero() || byNode.IsZero():
		return false
	}
	return (t.Sub(h.last) - byNode.Sub(h.lastByNode)).Abs() <= clocksAgree
}
