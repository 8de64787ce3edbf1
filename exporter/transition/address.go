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

func (a Address) says(format string, args ...any) string {
	s := "address "
	if a.IP.IsValid() {
		s += a.IP.String() + " "
	}
	if a.Pod.Name != "" {
		s += "(pod " + a.Pod.Name + ") "
	}
	return a.Service.says("%s%s", s, fmt.Sprintf(format, args...))
}

// AddressAdded means that an address was added to the Service.
type AddressAdded struct {
	At
	Address
	Ready bool
	// Away is how long the address was not ready, if it was ready shortly before. Otherwise, or if the time is not exact, Away
	// is 0.
	Away time.Duration
}

func (x AddressAdded) String() string { return x.back(x.Away, "added") }

// AddressReady means that an address of the Service became ready.
type AddressReady struct {
	At
	Address
	// Away has the same meaning as in AddressAdded.
	Away time.Duration
}

func (x AddressReady) String() string { return x.back(x.Away, "is ready") }

func (a Address) back(away time.Duration, otherwise string) string {
	if away == 0 {
		return a.says("%s", otherwise)
	}
	return a.says("is back in rotation after %s", round(away))
}

// AddressLost means that the Service lost a ready address.
type AddressLost struct {
	At
	Address
	// Removed is set if the address was removed from the Service. Otherwise, the Service still has the address, but the
	// address is not ready.
	Removed bool
	Cause   cause.Cause
	// Steady is set if the Service has no selector, and the field manager that first wrote its addresses also removed
	// this address.
	Steady bool
	// Relabelled is set if the selector no longer matched the pod, because the labels of the pod were changed. The cause is
	// then ServiceChanged.
	Relabelled bool
	// Foreign is set if the address was removed and was a foreign address (see ForeignAddresses). If the removal
	// started an outage, Foreign is set only if the Service had lost its own addresses shortly before.
	Foreign bool
	// Managed is set if a known manager of EndpointSlices, such as Cilium, removed one of its own addresses. The reason
	// for such a removal is not visible in this cluster.
	Managed bool
	// Vanished is set if the address's pod, or the object that contained the address, was deleted while kubeflap did not
	// watch. Cause is then Unknown.
	Vanished bool
	// Announced describes how the removal of the pod's node was announced, such as "a cordon". It is set only if the
	// pod was deleted or evicted after the announcement, or vanished.
	Announced string
	// Why quotes what the API says about the cause, such as the exit of a container or the reason of an eviction.
	Why string
	// Losses is set if the pods are replaced again and again: a rollout replaces each pod only once. It is then the number of
	// addresses that the Service lost within 10 minutes because pods were deleted, evicted or completed. `Of` is the highest
	// number of ready addresses in this time.
	Losses, Of int
	// Trigger identifies the API write that caused the loss. The number is the same in every kubeflap instance, and 0
	// if unknown.
	Trigger uint64
}

func (x AddressLost) String() string {
	if x.Foreign {
		return x.says("removed: it was a foreign address of a Service with a selector")
	}
	if x.Removed {
		return x.says("removed%s%s", causeSuffix(x.Cause), parenthesis(x.Why))
	}
	return x.says("is not ready%s%s", causeSuffix(x.Cause), parenthesis(x.Why))
}

// AddressRemoved means that an unready address was removed from the Service.
type AddressRemoved struct {
	At
	Address
}

func (x AddressRemoved) String() string { return x.says("removed") }

// AddressFollowedPod means that the readiness of an address changed because the readiness of its pod changed.
type AddressFollowedPod struct {
	At
	Address
	Ready bool
	// Delay is the time from the pod's change to the address's change, or 0 if kubeflap saw the address's change first.
	Delay time.Duration
}

func (x AddressFollowedPod) String() string {
	return x.says("turned %s %s after its pod", Readiness(x.Ready), round(x.Delay))
}

// Readiness returns the value of the `to` label for a ready or unready address.
func Readiness(ready bool) string {
	if ready {
		return "ready"
	}
	return "not_ready"
}

// NumWindows is the number of batching windows.
const NumWindows = 4

// Windows returns the batching windows of the clients that kubeflap simulates. A client collects changes for the length of
// its window before it applies them. With a window of 0, it applies each change immediately.
func Windows() [NumWindows]time.Duration {
	return [...]time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second}
}

// ConsumerMistake means that a hypothetical client that batches endpoint updates would have added an address and then
// removed it again.
type ConsumerMistake struct {
	At
	Address
	// Window is how long the client collects updates before it applies them.
	Window time.Duration
	// Stale is set if the client would have added the address too early: during an in-place image change, before the new
	// container was ready. Whether it then removes the address is not known yet.
	Stale bool
}

func (x ConsumerMistake) String() string {
	if x.Stale {
		return x.Service.says("a client that batches updates for %s would have added an address again while its container was being replaced", x.Window)
	}
	return x.Service.says("a client that batches updates for %s would have added an address and removed it again", x.Window)
}
