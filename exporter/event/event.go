// Package event defines the events that kubeflap receives from a cluster. An Event reports that an object was added,
// changed or deleted, or that the state of a watch changed. The objects are slim: they contain only the fields that
// explain readiness.
package event

import "time"

// Event is an event of a watch, or a step of a direct read of Leases (see DirectReadStarted).
type Event struct {
	// Seen is the time at which kubeflap received the event, by its own clock.
	Seen time.Time
	Kind Kind
	Type Type
	// Object is the object's state after the event, or its last state if it was deleted. It is nil if Type.HasObject
	// returns false.
	Object Object
	// Reason is the reason why a watch is Down or Unavailable, or why a direct read failed.
	Reason Reason
	// Earliest is set if the event is inferred: the object was deleted while the watch was broken, and a later list
	// revealed this (see exporter/track/vanished.go). The object was deleted between Earliest and Seen. The fields of Object
	// that do not identify it are empty.
	Earliest time.Time
}

// IsInferred reports whether the event does not come from the API server.
func (e *Event) IsInferred() bool { return !e.Earliest.IsZero() }

// Kind is a watched resource, or the cluster itself.
type Kind uint8

// The watched resources. KindCluster is not a resource, but stands for the API server. KindControlPlaneLease stands for
// the Leases of the control plane in the namespace kube-system.
const (
	KindNode Kind = iota + 1
	KindLease
	KindPod
	KindService
	KindEndpointSlice
	KindEndpoints
	KindCluster
	KindControlPlaneLease
	KindDeployment
	KindStatefulSet
)

// Kinds returns the required resources, in the order in which kubeflap reports them. Alerts, web pages and readiness
// probes depend only on these.
func Kinds() []Kind {
	return []Kind{KindNode, KindLease, KindPod, KindService, KindEndpointSlice, KindEndpoints}
}

// OptionalKinds returns the resources that kubeflap can work without. What they would show is then unknown.
func OptionalKinds() []Kind { return []Kind{KindControlPlaneLease, KindDeployment, KindStatefulSet} }

// IsOptional reports whether kubeflap can work without the resource.
func (k Kind) IsOptional() bool { return k >= KindControlPlaneLease }

// NumKinds is the length of arrays that are indexed by Kind.
const NumKinds = int(KindStatefulSet) + 1

// String returns the resource's name in the API and in the label `resource`.
func (k Kind) String() string { return textOf(kindTexts[:], k) }

// Type is the type of an Event. Events report changes to an object, steps of a list, steps of a direct read, and
// changes of the watch itself.
type Type uint8

// The types of Event. A list begins with Listing, continues with one Listed for each object, and ends with Synced. An
// interrupted list starts again with Listing. If a known object is missing from a complete list, it was deleted. The
// tracker then infers a Deleted event.
const (
	Added Type = iota + 1
	Modified
	Deleted
	// Bookmark means that nothing changed and the watch works.
	Bookmark
	Listing
	Listed
	Synced
	// Up means that the watch works again and has lost no events.
	Up
	// Down means that the watch broke.
	Down
	// Unavailable means that the resource cannot be watched, because it is absent or forbidden.
	Unavailable
	// DirectReadStarted means that kubeflap starts to read some Leases directly, because the watch has delivered no
	// heartbeat for a long time.
	DirectReadStarted
	// DirectReadLease carries a Lease from a direct read. The API server answers a direct read from etcd, not from its
	// watch cache.
	DirectReadLease
	// DirectReadAnswered means that the API server answered a direct read. Reason is the error, or empty if all Leases
	// were read.
	DirectReadAnswered
	// DirectReadUnanswered means that the API server answered neither the Lease requests nor /readyz. Reason is the
	// error.
	DirectReadUnanswered
)

// String returns the type's name in the label `type` and in recordings.
func (t Type) String() string { return textOf(typeTexts[:], t) }

// HasObject reports whether events of this type carry an object.
func (t Type) HasObject() bool {
	return t == Added || t == Modified || t == Deleted || t == Listed || t == DirectReadLease
}

// Object is a slim object: *Node, *Lease, *Pod, *Service, *EndpointSlice, *Endpoints, *Cluster, *ControlPlaneLease or
// *Workload.
type Object interface {
	// Kind returns the resource of the object.
	Kind() Kind
	// Metadata returns the object's identity.
	Metadata() *Meta
}

var empty = [NumKinds]func() Object{
	KindNode:              func() Object { return &Node{} },
	KindLease:             func() Object { return &Lease{} },
	KindPod:               func() Object { return &Pod{} },
	KindService:           func() Object { return &Service{} },
	KindEndpointSlice:     func() Object { return &EndpointSlice{} },
	KindEndpoints:         func() Object { return &Endpoints{} },
	KindCluster:           func() Object { return &Cluster{} },
	KindControlPlaneLease: func() Object { return &ControlPlaneLease{} },
	KindDeployment:        func() Object { return &Workload{Resource: KindDeployment} },
	KindStatefulSet:       func() Object { return &Workload{Resource: KindStatefulSet} },
}

// New returns an empty object of the given kind, or nil if the kind is unknown.
func New(k Kind) Object {
	if int(k) >= NumKinds || empty[k] == nil {
		return nil
	}
	return empty[k]()
}
