package evidence

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// sentence returns the entry as a sentence.
func (e *Entry) sentence() string {
	switch {
	case e.ofService():
		return e.serviceSentence()
	case e.Kind >= PodUpdated && e.Kind <= EvictedNotReady:
		return e.podSentence()
	case e.Kind >= APIServerStopped && e.Kind <= LeasesRead:
		return e.controlPlaneSentence()
	}
	switch e.Kind {
	case VerdictRevised:
		return "the verdict was revised " + e.Name
	case Stopped:
		return "kubeflap stopped watching"
	case WatchBroke:
		return "kubeflap's own watch of " + e.Name + " broke, so kubeflap missed all changes after that"
	case WatchWorks:
		return "kubeflap's watch of " + e.Name + " works again after " + phrase.Duration(e.Duration)
	}
	return e.nodeSentence()
}

func (e *Entry) nodeSentence() string {
	d := phrase.Duration(e.Duration)
	switch e.Kind {
	case LastHeartbeat:
		return e.nodes() + ": last heartbeat"
	case HeartbeatBefore, UnknownBefore, FoundLost:
		return e.nodes() + ": " + e.before()
	case ClockSetBack:
		return fmt.Sprintf("%s: clock set back by %s. The node controller ignores heartbeats until their timestamps exceed the last accepted timestamp", e.nodes(), d)
	case HeartbeatLate:
		return fmt.Sprintf("%s: no heartbeat for %s (half of the grace period)", e.nodes(), d)
	case HeartbeatMissed:
		return fmt.Sprintf("%s: no heartbeat for %s (the whole grace period)", e.nodes(), d)
	case NodeUnknown:
		s := e.nodes() + ": the node controller turned Ready from True to Unknown"
		if e.Duration > 0 {
			s += ", " + d + " after the last heartbeat"
		}
		return s
	case NodeNotReady:
		return e.nodes() + ": the kubelet itself reports Ready=False"
	case NodeNotMarked:
		return fmt.Sprintf("%s: no heartbeat for %s, but the node controller has not set Ready to Unknown", e.nodes(), d)
	case NodeWasUnknown:
		return e.nodes() + ": Ready turned Unknown and then True again while the watch was broken"
	case HeartbeatSeen:
		if e.Duration == 0 {
			return e.nodes() + ": heartbeats resumed"
		}
		return fmt.Sprintf("%s: heartbeats resumed after %s", e.nodes(), d)
	case HeartbeatsInTime:
		return fmt.Sprintf("%s: the heartbeats of the last %s were on time, but kubeflap's watch delivered them late", e.nodes(), d)
	case NodeReady:
		return fmt.Sprintf("%s: Ready again after %s", e.nodes(), d)
	case NodeRebooted:
		return e.nodes() + ": the machine was rebooted (it has a new bootID)"
	case KubeletUpgraded:
		return e.nodes() + ": the kubelet was upgraded (it reports a different version)"
	case NodeRemoved:
		return e.nodes() + ": the Node was deleted"
	case NodeRegistered:
		return e.nodes() + ": the Node was created again with the same bootID, so the machine was not rebooted"
	case NodeReplaced:
		return e.nodes() + ": the Node was created again with a different providerID, so it is a different machine"
	case NodeUnclear:
		return e.nodes() + ": the Node was created again with a new bootID, so the machine was rebooted or replaced"
	}
	return ""
}

// before returns the sentence for something that happened before kubeflap started.
func (e *Entry) before() string {
	switch e.Kind {
	case HeartbeatBefore:
		return "last heartbeat before kubeflap started (time from the node's own clock)"
	case UnknownBefore:
		return "the node controller had set Ready to Unknown before kubeflap started (time from the node controller's clock)"
	}
	return "already lost when kubeflap started"
}

func (e *Entry) controlPlaneSentence() string {
	switch e.Kind {
	case APIServerStopped:
		if e.count > 1 {
			return fmt.Sprintf("%d API servers (%s first): last Lease renewals before an interruption", e.count, e.Name)
		}
		return e.Name + ": last Lease renewal of this API server before an interruption"
	case LeaderLate:
		return e.Name + ": last Lease renewal of the leader before an interruption"
	case LeaderChanged:
		return transition.LeaderChanged{To: e.Name}.String()
	case LeasesRead:
		return phrase.Sentence(e.Name) + phrase.Times(e.count)
	}
	return ""
}

func (e *Entry) nodes() string {
	if e.count == 1 {
		return e.Name
	}
	return fmt.Sprintf("%d nodes (%s first)", e.count, e.Name)
}

