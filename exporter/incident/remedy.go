package incident

import "github.com/kubeflap/kubeflap/exporter/advice"

// remedy says in a sentence or two what to do, with the numbers of this cluster.
func (r *record) remedy(x *Incident) string {
	n := &x.Numbers
	switch r.story {
	case storyControlPlane:
		return advice.ControlPlaneRemedy(n.GracePeriod)
	case storyGrace:
		return advice.ShortGracePeriodRemedy(n.GracePeriod)
	case storyNode:
		return advice.LostNode{
			Name: x.Subject, Cause: x.Cause, Away: x.State == StateRunning && len(r.openNodes) > 0, Nodes: r.nodesKnown,
			Grace: n.GracePeriod, Longest: n.LongestInterval,
		}.Remedy()
	}
	return advice.Affected{Cause: x.Cause, Namespace: x.Namespace, Name: r.full(), Pending: x.State == StatePending, Windows: n.Windows}.Remedy()
}
