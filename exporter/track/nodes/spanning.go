package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// clocksAgree limits the difference between an interval on the node's clock and the same interval on kubeflap's clock.
// A larger difference means that the watch delayed a heartbeat.
const clocksAgree = 5 * time.Second

// spansBreak reports whether the watch broke after the last heartbeat, but kubeflap missed no heartbeat before the one
// at t. A watch that works again shows the missed writes, or a list with the newest state, before any later write. So
// kubeflap would already know a heartbeat from the break. told is the time of the heartbeat at t by the node's clock.
// spansBreak compares the two times to make sure that the watch did not show the heartbeat late.
func (x *heartbeats) spansBreak(n *node, t, told time.Time) bool {
	h := &n.heartbeat
	switch {
	case h.last.IsZero(), h.guessed, !h.timed, !h.last.Before(x.measured), x.blind():
		return false
	case !x.watches.Up(event.KindNode), n.generation != x.watches.Generation(event.KindNode):
		return false // a status report may have been missed
	case h.told.IsZero() || told.IsZero():
		return false
	}
	return (t.Sub(h.last) - told.Sub(h.told)).Abs() <= clocksAgree
}
