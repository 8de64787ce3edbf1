package event

import "time"

// Pod is a Pod, reduced to its readiness and the fields that explain a change.
type Pod struct {
	Meta
	Node string `json:"node,omitempty"`
	// Phase is status.phase; Reason is status.reason (Evicted, NodeLost, ...).
	Phase  string `json:"phase,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Deletion is deletionTimestamp, the time at which the grace period for the deletion ends.
	Deletion        time.Time  `json:"deletion,omitzero"`
	Ready           *Condition `json:"ready,omitempty"`
	ContainersReady Status     `json:"containersReady,omitzero"`
	// Disruption is the reason of the condition DisruptionTarget if its status is True, otherwise empty.
	Disruption string `json:"disruption,omitempty"`
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
	// Labels holds all labels. It is nil if unknown, as in recordings of version 1. Do not modify the map, because it
	// can belong to several pods with equal labels.
	Labels map[string]string `json:"labels,omitzero"`
	// ToleratesNotReady and ToleratesUnreachable are the pod's tolerations of the taints node.kubernetes.io/not-ready
	// and node.kubernetes.io/unreachable. They are nil if unknown, as in recordings of version 1. Do not modify them,
	// because they can belong to several pods.
	ToleratesNotReady    *Toleration `json:"toleratesNotReady,omitempty"`
	ToleratesUnreachable *Toleration `json:"toleratesUnreachable,omitempty"`
}

// Kind returns KindPod.
func (*Pod) Kind() Kind { return KindPod }

// Container combines a container's image in the pod's spec with the container's status.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image,omitempty"`
	// ID is the runtime's ID of the current container, or of the last container if none is running.
	ID       string `json:"id,omitempty"`
	Ready    bool   `json:"ready,omitempty"`
	Restarts int32  `json:"restarts,omitempty"`
	// State is running, waiting or terminated. It is empty if the container has no status yet.
	State    string    `json:"state,omitempty"`
	ExitCode int32     `json:"exitCode,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	// LastExitCode is the exit code of the previous container, if that container terminated.
	LastExitCode int32 `json:"lastExitCode,omitempty"`
}

// Toleration is the time for which a pod tolerates a taint with the effect NoExecute. After that time, the taint
// eviction controller evicts the pod (pkg/controller/tainteviction). The zero value means immediate eviction.
type Toleration struct {
	// Forever reports whether the taint never evicts the pod.
	Forever bool `json:"forever,omitempty"`
	// Seconds is tolerationSeconds. It is 0 if Forever is true.
	Seconds int64 `json:"seconds,omitempty"`
}

// ControllerManager holds settings from a kube-controller-manager pod.
type ControllerManager struct {
	// GracePeriod is --node-monitor-grace-period, or 0 if the flag is not set.
	GracePeriod time.Duration `json:"gracePeriod,omitempty"`
	// Version is the image's tag.
	Version string `json:"version,omitempty"`
	// Flags holds flags other than --node-monitor-grace-period. It is nil if unknown, as in recordings of version 1.
	Flags *ControllerManagerFlags `json:"flags,omitempty"`
}

// ControllerManagerFlags holds flags of a kube-controller-manager. A nil field means that the flag is not set and has
// its default.
type ControllerManagerFlags struct {
	// MonitorPeriod is --node-monitor-period.
	MonitorPeriod *time.Duration `json:"monitorPeriod,omitempty"`
	// QPS is --kube-api-qps, in requests per second.
	QPS *float64 `json:"qps,omitempty"`
	// Burst is --kube-api-burst, in requests.
	Burst *int32 `json:"burst,omitempty"`
	// EndpointSyncs is --concurrent-endpoint-syncs.
	EndpointSyncs *int32 `json:"endpointSyncs,omitempty"`
	// EndpointSliceSyncs is --concurrent-service-endpoint-syncs, the number of workers that sync EndpointSlices.
	EndpointSliceSyncs *int32 `json:"endpointSliceSyncs,omitempty"`
	// EndpointBatch is --endpoint-updates-batch-period.
	EndpointBatch *time.Duration `json:"endpointBatch,omitempty"`
	// EndpointSliceBatch is --endpointslice-updates-batch-period.
	EndpointSliceBatch *time.Duration `json:"endpointSliceBatch,omitempty"`
	// EvictionRate is --node-eviction-rate, in nodes per second. If it is 0, the controller still taints one node per
	// zone, because the rate limiter's bucket is full at the start.
	EvictionRate *float64 `json:"evictionRate,omitempty"`
	// SecondaryEvictionRate is --secondary-node-eviction-rate, in nodes per second.
	SecondaryEvictionRate *float64 `json:"secondaryEvictionRate,omitempty"`
	// UnhealthyZoneThreshold is --unhealthy-zone-threshold, as a fraction of the nodes in a zone.
	UnhealthyZoneThreshold *float64 `json:"unhealthyZoneThreshold,omitempty"`
}
