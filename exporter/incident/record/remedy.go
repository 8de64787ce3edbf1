package record

import (
	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// remedy is what to do, with the numbers of this cluster.
func remedy(r *Record, x *incident.Incident) string {
	n := &x.Numbers
	switch r.Kind {
	case KindControlPlane:
		return advice.ControlPlaneRemedy(n.GracePeriod)
	case KindGracePeriod:
		return advice.ShortGracePeriodRemedy(n.GracePeriod)
	case KindNode:
		return advice.LostNode{
			Name: x.Subject, Cause: x.Cause, Away: x.State == incident.StateRunning && len(r.open.nodes) > 0, Nodes: r.knownNodes,
			Grace: n.GracePeriod, Longest: n.LongestInterval,
		}.Remedy()
	}
	return advice.Affected{
		Cause: x.Cause, Namespace: x.Namespace, Name: r.fullName(), Pending: x.State == incident.StatePending, Windows: n.Windows,
	}.Remedy()
}
