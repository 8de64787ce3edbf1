// Package event defines what kubeflap sees of a cluster. An Event says that an object appeared, changed or was deleted, or that
// a watch broke, and when kubeflap saw that. The objects are slim: they have only the fields that explain readiness.
package event

import "time"

// Event is an event on the watch of a resource.
type Event struct {
	// Seen is when kubeflap received the event, by its own clock.
	Seen time.Time
	Kind Kind
	Type Type
	// Object is the state after the event, for Deleted the last state. It is nil for the types that are about a watch.
	Object Object
	// Reason says why a watch is Down or Unavailable, or a direct read failed.
	Reason Reason
}

// Kind is a watched resource, or the cluster itself.
type Kind uint8

// The watched resources. KindCluster is not a resource: it has one object, which describes the API server. KindControlPlaneLease
// is optional evidence: some Leases in the namespace kube-system.
const (
	KindNode Kind = iota + 1
	KindLease
	KindPod
	KindService
	KindEndpointSlice
	KindEndpoints
	KindCluster
	KindControlPlaneLease
)

// Kinds returns the watched resources in the order of reports. KindControlPlaneLease is not among them: kubeflap is complete
// without it, so no alert, page or probe reports that it is not watched.
func Kinds() []Kind {
	return []Kind{KindNode, KindLease, KindPod, KindService, KindEndpointSlice, KindEndpoints}
}

// NumKinds is one more than the highest Kind, for arrays indexed by Kind.
const NumKinds = int(KindControlPlaneLease) + 1

// String returns the resource's name in the API and in the label `resource`.
func (k Kind) String() string { return textOf(kindTexts[:], k) }

// Type is what happened.
type Type uint8

// The types of Event. A list arrives as Listing, one Listed for each object, and Synced. If the list breaks off, it begins again
// with Listing. An object that was known before and is not in the list was deleted.
const (
	Added Type = iota + 1
	Modified
	Deleted
	// Bookmark: nothing changed and the watch works.
	Bookmark
	Listing
	Listed
	Synced
	// Up: the watch continues where it was. No event was lost in between.
	Up
	// Down: the watch broke.
	Down
	// Unavailable: the resource cannot be watched (absent or forbidden).
	Unavailable
	// Asking: kubeflap begins to read some Leases directly, because the watch has not shown a heartbeat for long.
	Asking
	// Read: a Lease as it is in etcd, read directly.
	Read
	// Answered: the API server answered. If there is no Reason, all Leases were read. Otherwise Reason says why not.
	Answered
	// Unanswered: neither the Leases nor /readyz were answered. Reason says why.
	Unanswered
)

// String returns the type's name in the label `type` and in recordings.
func (t Type) String() string { return textOf(typeTexts[:], t) }

// HasObject reports whether events of this type carry an object.
func (t Type) HasObject() bool {
	return t == Added || t == Modified || t == Deleted || t == Listed || t == Read
}

// Object is a slim object: *Node, *Lease, *Pod, *Service, *EndpointSlice, *Endpoints, *Cluster or *ControlPlaneLease.
type Object interface {
	// Kind returns the resource of the object.
	Kind() Kind
	// Metadata returns the object's identity.
	Metadata() *Meta
}

// New makes an empty object of a kind, nil if the kind is unknown.
func New(k Kind) Object {
	switch k {
	case KindNode:
		return &Node{}
	case KindLease:
		return &Lease{}
	case KindPod:
		return &Pod{}
	case KindService:
		return &Service{}
	case KindEndpointSlice:
		return &EndpointSlice{}
	case KindEndpoints:
		return &Endpoints{}
	case KindCluster:
		return &Cluster{}
	case KindControlPlaneLease:
		return &ControlPlaneLease{}
	}
	return nil
}
