package nodes

import (
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
)

// GracePeriod returns the current node monitor grace period and its source. The period is 0 if unknown.
func (x *Nodes) GracePeriod() grace.Setting { return x.grace.Current() }

// ServerVersion records the version of the API server.
func (x *Nodes) ServerVersion(version string) {
	x.grace.SetVersion(version)
	x.graceChanged()
}

// ApplyControllerManager reads the grace period from a kube-controller-manager pod.
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

// graceChanged reschedules the checks of all nodes if the grace period has changed.
func (x *Nodes) graceChanged() {
	if period := x.grace.Current().Period; period != x.period {
		x.rescheduleChecks(x.nodes, period)
	}
	x.reportGracePeriod()
}

// ManagerFlags appends the flags that are set in kube-controller-manager pods to the given slice and returns the
// extended slice.
func (x *Nodes) ManagerFlags(into []grace.Flag) []grace.Flag { return x.grace.Flags(into) }
