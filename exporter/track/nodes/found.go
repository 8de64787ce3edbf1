package nodes

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// returnedWithin limits returnedAfter to nodes that become Ready at most this long after the end of a lost node's
	// grace period. Nodes that become Ready later count as unrelated, because a growing cluster gets new nodes all the
	// time.
	returnedWithin = 10 * time.Minute
	// longestLoss is the maximum credible time since a node was lost. A longer time indicates a wrong clock.
	longestLoss = 365 * 24 * time.Hour
)

// ListEnded handles the end of a list. After the first lists of Nodes and Leases, it reports the nodes that are already
// lost. Counters exclude these nodes, because kubeflap did not see the change.
func (x *Nodes) ListEnded(t time.Time) {
	x.noteIntervals()
	heartbeats := x.watches.IsSynced(event.KindLease) || x.watches.Missing(event.KindLease)
	if heartbeats && x.watches.IsSynced(event.KindNode) && x.areLeasesKnown() {
		x.silencesSince = cmp.Or(x.silencesSince, t) // from now on, kubeflap sees all silences
	}
	if x.initialCheckDone || !heartbeats || !x.watches.IsSynced(event.KindNode) {
		return
	}
	x.initialCheckDone = true
	x.CountLate(t)
	for _, n := range x.nodes {
		if n.exists && n.ready == event.StatusTrue && !n.transition.IsZero() {
			x.readyTimes = append(x.readyTimes, n.transition)
		}
	}
	for _, n := range x.inOrder() {
		if !n.exists || !n.wasLost || n.ready == event.StatusTrue {
			continue
		}
		if n.troubled = t; n.ready == event.StatusUnknown {
			x.found.Add(x.foundLost(n, t))
		} else {
			x.found.Add(n.foundNotReady(t))
		}
	}
}

// foundNotReady returns the transition for a node whose kubelet had reported it as not ready when kubeflap started to watch it.
func (n *node) foundNotReady(t time.Time) transition.NodeFoundNotReady {
	found := transition.NodeFoundNotReady{OfNode: n.at(t), Says: n.reasons.says, Trigger: n.trigger(cause.NodeNotReady)}
	if since := n.transition.IfClocksAgree(); isCredible(since, t) && !since.After(t) {
		found.Since = since
	}
	return found
}

// foundLost returns the transition for a node that was already lost when kubeflap started to watch it.
func (x *health) foundLost(n *node, t time.Time) transition.NodeFoundLost {
	h := &n.heartbeat
	lost := transition.NodeFoundLost{OfNode: n.at(t), Loss: x.loss(n)}
	lost.Loss.Found, lost.Loss.Returned = true, x.returnedAfter(h.byNode)
	if lost.Loss.Announced == "" {
		if lost.Loss.Lapsed, lost.Loss.LapsedAge = n.departure.Lapsed(t); lost.Loss.Lapsed == "" {
			lost.Loss.Perhaps = n.departure.AnnouncedNow()
		}
	}
	if x.canDetectSilence(n) && isCredible(h.last, t) {
		lost.Silence = t.Sub(h.last)
	}
	if lost.Unknown = n.ready == event.StatusUnknown; !lost.Unknown {
		return lost
	}
	if marked := event.ControllerTime(n.transition); isCredible(marked.IfClocksAgree(), t) {
		lost.Marked, lost.Loss.MarkedAge = marked.IfClocksAgree(), ageAtMark(h.byNode, marked, x.grace.Period)
		lost.InDoubt = lost.Silence > 0 && lost.Loss.MarkedAge == 0
	}
	if lost.Silence > x.grace.Period && x.grace.Period > 0 && !lost.InDoubt {
		h.late, h.missed = true, true
	}
	return lost
}

// isCredible reports whether a node can have been lost at t.
func isCredible(t, now time.Time) bool { return !t.IsZero() && now.Sub(t) <= longestLoss }

// returnedAfter returns the number of nodes in the first list that became Ready soon after another node fell silent.
// Each of these nodes has recovered or is new. It assumes that the clocks of the nodes agree.
func (x *health) returnedAfter(silent event.NodeTime) (nodes int) {
	for _, t := range x.readyTimes {
		if silent.Before(t) && t.Sub(silent) <= x.grace.Period+returnedWithin {
			nodes++
		}
	}
	return nodes
}

// ageAtMark returns the age of a node's last heartbeat at the time when the node controller set the node to Unknown,
// which it writes in whole seconds. It returns 0 if the heartbeat was younger than the grace period. In this case, the
// node has recovered, the controller was wrong, or the clocks differ.
func ageAtMark(heartbeat event.NodeTime, marked event.ControllerTime, period time.Duration) time.Duration {
	age := marked.IfClocksAgree().Sub(heartbeat.IfClocksAgree())
	if age < period-time.Second {
		return 0
	}
	return max(age, period)
}
