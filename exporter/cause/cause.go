// Package cause defines the closed set of reasons why a pod or an address loses readiness.
package cause

import "slices"

// Cause is the reason why a pod or an address lost readiness.
type Cause uint8

// The causes. All returns them in this order.
const (
	// Unknown means that the evidence shows no cause.
	Unknown Cause = iota
	// NodeHeartbeatLost means that the node controller set the node's Ready condition to Unknown, and marked the node's
	// pods as not ready.
	NodeHeartbeatLost
	// NodeNotReady means that the node's own kubelet reported the node as not ready. The node's pods then became not
	// ready.
	NodeNotReady
	// KubeletRestart means that the kubelet restarted and reset the pod's Ready condition (Kubernetes before v1.35).
	KubeletRestart
	// ProbeFailed means that a readiness probe failed while the container kept running.
	ProbeFailed
	// ContainerExit means that a container exited: it crashed, ran out of memory, or failed its liveness probe. The pod can
	// have stopped being Ready shortly before, because the readiness probe failed, too.
	ContainerExit
	// InPlaceUpdate means that somebody changed the image of a container in a running pod.
	InPlaceUpdate
	// ReadinessGate means that the condition of a readiness gate is not True.
	ReadinessGate
	// PodDeleted means that a rollout, a scale-down or a user deleted the pod.
	PodDeleted
	// PodEvicted means that the pod was evicted, preempted, rejected by its kubelet, or shut down with its node.
	PodEvicted
	// PodCompleted means that the pod's containers exited and will not be restarted.
	PodCompleted
	// EndpointsReset means that the endpoints controller removed manually managed addresses.
	EndpointsReset
	// ManualWrite means that somebody edited the Endpoints or EndpointSlices.
	ManualWrite
	// ServiceChanged means that the Service's selector or publishNotReadyAddresses changed, or that the labels of a pod
	// changed, so that the selector no longer matches them.
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

// String returns the value of the label `cause`.
func (c Cause) String() string { return texts[c] }

// MarshalText returns the value of the label `cause`.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText converts a value of the label `cause`. Values that this version does not define are converted to
// Unknown.
func (c *Cause) UnmarshalText(text []byte) error {
	*c = Cause(max(slices.Index(texts[:], string(text)), 0))
	return nil
}

// All returns all causes, in the order in which they are defined.
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

// EndsPod reports whether the pod cannot become ready again after this cause.
func (c Cause) EndsPod() bool { return c == PodDeleted || c == PodEvicted || c == PodCompleted }
