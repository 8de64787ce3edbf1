package event

import "time"

// Pod is a Pod: its readiness and the fields that explain a change.
type Pod struct {
	Meta
	Node string `json:"node,omitempty"`
	// Phase is status.phase; Reason is status.reason (Evicted, NodeLost, ...).
	Phase  string `json:"phase,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Deletion is deletionTimestamp: when the grace period for the deletion ends.
	Deletion        time.Time  `json:"deletion,omitzero"`
	Ready           *Condition `json:"ready,omitempty"`
	ContainersReady Status     `json:"containersReady,omitzero"`
	// Disruption is the reason of a DisruptionTarget condition that is True.
	Disruption string `json:"disruption,omitempty"`
	// GatesNotReady are the readiness gates whose condition is not True.
	GatesNotReady []string `json:"gatesNotReady,omitempty"`
	// Gates is the number of readiness gates.
	Gates int `json:"gates,omitempty"`
	// Owner is the controlling owner: "ReplicaSet/web-5d4".
	Owner string `json:"owner,omitempty"`
	// Containers are those that count for readiness: the ordinary ones and the sidecars (init containers with restartPolicy
	// Always).
	Containers []Container `json:"containers,omitempty"`
	// ControllerManager is set on the pod of a kube-controller-manager.
	ControllerManager *ControllerManager `json:"controllerManager,omitempty"`
	// Labels are all labels. It is nil in recordings of version 1, where they are unknown. Pods with equal labels may share it,
	// so nobody may change it.
	Labels map[string]string `json:"labels,omitzero"`
	// ToleratesNotReady and ToleratesUnreachable are how long the pod tolerates the taints node.kubernetes.io/not-ready and
	// node.kubernetes.io/unreachable. They are nil in recordings of version 1, where that is unknown. Pods may share them, so nobody
	// may change them.
	ToleratesNotReady    *Toleration `json:"toleratesNotReady,omitempty"`
	ToleratesUnreachable *Toleration `json:"toleratesUnreachable,omitempty"`
}

// Kind is KindPod.
func (*Pod) Kind() Kind { return KindPod }

// Container is a container of a pod: its image according to the spec, and its status.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image,omitempty"`
	// ID is the runtime's id of the running or last container.
	ID       string `json:"id,omitempty"`
	Ready    bool   `json:"ready,omitempty"`
	Restarts int32  `json:"restarts,omitempty"`
	// State is running, waiting or terminated. It is empty while there is no status.
	State    string    `json:"state,omitempty"`
	ExitCode int32     `json:"exitCode,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	// LastExitCode is that of the container before this one, if it ended.
	LastExitCode int32 `json:"lastExitCode,omitempty"`
}

// Toleration is how long a pod tolerates a taint with the effect NoExecute. Then it is evicted
// (pkg/controller/tainteviction). The zero value is a pod that is evicted at once.
type Toleration struct {
	// Forever: it is not evicted.
	Forever bool `json:"forever,omitempty"`
	// Seconds is tolerationSeconds, 0 if Forever.
	Seconds int64 `json:"seconds,omitempty"`
}

// ControllerManager has the settings in the pod of a kube-controller-manager.
type ControllerManager struct {
	// GracePeriod is --node-monitor-grace-period; 0 if the flag is not set.
	GracePeriod time.Duration `json:"gracePeriod,omitempty"`
	// Version is the image's tag.
	Version string `json:"version,omitempty"`
	// Flags are other flags. It is nil in recordings of version 1, where they are unknown.
	Flags *ControllerManagerFlags `json:"flags,omitempty"`
}

// ControllerManagerFlags are flags of a kube-controller-manager. One that is nil is not set, so that its default holds.
type ControllerManagerFlags struct {
	// MonitorPeriod is --node-monitor-period.
	MonitorPeriod *time.Duration `json:"monitorPeriod,omitempty"`
	// QPS is --kube-api-qps, in requests per second.
	QPS *float64 `json:"qps,omitempty"`
	// Burst is --kube-api-burst, in requests.
	Burst *int32 `json:"burst,omitempty"`
	// EndpointSyncs is --concurrent-endpoint-syncs.
	EndpointSyncs *int32 `json:"endpointSyncs,omitempty"`
	// EndpointSliceSyncs is --concurrent-service-endpoint-syncs, the workers for EndpointSlices.
	EndpointSliceSyncs *int32 `json:"endpointSliceSyncs,omitempty"`
	// EndpointBatch is --endpoint-updates-batch-period.
	EndpointBatch *time.Duration `json:"endpointBatch,omitempty"`
	// EndpointSliceBatch is --endpointslice-updates-batch-period.
	EndpointSliceBatch *time.Duration `json:"endpointSliceBatch,omitempty"`
	// EvictionRate is --node-eviction-rate, in nodes per second; 0 evicts none.
	EvictionRate *float64 `json:"evictionRate,omitempty"`
	// SecondaryEvictionRate is --secondary-node-eviction-rate, in nodes per second.
	SecondaryEvictionRate *float64 `json:"secondaryEvictionRate,omitempty"`
	// UnhealthyZoneThreshold is --unhealthy-zone-threshold, a fraction of a zone's nodes.
	UnhealthyZoneThreshold *float64 `json:"unhealthyZoneThreshold,omitempty"`
}