func (e *Entry) podSentence() string {
	pods := "pod " + e.Name
	if e.count > 1 {
		pods = fmt.Sprintf("%d pods (%s first)", e.count, e.Name)
	}
	switch e.Kind {
	case EvictedUnknown:
		return pods + e.evicted("turned Unknown")
	case EvictedNotReady:
		return pods + e.evicted("reported Ready=False")
	case PodUpdated:
		return pods + ": image changed in place while Ready was still True"
	case PodRestarted:
		return pods + ": a container restarted and Ready stayed True"
	case PodWasStale:
		return fmt.Sprintf("%s: Ready stayed True for up to %s after the image changed or the container exited", pods, phrase.Duration(e.Duration))
	}
	return pods + ": Ready turned from True to False"
}

// UnknownToleration is the value of Number for an evicted pod whose tolerationSeconds are unknown.
const UnknownToleration = -1

func (e *Entry) evicted(turned string) string {
	s := fmt.Sprintf(": evicted %s after the node %s", phrase.Duration(e.Duration.Round(time.Second)), turned)
	if e.Number != UnknownToleration {
		s += fmt.Sprintf(" (tolerationSeconds %d)", e.Number)
	}
	return s
}

func (e *Entry) serviceSentence() string {
	s := e.Service.Namespace + "/" + e.Service.Name
	first := ""
	if e.Name != "" {
		first = " (" + e.Name + ")"
		if e.count > 1 {
			first = " (" + e.Name + " first)"
		}
	}
	switch e.Kind {
	case AddressLost:
		return fmt.Sprintf("%s lost %s%s", s, phrase.Count(e.count, "ready address", "ready addresses"), first)
	case StaleReadd:
		return fmt.Sprintf("%s: clients that applied the ready addresses would have put %s back%s before the container was replaced",
			s, phrase.Count(e.count, "address", "addresses"), first)
	case OutageStarted:
		return s + " has no ready address left" + phrase.Times(e.count)
	case AddressReturned:
		return fmt.Sprintf("%s: %s back in rotation", s, phrase.Count(e.count, "address is", "addresses are"))
	case AddressRemoved:
		return fmt.Sprintf("%s: %s removed%s", s, phrase.Count(e.count, "address that was not ready was", "addresses that were not ready were"), first)
	case AddressLeftOut:
		return fmt.Sprintf("%s: %s left out of its truncated Endpoints%s", s, phrase.Count(e.count, "address that was not ready is", "addresses that were not ready are"), first)
	case OutageEnded:
		about := ""
		if e.Inexact {
			about = "about "
		}
		return s + " has a ready address again, after " + about + phrase.Duration(e.Duration) + " without any" + phrase.Times(e.count)
	case ServiceRemoved:
		return s + " was deleted"
	}
	return e.writersSentence(s)
}

// writersSentence describes writes by clients other than the controllers, and the reactions of the controllers.
func (e *Entry) writersSentence(s string) string {
	switch e.Kind {
	case ForeignAddresses:
		return fmt.Sprintf("%s has a selector, but an unexpected writer added %s to %s%s",
			s, phrase.Count(e.Number, "address", "addresses"), e.Name, phrase.Times(e.count))
	case ForeignEnded:
		return s + ": no more addresses from an unexpected writer in " + e.Name + phrase.Times(e.count)
	case AddressesWithdrawn:
		return fmt.Sprintf("%s: %s removed from %s, but not by a controller%s",
			s, phrase.Count(e.Number, "ready pod address was", "ready pod addresses were"), e.Name, phrase.Times(e.count))
	case WithdrawnReturned:
		return s + ": no pod address is missing any more from " + e.Name + phrase.Times(e.count)
	case Contested:
		return s + ": " + e.Name + phrase.Times(e.count)
	case SelectorConflict:
		return fmt.Sprintf("%s has a selector and %s", s, phrase.Count(e.Number, "manually managed address", "manually managed addresses"))
	case SelectorConflictEnded:
		return s + ": the selector conflict is resolved"
	case EndpointsOverwritten:
		return s + " has a selector and empty Endpoints. Somebody had applied addresses, but they were overwritten before kubeflap saw them"
	case EndpointsReset:
		return fmt.Sprintf("%s: all manually managed addresses (%d) were removed%s", s, e.Number, phrase.Times(e.count))
	case EndpointsRewritten:
		return fmt.Sprintf("%s: %s back", s, phrase.Count(e.Number, "manually managed address is", "manually managed addresses are"))
	}
	return ""
}
