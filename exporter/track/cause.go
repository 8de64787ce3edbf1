package track

// Cause is why readiness was lost. The set is closed.
type Cause uint8

// The causes.
const (
	// CauseUnknown: the evidence does not tell.
	CauseUnknown Cause = iota
	// CauseNodeHeartbeatLost: the node controller turned the node's Ready Unknown and marked its pods.
	CauseNodeHeartbeatLost
	// CauseNodeNotReady: the node's own kubelet says that it is not ready, and the pod's change followed from it.
	CauseNodeNotReady
	// CauseKubeletRestart: Ready dropped because the kubelet restarted (before v1.35).
	CauseKubeletRestart
	// CauseProbeFailed: a readiness probe failed; the container runs on.
	CauseProbeFailed
	// CauseContainerExit: a container ended: a crash, out of memory, a liveness probe.
	CauseContainerExit
	// CauseInPlaceUpdate: the image of a running pod's container was changed.
	CauseInPlaceUpdate
	// CauseReadinessGate: a readiness gate is not True.
	CauseReadinessGate
	// CausePodDeleted: the pod was deleted: a roll-out, a scale-down, by hand.
	CausePodDeleted
	// CausePodEvicted: the pod was evicted, preempted or shut down with its node.
	CausePodEvicted
	// CausePodCompleted: the pod's containers ended and are not to be restarted.
	CausePodCompleted
	// CauseEndpointsReset: the endpoints controller wiped hand-written addresses.
	CauseEndpointsReset
	// CauseManualWrite: someone edited the Endpoints or slices.
	CauseManualWrite
	// CauseServiceChanged: the Service's selector or publishNotReadyAddresses changed.
	CauseServiceChanged

	numCauses
)

var causeTexts = [numCauses]string{
	CauseUnknown: "unknown", CauseNodeHeartbeatLost: "node_heartbeat_lost", CauseNodeNotReady: "node_not_ready",
	CauseKubeletRestart: "kubelet_restart", CauseProbeFailed: "probe_failed", CauseContainerExit: "container_exit",
	CauseInPlaceUpdate: "inplace_update", CauseReadinessGate: "readiness_gate", CausePodDeleted: "pod_deleted",
	CausePodEvicted: "pod_evicted", CausePodCompleted: "pod_completed", CauseEndpointsReset: "endpoints_reset",
	CauseManualWrite: "manual_write", CauseServiceChanged: "service_changed",
}

// String is the cause as the label `cause` has it.
func (c Cause) String() string { return causeTexts[c] }

// Causes lists all causes.
func Causes() []Cause {
	all := make([]Cause, numCauses)
	for i := range all {
		all[i] = Cause(i)
	}
	return all
}
