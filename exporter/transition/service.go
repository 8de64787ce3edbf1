package transition

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// Service identifies a Service.
type Service struct{ Namespace, Name string }

// Fields returns the names of the affected objects, for structured log lines.
func (s Service) Fields() Fields { return Fields{Namespace: s.Namespace, Service: s.Name} }

func (s Service) says(format string, args ...any) string {
	return "service " + s.Namespace + "/" + s.Name + ": " + fmt.Sprintf(format, args...)
}

// OutageStarted means that the Service lost its last ready address.
type OutageStarted struct {
	At
	Service
	Cause   cause.Cause
	Trigger uint64
	// Class is the class of the outage so far.
	Class cause.Class
}

func (x OutageStarted) String() string { return x.says("no ready address left") + causeSuffix(x.Cause) }

// OutageEnded means that the Service has a ready address again.
type OutageEnded struct {
	At
	Service
	// Lasted is the time without a ready address, as kubeflap saw it.
	Lasted time.Duration
	Cause  cause.Cause
	Class  cause.Class
	// AtLeast and AtMost are the limits of this time if a watch was broken at the start or at the end. Otherwise, they
	// equal Lasted.
	AtLeast, AtMost time.Duration
}

func (x OutageEnded) String() string {
	lasted := round(x.Lasted).String()
	switch {
	case x.AtLeast == x.AtMost:
	case x.AtLeast == 0:
		lasted = "at most " + round(x.AtMost).String()
	default:
		lasted = fmt.Sprintf("%s to %s", round(x.AtLeast), round(x.AtMost))
	}
	return x.says("has a ready address again after %s without any%s", lasted, causeSuffix(x.Cause))
}

// EndpointsReset means that all manually managed addresses of the Service were removed.
type EndpointsReset struct {
	At
	Service
	Count int
	// BySelector is set if the endpoints controller removed the addresses because the Service has a selector.
	BySelector bool
	Trigger    uint64
}

func (x EndpointsReset) String() string {
	s := x.says("manually managed addresses removed (%d)", x.Count)
	if x.BySelector {
		s += ": the Service has a selector that matches no pod; remove the selector"
	}
	return s
}

// EndpointsRewritten means that manually managed addresses are back after their removal, although the Service has a
// selector.
type EndpointsRewritten struct {
	At
	Service
	Count int
}

func (x EndpointsRewritten) String() string {
	return x.says("manually managed addresses are back (%d): the endpoints controller will remove them again", x.Count)
}

// SelectorConflict means that the Service has both a selector and manually managed addresses, or had both before
// kubeflap started.
type SelectorConflict struct {
	At
	Service
	Count int
	// Overwritten is set if the endpoints controller had removed the addresses before kubeflap started.
	Overwritten bool
	Trigger     uint64
}

func (x SelectorConflict) String() string {
	if x.Overwritten {
		return x.says("manually managed addresses were overwritten before kubeflap saw them, because the Service has a selector that matches no pod")
	}
	return x.says("has a selector and manually managed addresses (%d), which the endpoints controller will remove", x.Count)
}

// SelectorConflictEnded means that the Service no longer has a selector, or no longer has manually managed addresses.
type SelectorConflictEnded struct {
	At
	Service
}

func (x SelectorConflictEnded) String() string { return x.says("the selector conflict is resolved") }

// ForeignAddresses means that a Service with a selector has foreign addresses. These are addresses that neither a
// Kubernetes controller nor a known manager of EndpointSlices wrote. Or it means that addresses were withdrawn.
type ForeignAddresses struct {
	At
	Service
	// Withdrawn is set if somebody has removed ready pod addresses from an Endpoints object that a controller manages.
	Withdrawn bool
	// Object describes the EndpointSlice or Endpoints object. It also names the manager or writer of this object.
	Object string
	Count  int
	// Ready is the number of foreign addresses that receive traffic.
	Ready   int
	Trigger uint64
}

func (x ForeignAddresses) String() string {
	if x.Withdrawn {
		return x.says("%d ready pod addresses were removed from %s, but not by a controller", x.Count, x.Object)
	}
	return x.says("has a selector, and %d foreign addresses (%d ready) in %s", x.Count, x.Ready, x.Object)
}

// ForeignAddressesEnded means that the EndpointSlice or Endpoints object no longer has foreign addresses or lacks withdrawn
// ones, that it was deleted, or that the Service no longer has a selector.
type ForeignAddressesEnded struct {
	At
	Service
	Withdrawn bool
	Object    string
}

func (x ForeignAddressesEnded) String() string {
	if x.Withdrawn {
		return x.says("the missing addresses are back in %s", x.Object)
	}
	return x.says("no more foreign addresses in %s", x.Object)
}

// ServiceRemoved means that the Service was deleted.
type ServiceRemoved struct {
	At
	Service
	// Earliest is the earliest possible time of the deletion.
	Earliest time.Time
}

func (x ServiceRemoved) String() string { return x.says("removed") }
