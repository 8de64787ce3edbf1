package event

import (
	"strings"
	"time"
)

// Node is a Node: its Ready condition and the fields that explain a change.
type Node struct {
	Meta
	// Ready is nil while the node has no Ready condition.
	Ready          *Condition `json:"ready,omitempty"`
	Unschedulable  bool       `json:"unschedulable,omitempty"`
	Taints         []Taint    `json:"taints,omitempty"`
	KubeletVersion string     `json:"kubeletVersion,omitempty"`
	BootID         string     `json:"bootID,omitempty"`
	// Labels are those of NodeLabels that the node has. It is nil in recordings of version 1, where they are unknown. Nobody may
	// change it.
	Labels map[string]string `json:"labels,omitzero"`
	// ProviderID is the cloud's name of the machine: "aws:///eu-west-1a/i-0123".
	ProviderID string `json:"providerID,omitempty"`
	// Deletion is deletionTimestamp: when somebody deleted the node, to the second.
	Deletion time.Time `json:"deletion,omitzero"`
	// Lifecycle are the node lifecycle conditions that the node has.
	Lifecycle []LifecycleCondition `json:"lifecycle,omitempty"`
}

// Kind is KindNode.
func (*Node) Kind() Kind { return KindNode }

// Taint is a taint of a node.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
	// Added is timeAdded, by the writer's clock, to the second. The API server does not set it, so only some taints have one.
	Added time.Time `json:"added,omitzero"`
}

// LifecycleCondition is a node lifecycle condition (Kubernetes v1.37): it says that the node is being drained or maintained.
type LifecycleCondition struct {
	Type   LifecycleType `json:"type"`
	Status Status        `json:"status,omitzero"`
	Reason string        `json:"reason,omitempty"`
	// Transition is lastTransitionTime, by the writer's clock, to the second.
	Transition time.Time `json:"transition,omitzero"`
}

// LifecycleType is the type of a node lifecycle condition. A recording of a later kubeflap may have others.
type LifecycleType string

// The node lifecycle conditions that are read.
const (
	DrainInProgress                LifecycleType = "DrainInProgress"
	Drained                        LifecycleType = "Drained"
	MaintenancePlanned             LifecycleType = "MaintenancePlanned"
	MaintenanceInProgress          LifecycleType = "MaintenanceInProgress"
	GracefulNodeShutdownInProgress LifecycleType = "GracefulNodeShutdownInProgress"
)

// Known reports whether t is one of the constants.
func (t LifecycleType) Known() bool {
	switch t {
	case DrainInProgress, Drained, MaintenancePlanned, MaintenanceInProgress, GracefulNodeShutdownInProgress:
		return true
	}
	return false
}

// Lease is a Lease in the namespace kube-node-lease: a node's heartbeat. It has the node's name.
type Lease struct {
	Meta
	// Renew is renewTime, by the node's clock, to the microsecond; zero if unset.
	Renew time.Time `json:"renew,omitzero"`
	// DurationSeconds is leaseDurationSeconds. The kubelet renews after a quarter of that time (pkg/kubelet,
	// nodeLeaseRenewIntervalFraction).
	DurationSeconds int32 `json:"durationSeconds,omitempty"`
}

// Kind is KindLease.
func (*Lease) Kind() Kind { return KindLease }

// ControlPlaneLease is a Lease in the namespace kube-system: that of the leading kube-controller-manager or kube-scheduler, or of
// an API server.
type ControlPlaneLease struct {
	Meta
	// Renew is renewTime, by the holder's clock, to the microsecond; zero if unset. By default a leader renews every 2 s
	// (client-go, tools/leaderelection) and an API server every 10 s (pkg/controlplane, IdentityLeaseRenewIntervalPeriod).
	Renew time.Time `json:"renew,omitzero"`
	// DurationSeconds is leaseDurationSeconds.
	DurationSeconds int32 `json:"durationSeconds,omitempty"`
	// Holder is holderIdentity: for a leader its host and a UUID, "master-1_5a2c0c0e-...".
	Holder string `json:"holder,omitempty"`
	// Transitions is leaseTransitions: how often the leader changed.
	Transitions int32 `json:"transitions,omitempty"`
	// Host is the label kubernetes.io/hostname, which only the Lease of an API server has.
	Host string `json:"host,omitempty"`
}

// Kind is KindControlPlaneLease.
func (*ControlPlaneLease) Kind() Kind { return KindControlPlaneLease }

// The names of the control-plane Leases that are read. That of an API server has a hash after the prefix.
const (
	LeaseControllerManager = "kube-controller-manager"
	LeaseScheduler         = "kube-scheduler"
	LeaseAPIServerPrefix   = "apiserver-"
)

// IsControlPlaneLease reports whether a Lease in kube-system belongs to the control plane. Operators and other controllers have
// Leases there, too.
func IsControlPlaneLease(name string) bool {
	return name == LeaseControllerManager || name == LeaseScheduler || strings.HasPrefix(name, LeaseAPIServerPrefix)
}
