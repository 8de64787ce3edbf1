// Package event holds what kubeflap knows of a cluster at one moment: an Event
// says that an object appeared, changed or went, or that a watch broke, and when
// that was seen. The objects are slim: only what readiness and its causes need.
package event

import "time"

// Event is one thing that happened on the watch of one resource.
type Event struct {
	// Seen is when kubeflap received it, by kubeflap's own clock.
	Seen time.Time
	Kind Kind
	Type Type
	// Object is the state after the event, for Deleted the last state. It is nil
	// for the types that speak of a watch and not of an object.
	Object Object
	// Reason says why a watch is Down or Unavailable, or a direct read failed.
	Reason Reason
}

// Kind is a watched resource, or the cluster itself.
type Kind uint8

// The watched resources. Cluster is no resource: its one object says what the
// API server is.
const (
	KindNode Kind = iota + 1
	KindLease
	KindPod
	KindService
	KindEndpointSlice
	KindEndpoints
	KindCluster
)

// Kinds lists the watched resources, in the order in which they are reported.
func Kinds() []Kind {
	return []Kind{KindNode, KindLease, KindPod, KindService, KindEndpointSlice, KindEndpoints}
}

// NumKinds is one more than the highest Kind, for arrays indexed by Kind.
const NumKinds = int(KindCluster) + 1

// String is the resource's name in the API and in the label `resource`.
func (k Kind) String() string { return textOf(kindTexts[:], k) }

// Type is what happened.
type Type uint8

// The types of Event. A list arrives as Listing, one Listed for each object (if it breaks off it begins anew), and
// Synced; what an earlier list or watch had shown and this list has not, is gone.
const (
	Added Type = iota + 1
	Modified
	Deleted
	// Bookmark: nothing changed and the watch works.
	Bookmark
	Listing
	Listed
	Synced
	// Up: the watch goes on from where it was; nothing was lost in between.
	Up
	// Down: the watch broke.
	Down
	// Unavailable: the resource cannot be watched (absent or forbidden).
	Unavailable
	// Asking: kubeflap begins to read some Leases directly, because the watch has shown no heartbeat for long.
	Asking
	// Read: a Lease as the API server has it now, read from etcd and not from the watch.
	Read
	// Answered: the API server answered. Without a Reason all Leases were read; else they could not be, and that is why.
	Answered
	// Unanswered: nothing answered, neither for the Leases nor for /readyz. Reason says why.
	Unanswered
)

// String is the type's name in the label `type` and in recordings.
func (t Type) String() string { return textOf(typeTexts[:], t) }

// HasObject reports whether events of this type carry an object.
func (t Type) HasObject() bool {
	return t == Added || t == Modified || t == Deleted || t == Listed || t == Read
}

// Object is a slim object: *Node, *Lease, *Pod, *Service, *EndpointSlice,
// *Endpoints or *Cluster.
type Object interface {
	// Kind is the resource that the object is of.
	Kind() Kind
	// Metadata is the object's identity.
	Metadata() *Meta
}

// New makes an empty object of a kind, to be decoded into; nil if there is no such kind.
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
	}
	return nil
}
