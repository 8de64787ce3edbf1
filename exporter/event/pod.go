package event

import (
	"strconv"
	"time"
)

// Pod is a Pod, reduced to its readiness and the fields that explain why the readiness changed.
type Pod struct {
	Meta
	Node string `json:"node,omitempty"`
	// Phase is status.phase. Reason is status.reason, such as Evicted or NodeLost, and Message is status.message.
	Phase   string `json:"phase,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Unscheduled is the condition PodScheduled if it is False, or nil.
	Unscheduled *Condition `json:"unscheduled,omitempty"`
	// DeletionTimestamp is deletionTimestamp, the time at which the grace period for the deletion ends.
	DeletionTimestamp time.Time  `json:"deletion,omitzero"`
	Ready             *Condition `json:"ready,omitempty"`
	ContainersReady   Status     `json:"containersReady,omitzero"`
	// Disruption is the reason of the condition DisruptionTarget, and DisruptionMessage is its message. They are empty if
	// the condition is not True.
	Disruption        string `json:"disruption,omitempty"`
	DisruptionMessage string `json:"disruptionMessage,omitempty"`
	// GatesNotReady lists the readiness gates whose condition is not True.
	GatesNotReady []string `json:"gatesNotReady,omitempty"`
	// Gates is the number of readiness gates.
	Gates int `json:"gates,omitempty"`
	// Owner is the controller that owns the pod, such as "ReplicaSet/web-5d4".
	Owner string `json:"owner,omitempty"`
	// Containers holds the containers that affect readiness. These are the regular containers and the sidecars (init
	// containers with restartPolicy Always).
	Containers []Container `json:"containers,omitempty"`
	// ControllerManager holds the settings of a kube-controller-manager. It is nil for other pods.
	ControllerManager *ControllerManager `json:"controllerManager,omitempty"`
	// Labels holds all labels. A nil map means that they are unknown, because a recording does not contain them. Do not
	// modify the map, because pods with equal labels can share it.
	Labels map[string]string `json:"labels,omitzero"`
	// ToleratesNotReady and ToleratesUnreachable are the pod's tolerations of the taints node.kubernetes.io/not-ready
	// and node.kubernetes.io/unreachable. They are nil if they are unknown, because a recording does not
	// contain them. Do not modify them, because several pods can share them.
	ToleratesNotReady    *Toleration `json:"toleratesNotReady,omitempty"`
	ToleratesUnreachable *Toleration `json:"toleratesUnreachable,omitempty"`
}

// Kind returns KindPod.
func (*Pod) Kind() Kind { return KindPod }

// Container combines a container's image in the pod's spec with the container's status.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image,omitempty"`
	// ID is the runtime's ID of the running container. If none is running, it is the ID of the previous container.
	ID       string `json:"id,omitempty"`
	Ready    bool   `json:"ready,omitempty"`
	Restarts int32  `json:"restarts,omitempty"`
	// Starting is set while the container runs and its startup probe has not succeeded. Then `started` in its status is
	// false.
	Starting bool `json:"starting,omitempty"`
	// State is running, waiting or terminated. It is empty if the container has no status yet.
	State   string    `json:"state,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// Reason is the reason of the state if it is waiting or terminated, such as ImagePullBackOff. Message is the message
	// of the waiting state. ExitCode is the exit code of the terminated state.
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	ExitCode int32  `json:"exitCode,omitempty"`
	// LastReason and LastExitCode are the reason and the exit code of the last terminated state, before the current state.
	LastReason   string `json:"lastReason,omitempty"`
	LastExitCode int32  `json:"lastExitCode,omitempty"`
}

// Exit describes the last exit of the container in the API's words, as in "OOMKilled, exit code 137". It is empty if the
// container has not exited, or if its exit is unknown.
func (c *Container) Exit() string {
	reason, code := c.LastReason, c.LastExitCode
	if c.State == "terminated" {
		reason, code = c.Reason, c.ExitCode
	}
	switch {
	case code == 0: // the API omits the code 0, and a recording can lack any code
		return reason
	case reason == "":
		return "exit code " + strconv.Itoa(int(code))
	}
	return reason + ", exit code " + strconv.Itoa(int(code))
}

// Toleration is how long a pod tolerates a taint with the effect NoExecute. After that time, the taint eviction
// controller evicts the pod (pkg/controller/tainteviction). The zero value means immediate eviction.
type Toleration struct {
	// Forever is set if the pod tolerates the taint without a time limit.
	Forever bool `json:"forever,omitempty"`
	// Seconds is tolerationSeconds. It is 0 if Forever is true.
	Seconds int64 `json:"seconds,omitempty"`
}

// ControllerManager holds settings from a kube-controller-manager pod.
type ControllerManager struct {
	// GracePeriod is --node-monitor-grace-period, or 0 if the flag is not set.
	GracePeriod time.Duration `json:"gracePeriod,omitempty"`
	// Version is the image's tag.
	Version string                 `json:"version,omitempty"`
	Flags   ControllerManagerFlags `json:"flags,omitzero"`
}

// ControllerManagerFlags holds other flags. A flag that is not set is 0.
type ControllerManagerFlags struct {
	MonitorPeriod time.Duration `json:"monitorPeriod,omitempty"`
	// EvictionTimeout exists up to v1.26. Up to v1.12, it is the time from the mark of a lost node to the eviction of its
	// pods. Later, the tolerations of the pods apply.
	EvictionTimeout time.Duration `json:"evictionTimeout,omitempty"`
}
