package track

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// FindingKind is what a Finding tells.
type FindingKind uint8

// The kinds of Finding. Where a field is not named, it is not set.
const (
	// HeartbeatSeen: Node sent a heartbeat, Duration after the one before.
	HeartbeatSeen FindingKind = iota + 1
	// HeartbeatLate: Node's heartbeat has been out for Duration, half the grace period.
	HeartbeatLate
	// HeartbeatMissed: Node's heartbeat has been out for Duration, the grace period.
	HeartbeatMissed
	// NodeReadyChanged: Node's Ready went From To; it had been From for Duration (for
	// longer, if not Complete); its last heartbeat was Heartbeat ago.
	NodeReadyChanged
	// NodeTurnedUnseen: Node's Ready was From, To and From again while the watch was broken.
	NodeTurnedUnseen
	// AddressAdded, AddressRemoved: an address came to (To is ready or not_ready) or left the Service.
	AddressAdded
	AddressRemoved
	// AddressReady, AddressNotReady: an address that stayed changed its readiness.
	// One that was ready before (From) it was removed or not ready was lost, for Cause.
	AddressReady
	AddressNotReady
	// AddressBounced: an address is ready again, Duration after it left rotation.
	AddressBounced
	// OutageStarted: the last ready address of the Service was lost, for Cause.
	OutageStarted
	// OutageEnded: the Service has a ready address again, after Duration without, for
	// Cause; Complete says that both were seen when they happened.
	OutageEnded
	// EndpointsReset: the hand-written addresses of the Service (Count) were
	// wiped; Selector tells whether it has a selector.
	EndpointsReset
	// SelectorConflict: the Service has a selector and hand-written addresses (Count).
	SelectorConflict
	// PodReadyChanged: Pod's Ready went From To, for Cause; of one that recovers the cause of what it recovers from.
	PodReadyChanged
	// PodReadyWasStale: Pod's Ready was True for Duration after its container was to be replaced, or had ended.
	PodReadyWasStale
	// AddressFollowedPod: an address turned To (ready, not_ready) Duration after its Pod did, 0 if it was seen before that.
	AddressFollowedPod
	// PodUpdatedInPlace: the image of a running Pod's container changed.
	PodUpdatedInPlace
	// PodRestartedSilently: a container of Pod restarted and Ready stayed True.
	PodRestartedSilently
	// EndpointsRewritten: what was wiped of a Service with a selector was written again (Count).
	EndpointsRewritten
	// AddressLeftOut: an address that was not ready is no more in Endpoints that are
	// truncated: whether it left the Service cannot be told.
	AddressLeftOut
	// SelectorConflictEnded: the Service has no selector any more, or no hand-written addresses.
	SelectorConflictEnded
	// NodeRemoved, ServiceRemoved: the object was deleted.
	NodeRemoved
	ServiceRemoved
	// ConsumerBounced: a consumer of the Service that gathers changes for Duration would have put an address back, and taken it
	// out again at Time.
	ConsumerBounced
	// WatchBroke, WatchWorks: the watch of Resource broke (Reason), works again (after Duration).
	WatchBroke
	WatchWorks
)

// Finding is one thing that the fold found out, when it happened.
type Finding struct {
	Time      time.Time
	Kind      FindingKind
	Node      string
	Namespace string
	Service   string
	Pod       string
	// Owner is the controller of Pod ("ReplicaSet/web-5d4"), empty if it has none.
	Owner string
	IP    netip.Addr
	// Address identifies the address, whatever its IP.
	Address  event.UID
	From, To string
	Duration time.Duration
	// Cause is CauseUnknown where there is none to tell, too.
	Cause     Cause
	Complete  bool
	Heartbeat time.Duration
	Count     int
	Selector  bool
	Resource  event.Kind
	Reason    event.Reason
	// Trigger identifies the write in the cluster that a loss began with: the same for everybody who watches it, 0 if
	// that is not known.
	Trigger uint64
	// Renewed is the last renewTime of a Node that is lost, by its own clock; zero if it has no Lease.
	Renewed time.Time
}

