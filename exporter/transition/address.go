package transition

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// Address identifies a Service address.
type Address struct {
	Service
	// ID identifies the address independently of its IP.
	ID event.UID
	IP netip.Addr
	// Pod is the pod that has the address. It is zero if kubeflap never saw this pod.
	Pod Pod
}

// Fields returns the names of the affected objects, for structured log lines.
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

// AddressAdded means that an address was added to the Service.
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
	// Removed reports whether the address left the Service. If false, the address is still listed but not ready.
	Removed bool
	Cause   cause.Cause
	// Steady reports whether the first writer of the addresses also removed this one, and the Service has no selector.
	Steady bool
	// Foreign reports whether a foreign address of a Service with a selector was removed. If the removal started an
	// outage, Foreign is set only if the Service had just lost its own addresses.
	Foreign bool
	// Managed reports whether a known manager removed its own address. The reason for such a removal is not visible in
	// this cluster.
	Managed bool
	// Announced describes how the removal of the pod's node was announced, such as "a cordon". It is set only if the
	// pod was deleted or evicted after the announcement.
	Announced string
	// Trigger identifies the API write that caused the loss. The number is the same in every kubeflap instance, and 0
	// if unknown.
	Trigger uint64
}

// Fields returns the names of the affected objects, for structured log lines.
func (x AddressLost) Fields() Fields {
	fields := x.Address.Fields()
	fields.Cause = x.Cause
	return fields
}

func (x AddressLost) String() string {
	if x.Foreign {
		return x.sentence(" removed: it was a foreign address of a Service with a selector")
	}
	if x.Removed {
		return x.sentence(" removed%s", causeSuffix(x.Cause))
	}
	return x.sentence(" is not ready%s", causeSuffix(x.Cause))
}

// AddressRemoved means that an address left the Service while it was not ready.
type AddressRemoved struct {
	At
	Address
}

func (x AddressRemoved) String() string { return x.sentence(" removed") }

// AddressBounced means that an address became ready again soon after it stopped being ready.
type AddressBounced struct {
	At
	Address
	// Away is the time for which the address was not ready. If AtMost is set, Away is only an upper limit, because a
	// watch was broken at the start or the end.
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

// AddressLeftOut means that an unready address is missing from a truncated Endpoints object. The address may still
// belong to the Service.
type AddressLeftOut struct {
	At
	Address
}

func (x AddressLeftOut) String() string {
	return x.sentence(" was left out of the truncated Endpoints")
}

// AddressFollowedPod means that an address became ready or unready after its pod.
type AddressFollowedPod struct {
	At
	Address
	Ready bool
	// Delay is the time since the pod's change, or 0 if kubeflap saw the address change first.
	Delay time.Duration
}

func (x AddressFollowedPod) String() string {
	return x.sentence(" turned %s %s after its pod", Readiness(x.Ready), round(x.Delay))
}

// Readiness returns the value of the label `to` for address readiness.
func Readiness(ready bool) string {
	if ready {
		return "ready"
	}
	return "not_ready"
}

// ConsumerBounced describes a hypothetical client that batches endpoint updates. The client would have restored an
// address and then removed it again.
type ConsumerBounced struct {
	At
	Address
	// Window is the time for which the client collects updates before it applies them.
	Window time.Duration
}

func (x ConsumerBounced) String() string {
	return fmt.Sprintf("%s: a client that batches updates for %s would have added an address and removed it again", x.Service, x.Window)
}

// ConsumerReaddedStale describes a hypothetical client that batches endpoint updates. During an in-place image change,
// the client would have added an address again before the new container was ready.
type ConsumerReaddedStale struct {
	At
	Address
	// Window is the time for which the client collects updates before it applies them.
	Window time.Duration
}

func (x ConsumerReaddedStale) String() string {
	return fmt.Sprintf("%s: a client that batches updates for %s would have added an address again while its container was being replaced", x.Service, x.Window)
}
