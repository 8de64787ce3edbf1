package correlate

import (
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// nodeNotMarked records that a silent node is still Ready after the grace period. All nodes with the verdict
// ControllerManager form one incident.
func (l *nodes) nodeNotMarked(x transition.NodeNotMarked) {
	n := l.recordTransition(x.Node, x.Time)
	s := n.silence
	if s == nil || !s.Ended.IsZero() {
		// The node fell silent before kubeflap started.
		s = l.beginSilence(n, x.Time.Add(-x.Silence), x.Loss)
	}
	s.NotMarked, s.NotMarkedCertain = true, x.Certain
	r := l.lose(n, x.Time, x.Loss, x.Silence)
	if !n.isSilent {
		n.isSilent, n.lastHeartbeat, n.trigger = true, s.Began, x.Loss.Trigger
		l.openGap(r, n, x.Time)
	}
	r.Evidence.Add(evidence.Entry{Kind: evidence.NodeNotMarked, Time: x.Time, Name: n.name, Duration: x.Silence})
	alone := verdict.OfNodes(l.records.NodeLoss([]*verdict.Silence{s}, l.count()))
	if r.Kind == record.KindNode && alone.Verdict == verdict.ControllerManager {
		r = l.records.MergeNodes([]*record.Record{r}, record.Subject{Kind: record.KindControllerManager, Name: "kube-controller-manager", Cause: cause.NodeHeartbeatLost}, x.Time)
		r.KnownNodes = max(r.KnownNodes, l.count())
	}
	if x.Certain {
		r.NotMarked++
	}
	l.records.Touch(r, x.Time)
}
