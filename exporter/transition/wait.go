package transition

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// WaitKind is what a Service without a ready address waits for. The set of kinds is fixed.
type WaitKind string

// The kinds of waits. If the pods of a Service wait for different things, the kind with the most pods counts. Of several
// such kinds, the first one in Waits counts.
const (
	// WaitReplicas means that the workload of the Service wants no pods. WaitPod means that no pod matches the selector.
	WaitReplicas WaitKind = "replicas"
	WaitPod      WaitKind = "pod"
	// WaitNode means that the pod has no node.
	WaitNode WaitKind = "schedule"
	// WaitImage means that an image cannot be pulled. WaitCreate means that a container cannot be created or started.
	// WaitCrash means that a container exited. WaitInit means that the init containers have not completed. WaitStart means
	// that the containers have not been created, which includes the wait for volumes and for the network.
	WaitImage  WaitKind = "image"
	WaitCreate WaitKind = "create"
	WaitCrash  WaitKind = "crash"
	WaitInit   WaitKind = "init"
	WaitStart  WaitKind = "start"
	// WaitProbe means that a container runs and is not ready. WaitGate means that only a readiness gate is not True.
	WaitProbe WaitKind = "probe"
	WaitGate  WaitKind = "gate"
	// WaitReady means that the pod is not Ready although its node, its containers and its readiness gates are.
	WaitReady WaitKind = "ready"
	// WaitAddress means that the pod is Ready and the Service has no ready address for it.
	WaitAddress WaitKind = "address"
	// WaitDeletion means that the only pods of the Service are being deleted.
	WaitDeletion WaitKind = "deletion"
)

// Waits returns all kinds of waits in the order of their precedence.
func Waits() []WaitKind {
	return []WaitKind{
		WaitReplicas, WaitPod, WaitNode, WaitImage, WaitCreate, WaitCrash, WaitInit, WaitStart, WaitProbe, WaitGate, WaitReady,
		WaitAddress, WaitDeletion,
	}
}

// Wait is what a Service without a ready address waits for. The zero value means that nothing but the recovery of nodes is
// known to be missing.
type Wait struct {
	Kind WaitKind `json:"kind"`
	// Pod is the name of the pod that waits, or of the first one. UID identifies it. Node is its node.
	Pod  string    `json:"pod,omitempty"`
	UID  event.UID `json:"uid,omitzero"`
	Node string    `json:"node,omitempty"`
	// Reason quotes the API: the scheduler's message, the container with the reason of its state, or the readiness gate.
	Reason string `json:"reason,omitempty"`
	// Since is the time since which the pod has waited, but not before the beginning of the outage.
	Since time.Time `json:"since"`
}

// Same reports whether w and x are the same wait of the same pod.
func (w Wait) Same(x Wait) bool { return w.Kind == x.Kind && w.UID == x.UID && w.Reason == x.Reason }

// OutageWaits means that a Service without a ready address waits for something else than before. It is reported from a
// minute after the beginning of an outage on.
type OutageWaits struct {
	At
	Service
	Wait Wait
}

func (x OutageWaits) String() string {
	s := x.says("waits for nothing that the pods show")
	if x.Wait.Kind != "" {
		s = x.says("waits for %s", x.Wait.Kind)
	}
	if x.Wait.Pod != "" {
		s += ": " + x.Namespace + "/" + x.Wait.Pod
	}
	if x.Wait.Reason != "" {
		s += " (" + x.Wait.Reason + ")"
	}
	return s
}
