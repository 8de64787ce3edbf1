// Package cause has the causes for which readiness is lost. The set is closed.
package cause

// Cause is why readiness was lost.
type Cause uint8

// The causes.
const (
	// Unknown: the evidence does not name a cause.
	Unknown Cause = iota
	// NodeHeartbeatLost: the node controller set the node's Ready to Unknown and marked its pods.
	NodeHeartbeatLost
	// NodeNotReady: the node's own kubelet reports not ready, and the pod changed as a consequence.
	NodeNotReady
	// KubeletRestart: the kubelet restarted and reset Ready (before v1.35).
	KubeletRestart
	// ProbeFailed: a readiness probe failed; the container still runs.
	ProbeFailed
	// ContainerExit: a container exited: a crash, out of memory, a failed liveness probe.
	ContainerExit
	// InPlaceUpdate: somebody changed the image of a container in a running pod.
	InPlaceUpdate
	// ReadinessGate: a readiness gate is not True.
	ReadinessGate
	// PodDeleted: the pod was deleted by a rollout, a scale-down or a user.
	PodDeleted
	// PodEvicted: the pod was evicted, preempted, or shut down with its node.
	PodEvicted
	// PodCompleted: the pod's containers exited and are not restarted.
	PodCompleted
	// EndpointsReset: the endpoints controller removed manually managed addresses.
	EndpointsReset
	// ManualWrite: somebody edited the Endpoints or EndpointSlices.
	ManualWrite
	// ServiceChanged: the Service's selector or publishNotReadyAddresses changed.
	ServiceChanged

	// Count is the number of causes, for arrays indexed by Cause.
	Count
)

var texts = [Count]string{
	Unknown: "unknown", NodeHeartbeatLost: "node_heartbeat_lost", NodeNotReady: "node_not_ready",
	KubeletRestart: "kubelet_restart", ProbeFailed: "probe_failed", ContainerExit: "container_exit",
	InPlaceUpdate: "inplace_update", ReadinessGate: "readiness_gate", PodDeleted: "pod_deleted",
	PodEvicted: "pod_evicted", PodCompleted: "pod_completed", EndpointsReset: "endpoints_reset",
	ManualWrite: "manual_write", ServiceChanged: "service_changed",
}

// String is the value of the label `cause`.
func (c Cause) String() string { return texts[c] }

// All lists the causes in their order.
func All() []Cause {
	all := make([]Cause, Count)
	for i := range all {
		all[i] = Cause(i)
	}
	return all
}

// OfNode reports whether the cause lies in the pod's node.
func (c Cause) OfNode() bool {
	return c == NodeHeartbeatLost || c == NodeNotReady || c == KubeletRestart
}

// EndsPod reports whether the pod is gone for good, so that it cannot become ready again.
func (c Cause) EndsPod() bool { return c == PodDeleted || c == PodEvicted || c == PodCompleted }
