package transition

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// Service names a Service.
type Service struct{ Namespace, Name string }

// Fields returns the names for a structured log line.
func (s Service) Fields() Fields { return Fields{Namespace: s.Namespace, Service: s.Name} }

func (s Service) String() string { return "service " + s.Namespace + "/" + s.Name }

// OutageStarted means that the Service lost its last ready address.
type OutageStarted struct {
	At
	Service
	Cause   cause.Cause
	Trigger uint64
}

// Fields returns the names for a structured log line.
func (x OutageStarted) Fields() Fields {
	fields := x.Service.Fields()
	fields.Cause = x.Cause
	return fields
}

func (x OutageStarted) String() string {
	return x.Service.String() + ": no ready address left" + because(x.Cause)
}

// OutageEnded means that the Service has a ready address again.
type OutageEnded struct {
	At
	Service
	// Lasted is the time without a ready address, more or less if not Complete.
	Lasted time.Duration
	Cause  cause.Cause
	// Complete: both ends were seen when they happened.
	Complete bool
}

// Fields returns the names for a structured log line.
func (x OutageEnded) Fields() Fields {
	fields := x.Service.Fields()
	fields.Cause = x.Cause
	return fields
}

func (x OutageEnded) String() string {
	about := "about "
	if x.Complete {
		about = ""
	}
	return fmt.Sprintf("%s: has a ready address again after %s%s without any%s", x.Service, about, round(x.Lasted), because(x.Cause))
}

// EndpointsReset means that all manually managed addresses of the Service were removed.
type EndpointsReset struct {
	At
	Service
	Count int
	// BySelector: the endpoints controller did it, because the Service has a selector.
	BySelector bool
	Trigger    uint64
}

func (x EndpointsReset) String() string {
	s := fmt.Sprintf("%s: manually managed addresses removed (%d)", x.Service, x.Count)
	if x.BySelector {
		s += ": the Service has a selector that matches no pod; remove the selector"
	}
	return s
}

// EndpointsRewritten means that the addresses that were removed from a Service with a selector are there again.
type EndpointsRewritten struct {
	At
	Service
	Count int
}

func (x EndpointsRewritten) String() string {
	return fmt.Sprintf("%s: manually managed addresses are back (%d): the endpoints controller will remove them again", x.Service, x.Count)
}

// SelectorConflict means that the Service has a selector and manually managed addresses, or had them before kubeflap looked.
type SelectorConflict struct {
	At
	Service
	Count int
	// Overwritten: the controller had removed the addresses before kubeflap looked.
	Overwritten bool
	Trigger     uint64
}

func (x SelectorConflict) String() string {
	if x.Overwritten {
		return x.Service.String() + ": manually managed addresses were overwritten before kubeflap looked: the Service has a selector that matches no pod"
	}
	return fmt.Sprintf("%s: manually managed addresses (%d) and a selector: the endpoints controller will remove them", x.Service, x.Count)
}

// SelectorConflictEnded means that the Service has no selector any more, or no manually managed addresses.
type SelectorConflictEnded struct {
	At
	Service
}

func (x SelectorConflictEnded) String() string {
	return x.Service.String() + ": the selector conflict is resolved"
}

// ForeignAddresses means that an object has addresses beside the selector of the Service, and neither the controllers of Kubernetes nor a
// known manager wrote them.
type ForeignAddresses struct {
	At
	Service
	// Object is the slice or the Endpoints, and who manages or wrote it.
	Object string
	Count  int
	// Ready counts those that get traffic.
	Ready   int
	Trigger uint64
}

func (x ForeignAddresses) String() string {
	return fmt.Sprintf("%s: foreign addresses (%d, %d of them ready) beside the selector, in %s", x.Service, x.Count, x.Ready, x.Object)
}

// ForeignAddressesEnded means that the object has no addresses any more that are foreign, or that the Service has no selector any more.
type ForeignAddressesEnded struct {
	At
	Service
	Object string
}

func (x ForeignAddressesEnded) String() string {
	return fmt.Sprintf("%s: no foreign addresses any more in %s", x.Service, x.Object)
}

// AddressesWithdrawn means that somebody took ready addresses of pods out of Endpoints that a controller keeps.
type AddressesWithdrawn struct {
	At
	Service
	// Object is the Endpoints, and who wrote them.
	Object  string
	Count   int
	Trigger uint64
}

func (x AddressesWithdrawn) String() string {
	return fmt.Sprintf("%s: ready addresses of pods (%d) taken out of %s, by no controller", x.Service, x.Count, x.Object)
}

// WithdrawnAddressesReturned means that the Endpoints have all addresses again that somebody had taken out, or are gone, or that the Service has no
// selector any more.
type WithdrawnAddressesReturned struct {
	At
	Service
	Object string
}

func (x WithdrawnAddressesReturned) String() string {
	return fmt.Sprintf("%s: no addresses are missing any more in %s", x.Service, x.Object)
}

// AddressesContested means that two writers undo each other's changes of the addresses of a Service without a selector.
type AddressesContested struct {
	At
	Service
	// Object is the slice or the Endpoints. Writers are their field managers, sorted.
	Object  string
	Writers [2]string
	Trigger uint64
}

func (x AddressesContested) String() string {
	return fmt.Sprintf("%s: %s and %s undo each other's changes of %s", x.Service, x.Writers[0], x.Writers[1], x.Object)
}

// ServiceRemoved means that the Service was deleted.
type ServiceRemoved struct {
	At
	Service
}

func (x ServiceRemoved) String() string { return x.Service.String() + ": removed" }
