package transition

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// Pod names a pod.
type Pod struct {
	Namespace, Name, Node string
	// Owner is the controller, such as "ReplicaSet/web-5d4"; empty if it has none.
	Owner string
}

// Fields returns the names for a structured log line.
func (p Pod) Fields() Fields { return Fields{Namespace: p.Namespace, Pod: p.Name, Node: p.Node} }

// PodReadyChanged means that the pod's Ready condition changed.
type PodReadyChanged struct {
	At
	Pod
	From, To event.Status
	// Cause is why Ready is not True; if To is True, why it was not.
	Cause   cause.Cause
	Trigger uint64
}

// Fields returns the names for a structured log line.
func (x PodReadyChanged) Fields() Fields {
	fields := x.Pod.Fields()
	fields.Cause = x.Cause
	return fields
}

func (x PodReadyChanged) String() string {
	if x.To == event.StatusTrue {
		return fmt.Sprintf("pod %s/%s: Ready again after %s", x.Namespace, x.Name, x.Cause)
	}
	return fmt.Sprintf("pod %s/%s: Ready %s -> %s%s", x.Namespace, x.Name, x.From, x.To, because(x.Cause))
}

// PodReadyWasStale means that the pod's Ready was still True after its container was to be replaced, or had exited.
type PodReadyWasStale struct {
	At
	Pod
	// Stale is for how long.
	Stale time.Duration
}

func (x PodReadyWasStale) String() string {
	return fmt.Sprintf("pod %s/%s: Ready was True for %s after its container was replaced or ended", x.Namespace, x.Name, round(x.Stale))
}

// PodUpdatedInPlace means that the image of a container in a running pod changed.
type PodUpdatedInPlace struct {
	At
	Pod
}

func (x PodUpdatedInPlace) String() string {
	return fmt.Sprintf("pod %s/%s: image changed in place", x.Namespace, x.Name)
}

// PodRestartedSilently means that a container restarted and the pod's Ready stayed True.
type PodRestartedSilently struct {
	At
	Pod
}

func (x PodRestartedSilently) String() string {
	return fmt.Sprintf("pod %s/%s: a container restarted and the pod stayed Ready", x.Namespace, x.Name)
}

// PodEvicted means that the pod was deleted because of the taint of its node, which is not Ready (pkg/controller/tainteviction).
type PodEvicted struct {
	At
	Pod
	// Status is the node's Ready: Unknown or False. After is how long it has been so.
	Status event.Status
	After  time.Duration
	// Tolerates is for how long the pod tolerates that taint; nil if it is not known.
	Tolerates *event.Toleration
}

func (x PodEvicted) String() string {
	return fmt.Sprintf("pod %s/%s: evicted %s after its node turned %s", x.Namespace, x.Name, round(x.After), x.Status)
}
