package nodes

import (
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Observe handles a transition of a node, or a setting of the node controller. It ignores all others.
func (l *Nodes) Observe(x transition.Transition) {
	switch x := x.(type) {
	case transition.HeartbeatSeen:
		l.heartbeatSeen(x)
	case transition.GracePeriodKnown:
		l.Silences.Learn(x)
		l.known = x.Nodes
	case transition.HeartbeatsResumed:
		l.Silences.NotLate(x.Node)
		l.heartbeatsResumed(l.recordTransition(x.Node, x.Time), x.Time)
	case transition.HeartbeatLate:
		l.heartbeatLate(x)
	case transition.ClockSetBack:
		l.clockSetBack(x)
	case transition.HeartbeatsWereInTime:
		l.heartbeatsWereInTime(x)
	case transition.NodeFoundLost:
		l.nodeFoundLost(x)
	case transition.NodeFoundNotReady:
		l.recordTransition(x.Node, x.Time).wasNotReady(l, x)
	case transition.HeartbeatMissed:
		l.heartbeatMissed(x)
	case transition.NodeReadyChanged:
		if x.To == event.StatusTrue {
			l.nodeTurnedReady(x)
		} else {
			l.nodeTurnedNotReady(x)
		}
	case transition.NotReadyReason:
		l.recordTransition(x.Node, x.Time).says(x)
	case transition.NodeProblem:
		l.recordTransition(x.Node, x.Time).hasProblem(x)
	case transition.NodeReadyMissed:
		l.nodeReadyMissed(x)
	case transition.NodeNotMarked:
		l.nodeNotMarked(x)
	case transition.NodeRebooted:
		l.Explain(l.Silences.NodeRebooted(x.Node, x.Reported, x.Time), incident.Entry{Kind: incident.NodeRebooted, Time: x.Time, Name: x.Node})
	case transition.KubeletUpgraded:
		l.Explain(l.Silences.KubeletUpgraded(x.Node, x.Reported, x.Time), incident.Entry{Kind: incident.KubeletUpgraded, Time: x.Time, Name: x.Node})
	case transition.NodeRemoved:
		l.nodeRemoved(x)
	}
}
