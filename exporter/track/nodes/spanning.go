package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// clocksAgree is the maximum difference between the lengths of an interval by the node's clock and by kubeflap's clock,
// if the watch showed both heartbeats without delay.
const clocksAgree = 5 * time.Second

// spansBreak reports whether a heartbeat at t ends an interval that began before the last break of the watch, and in
// which no heartbeat can have been missed. A watch that works again shows every write that it missed, or a list with
// the newest state, before it shows later writes. So a heartbeat in the break would already have ended the interval.
// The parameter told is the time of this heartbeat by the node's clock. The comparison of the times t and told proves
// that the watch has not shown this heartbeat late.
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
