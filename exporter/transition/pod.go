package transition

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// Pod identifies a pod.
type Pod struct {
	Namespace, Name, Node string
	// Owner is the controller that owns the pod, such as "ReplicaSet/web-5d4". It is empty if the pod has no
	// controller.
	Owner string
}

// Fields returns the names of the affected objects, for structured log lines.
func (p Pod) Fields() Fields { return Fields{Namespace: p.Namespace, Pod: p.Name, Node: p.Node} }

func (p Pod) says(format string, args ...any) string {
	return "pod " + p.Namespace + "/" + p.Name + ": " + fmt.Sprintf(format, args...)
}

// PodReadyChanged means that the pod's Ready condition changed.
type PodReadyChanged struct {
	At
	Pod
	From, To event.Status
	// Cause explains why the pod is not Ready. If To is True, it explains why the pod was not Ready before.
	Cause   cause.Cause
	Trigger uint64
	// Why quotes what the API says about the cause, such as the exit of a container. It is empty if To is True.
	Why string
}

func (x PodReadyChanged) String() string {
	if x.To == event.StatusTrue {
		return x.says("Ready again after %s", x.Cause)
	}
	return x.says("Ready %s -> %s%s%s", x.From, x.To, causeSuffix(x.Cause), parenthesis(x.Why))
}

// PodLossExplained means that the new status of a pod that is not Ready, or the status of another pod, explains better why
// the pod stopped being Ready or was removed.
type PodLossExplained struct {
	At
	Pod
	Cause cause.Cause
	Why   string
}

func (x PodLossExplained) String() string {
	return x.says("the cause is %s%s", x.Cause, parenthesis(x.Why))
}

// PodReadyWasStale means that Ready stayed True for a while after the image of a container changed or the container
// exited.
type PodReadyWasStale struct {
	At
	Pod
	// Stale is how long Ready was wrong.
	Stale time.Duration
}

func (x PodReadyWasStale) String() string {
	return x.says("Ready stayed True for %s after its image changed or its container exited", round(x.Stale))
}

// PodUpdatedInPlace means that the image of a container in a running pod changed.
type PodUpdatedInPlace struct {
	At
	Pod
	// Ready is set if the pod's Ready condition was True at that time.
	Ready bool
}

func (x PodUpdatedInPlace) String() string { return x.says("image changed in place") }

// PodRestartedSilently means that a container restarted while the pod's Ready condition stayed True.
type PodRestartedSilently struct {
	At
	Pod
}

func (x PodRestartedSilently) String() string {
	return x.says("a container restarted and the pod stayed Ready")
}

// PodEvicted means that the pod was deleted because its node is not Ready and has a NoExecute taint. See
// pkg/controller/tainteviction in Kubernetes.
type PodEvicted struct {
	At
	Pod
	// Status is the node's Ready status, Unknown or False. `After` is the time since Ready changed to this status.
	Status event.Status
	After  time.Duration
	// Tolerates is the pod's toleration of the taint. It is nil if unknown.
	Tolerates *event.Toleration
}

func (x PodEvicted) String() string {
	return x.says("evicted %s after its node turned %s", round(x.After), x.Status)
}