// String is the finding in one line, without its time.
func (x Finding) String() string {
	switch x.Kind {
	case HeartbeatSeen:
		return fmt.Sprintf("node %s: heartbeat after %s", x.Node, round(x.Duration))
	case HeartbeatLate:
		return fmt.Sprintf("node %s: no heartbeat for %s, half of the grace period", x.Node, round(x.Duration))
	case HeartbeatMissed:
		return fmt.Sprintf("node %s: no heartbeat for %s, the whole grace period", x.Node, round(x.Duration))
	case NodeReadyChanged:
		return x.nodeReadyChanged()
	case NodeTurnedUnseen:
		return fmt.Sprintf("node %s: Ready left %s and came back while the watch was broken", x.Node, x.From)
	case PodReadyChanged:
		if x.To == event.StatusTrue.String() {
			return fmt.Sprintf("pod %s/%s: Ready again after %s", x.Namespace, x.Pod, x.Cause)
		}
		return fmt.Sprintf("pod %s/%s: Ready %s -> %s%s", x.Namespace, x.Pod, x.From, x.To, x.because())
	case PodReadyWasStale:
		return fmt.Sprintf("pod %s/%s: Ready was True for %s after its container was replaced or ended", x.Namespace, x.Pod, round(x.Duration))
	case PodUpdatedInPlace:
		return fmt.Sprintf("pod %s/%s: image changed in place", x.Namespace, x.Pod)
	case PodRestartedSilently:
		return fmt.Sprintf("pod %s/%s: a container restarted and the pod stayed Ready", x.Namespace, x.Pod)
	case NodeRemoved:
		return fmt.Sprintf("node %s: removed", x.Node)
	case WatchBroke:
		return fmt.Sprintf("watch of %s broke (%s): what happens now is not seen", x.Resource, x.Reason)
	case WatchWorks:
		return fmt.Sprintf("watch of %s works again, blind for %s", x.Resource, round(x.Duration))
	}
	return fmt.Sprintf("service %s/%s: %s", x.Namespace, x.Service, x.ofService())
}

func (x Finding) nodeReadyChanged() string {
	least := ""
	if !x.Complete {
		least = "at least "
	}
	s := fmt.Sprintf("node %s: Ready %s -> %s after %s%s", x.Node, x.From, x.To, least, round(x.Duration))
	if x.To != event.StatusTrue.String() && x.Heartbeat > 0 {
		s += fmt.Sprintf(", last heartbeat %s ago", round(x.Heartbeat))
	}
	return s
}

func (x Finding) ofService() string {
	switch x.Kind {
	case AddressAdded:
		return x.address() + " added"
	case AddressRemoved:
		return x.address() + " removed" + x.because()
	case AddressReady:
		return x.address() + " is ready"
	case AddressNotReady:
		return x.address() + " is not ready" + x.because()
	case AddressBounced:
		return fmt.Sprintf("%s is back in rotation after %s", x.address(), round(x.Duration))
	case OutageStarted:
		return "no ready address left" + x.because()
	case OutageEnded:
		return fmt.Sprintf("has a ready address again after %s without any%s", round(x.Duration), x.because())
	case ConsumerBounced:
		return fmt.Sprintf("a consumer that gathers changes for %s would have put %s back and taken it out again", x.Duration, x.address())
	case AddressFollowedPod:
		return fmt.Sprintf("%s turned %s %s after its pod", x.address(), x.To, round(x.Duration))
	case EndpointsReset:
		if x.Selector {
			return fmt.Sprintf("hand-written addresses wiped (%d): the Service has a selector that matches no pod; remove the selector", x.Count)
		}
		return fmt.Sprintf("hand-written addresses wiped (%d)", x.Count)
	case SelectorConflict:
		return fmt.Sprintf("hand-written addresses (%d) and a selector: the endpoints controller will wipe them", x.Count)
	case EndpointsRewritten:
		return fmt.Sprintf("hand-written addresses (%d) are there again: the endpoints controller will wipe them again", x.Count)
	case AddressLeftOut:
		return x.address() + " is left out of truncated Endpoints"
	case SelectorConflictEnded:
		return "selector and hand-written addresses are in conflict no more"
	case ServiceRemoved:
		return "removed"
	}
	return fmt.Sprintf("finding %d", x.Kind)
}

func (x Finding) because() string {
	if x.Cause == CauseUnknown {
		return ""
	}
	return ": " + x.Cause.String()
}

func (x Finding) address() string {
	s := "address"
	if x.IP.IsValid() {
		s += " " + x.IP.String()
	}
	if x.Pod != "" {
		s += " (pod " + x.Pod + ")"
	}
	return s
}

// round leaves three digits or so: nobody reads more in a line.
func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
