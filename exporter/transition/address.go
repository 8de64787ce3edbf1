package transition

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// Address names an address of a Service.
type Address struct {
	Service
	// ID identifies the address, whatever its IP is.
	ID event.UID
	IP netip.Addr
	// Pod is the pod behind it; zero if that was never seen.
	Pod Pod
}

// Fields returns the names for a structured log line.
func (a Address) Fields() Fields {
	return Fields{Namespace: a.Namespace, Service: a.Name, Pod: a.Pod.Name, Node: a.Pod.Node, IP: a.IP}
}

func (a Address) sentence(format string, args ...any) string {
	s := a.Service.String() + ": address"
	if a.IP.IsValid() {
		s += " " + a.IP.String()
	}
	if a.Pod.Name != "" {
		s += " (pod " + a.Pod.Name + ")"
	}
	return s + fmt.Sprintf(format, args...)
}

// AddressAdded means that an address came to the Service.
type AddressAdded struct {
	At
	Address
	Ready bool
}

func (x AddressAdded) String() string { return x.sentence(" added") }

// AddressReady means that an address of the Service became ready.
type AddressReady struct {
	At
	Address
}

func (x AddressReady) String() string { return x.sentence(" is ready") }

// AddressLost means that the Service lost a ready address.
type AddressLost struct {
	At
	Address
	// Removed: the address left the Service; else it stays and is not ready.
	Removed bool
	Cause   cause.Cause
	// Steady: the Service has no selector, and the only writer of its addresses took this one away.
	Steady bool
	// Foreign: it was foreign beside the selector and was removed, and the Service keeps its own addresses, or lost them just before.
	Foreign bool
	// Announced is what announced the departure of the pod's node, if the pod was deleted or evicted before the node left; else empty.
	Announced string
	// Trigger identifies the write in the cluster that the loss began with: the same for every watcher, 0 if it is not known.
	Trigger uint64
}

// Fields returns the names for a structured log line.
func (x AddressLost) Fields() Fields {
	fields := x.Address.Fields()
	fields.Cause = x.Cause
	return fields
}

func (x AddressLost) String() string {
	if x.Foreign {
		return x.sentence(" removed: it was foreign beside the selector")
	}
	if x.Removed {
		return x.sentence(" removed%s", because(x.Cause))
	}
	return x.sentence(" is not ready%s", because(x.Cause))
}

// AddressRemoved means that an address that was not ready left the Service.
type AddressRemoved struct {
	At
	Address
}

func (x AddressRemoved) String() string { return x.sentence(" removed") }

// AddressBounced means that an address is ready again soon after the Service lost it.
type AddressBounced struct {
	At
	Address
	// Away is the time since it was lost, or less if AtMost: a watch was broken when it was lost, or when it came back.
	Away   time.Duration
	AtMost bool
}

func (x AddressBounced) String() string {
	most := ""
	if x.AtMost {
		most = "at most "
	}
	return x.sentence(" is back in rotation after %s%s", most, round(x.Away))
}

// AddressLeftOut means that truncated Endpoints no longer show an address that was not ready: it may
// have left the Service or not.
type AddressLeftOut struct {
	At
	Address
}

func (x AddressLeftOut) String() string {
	return x.sentence(" is not in the Endpoints any more, which leave addresses out")
}

// AddressFollowedPod means that an address changed its readiness after its pod did.
type AddressFollowedPod struct {
	At
	Address
	Ready bool
	// Delay is the time since the pod's change, 0 if the address was seen to change first.
	Delay time.Duration
}

func (x AddressFollowedPod) String() string {
	return x.sentence(" turned %s %s after its pod", Readiness(x.Ready), round(x.Delay))
}

// Readiness is the value of the label `to` of an address.
func Readiness(ready bool) string {
	if ready {
		return "ready"
	}
	return "not_ready"
}

// ConsumerBounced means that a consumer that batches endpoint updates would have put an address back and taken it out again.
type ConsumerBounced struct {
	At
	Address
	// Window is for how long the consumer collects updates before it applies them.
	Window time.Duration
}

func (x ConsumerBounced) String() string {
	return fmt.Sprintf("%s: a consumer that batches changes for %s would have put an address back and taken it out again", x.Service, x.Window)
}

// ConsumerReaddedStale means that a consumer that batches endpoint updates would have put an address back although its container was
// about to be replaced, or gone. An image was changed in place, and the pod has not been Ready with a new container since.
type ConsumerReaddedStale struct {
	At
	Address
	// Window is for how long the consumer collects updates before it applies them.
	Window time.Duration
}

func (x ConsumerReaddedStale) String() string {
	return fmt.Sprintf("%s: a consumer that batches changes for %s would have put an address back whose container is being replaced", x.Service, x.Window)
}
