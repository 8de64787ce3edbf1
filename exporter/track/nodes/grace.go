package nodes

import (
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
)

// GracePeriod is the node monitor grace period in force; Period is 0 while unknown.
func (x *Nodes) GracePeriod() grace.Setting { return x.grace.Current() }

// ServerVersion records the version of the API server.
func (x *Nodes) ServerVersion(version string) {
	x.grace.VersionIs(version)
	x.graceChanged()
}

// ApplyControllerManager takes the grace period from the pod of a kube-controller-manager.
func (x *Nodes) ApplyControllerManager(o *event.Pod) {
	if x.grace.ApplyControllerManager(o) {
		x.graceChanged()
	}
}

// ForgetControllerManager handles the removal of a pod, which may be a kube-controller-manager.
func (x *Nodes) ForgetControllerManager(pod event.UID) {
	if x.grace.ForgetControllerManager(pod) {
		x.graceChanged()
	}
}

// graceChanged applies a new grace period to the current intervals.
func (x *Nodes) graceChanged() {
	if period := x.grace.Current().Period; period != x.period {
		x.awaitAll(x.nodes, period)
	}
	x.tell()
}

// ManagerFlags appends the flags that are set in the pods of the kube-controller-manager to into.
func (x *Nodes) ManagerFlags(into []grace.Flag) []grace.Flag { return x.grace.Flags(into) }
