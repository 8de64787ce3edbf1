package event

import (
	"strings"
	"time"
)

// Node is a Node, reduced to its Ready condition and the fields that explain why this condition changed.
type Node struct {
	Meta
	// Ready is nil while the node has no Ready condition.
	Ready *Condition `json:"ready,omitempty"`
	// Created is creationTimestamp, by the API server's clock. Its resolution is 1 s.
	Created        time.Time `json:"created,omitzero"`
	Unschedulable  bool      `json:"unschedulable,omitempty"`
	Taints         []Taint   `json:"taints,omitempty"`
	KubeletVersion string    `json:"kubeletVersion,omitempty"`
	BootID         string    `json:"bootID,omitempty"`
	// Labels holds the node's labels, reduced to those that NodeLabels lists. A nil map means that the labels are
	// unknown, because a recording does not contain them. Do not modify the map.
	Labels map[string]string `json:"labels,omitzero"`
	// ProviderID is the cloud provider's ID of the machine, such as "aws:///eu-west-1a/i-0123".
	ProviderID string `json:"providerID,omitempty"`
	// DeletionTimestamp is deletionTimestamp, the time at which a client deleted the node. Its resolution is 1 s.
	DeletionTimestamp time.Time `json:"deletion,omitzero"`
	// Lifecycle holds the node's lifecycle conditions.
	Lifecycle []LifecycleCondition `json:"lifecycle,omitempty"`
	// Problems holds the other conditions that are True, if IsProblem applies to their types.
	Problems []Problem `json:"problems,omitempty"`
}

// Kind returns KindNode.
func (*Node) Kind() Kind { return KindNode }

// Taint is a taint of a node.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
	// Added is timeAdded, by the clock of the client that added the taint. Its resolution is 1 s. Clients often omit
	// it, and the API server does not add it.
	Added time.Time `json:"added,omitzero"`
}

// Problem is a condition of a node that is True and means a problem, such as DiskPressure.
type Problem struct {
	Type    string `json:"type"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// LastTransitionTime is lastTransitionTime, by the node's clock. Its resolution is 1 s.
	LastTransitionTime time.Time `json:"transition,omitzero"`
}

// LifecycleCondition is a node lifecycle condition (Kubernetes v1.37), such as a drain or maintenance of the node.
type LifecycleCondition struct {
	Type   LifecycleType `json:"type"`
	Status Status        `json:"status,omitzero"`
	Reason string        `json:"reason,omitempty"`
	// LastTransitionTime is lastTransitionTime, by the clock of the client that wrote the condition. Its resolution is
	// 1 s.
	LastTransitionTime time.Time `json:"transition,omitzero"`
}

// LifecycleType is the type of a node lifecycle condition. Recordings of later kubeflap versions may contain other
// types.
type LifecycleType string

// Known reports whether kubeflap reads node lifecycle conditions of this type.
func (t LifecycleType) Known() bool {
	switch t {
	case "DrainInProgress", "Drained", "MaintenancePlanned", "MaintenanceInProgress", "GracefulNodeShutdownInProgress":
		return true
	}
	return false
}

// Lease is a Lease in the namespace kube-node-lease. It holds a node's heartbeat and has the node's name.
type Lease struct {
	Meta
	// RenewTime is renewTime, by the node's clock. Its resolution is 1 µs. It is zero if renewTime is not set.
	RenewTime time.Time `json:"renew,omitzero"`
	// DurationSeconds is leaseDurationSeconds. The kubelet renews its Lease after a quarter of this time (pkg/kubelet,
	// nodeLeaseRenewIntervalFraction).
	DurationSeconds int32 `json:"durationSeconds,omitempty"`
}

// Kind returns KindLease.
func (*Lease) Kind() Kind { return KindLease }

// ControlPlaneLease is a Lease in the namespace kube-system. It belongs to the leading kube-controller-manager or
// kube-scheduler, or to an API server.
type ControlPlaneLease struct {
	Meta
	// RenewTime is renewTime, by the holder's clock. Its resolution is 1 µs. It is zero if renewTime is not set. By
	// default, a leader renews its Lease every 2 s (client-go, tools/leaderelection). An API server renews its Lease
	// every 10 s (pkg/controlplane, IdentityLeaseRenewIntervalPeriod).
	RenewTime time.Time `json:"renew,omitzero"`
	// Holder is holderIdentity. For a leader, it consists of the host and a UUID, such as "master-1_5a2c0c0e-...".
	Holder string `json:"holder,omitempty"`
	// Host is the label kubernetes.io/hostname. Only the Lease of an API server has this label.
	Host string `json:"host,omitempty"`
}

// Kind returns KindControlPlaneLease.
func (*ControlPlaneLease) Kind() Kind { return KindControlPlaneLease }

// The names of the control-plane Leases that kubeflap reads. The Lease of an API server is named LeaseAPIServerPrefix
// plus a hash.
const (
	LeaseControllerManager = "kube-controller-manager"
	LeaseScheduler         = "kube-scheduler"
	LeaseAPIServerPrefix   = "apiserver-"
)

// IsControlPlaneLease reports whether a Lease in kube-system belongs to the control plane. Operators and other
// controllers also keep Leases in that namespace.
func IsControlPlaneLease(name string) bool {
	return name == LeaseControllerManager || name == LeaseScheduler || strings.HasPrefix(name, LeaseAPIServerPrefix)
}
