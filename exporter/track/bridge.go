package track

import (
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Cause is an alias until the tracker is split.
type Cause = cause.Cause

// The causes, until the tracker is split.
const (
	CauseUnknown           = cause.Unknown
	CauseNodeHeartbeatLost = cause.NodeHeartbeatLost
	CauseNodeNotReady      = cause.NodeNotReady
	CauseKubeletRestart    = cause.KubeletRestart
	CauseProbeFailed       = cause.ProbeFailed
	CauseContainerExit     = cause.ContainerExit
	CauseInPlaceUpdate     = cause.InPlaceUpdate
	CauseReadinessGate     = cause.ReadinessGate
	CausePodDeleted        = cause.PodDeleted
	CausePodEvicted        = cause.PodEvicted
	CausePodCompleted      = cause.PodCompleted
	CauseEndpointsReset    = cause.EndpointsReset
	CauseManualWrite       = cause.ManualWrite
	CauseServiceChanged    = cause.ServiceChanged
	numCauses              = cause.Count
)

func Causes() []Cause { return cause.All() }

func statusNamed(s string) event.Status {
	for _, x := range []event.Status{event.StatusUnknown, event.StatusTrue, event.StatusFalse} {
		if x.String() == s {
			return x
		}
	}
	return event.StatusUnknown
}

func transitionOf(x Finding) transition.Transition {
	at := transition.At{Time: x.Time}
	service := transition.Service{Namespace: x.Namespace, Name: x.Service}
	pod := transition.Pod{Namespace: x.Namespace, Name: x.Pod, Node: x.Node, Owner: x.Owner}
	address := transition.Address{Service: service, ID: x.Address, IP: x.IP, Pod: pod}
	loss := transition.NodeLoss{Trigger: x.Trigger, Renewed: x.Renewed}
	switch x.Kind {
	case HeartbeatSeen:
		return transition.HeartbeatSeen{At: at, Node: x.Node, Interval: x.Duration}
	case HeartbeatLate:
		return transition.HeartbeatLate{At: at, Node: x.Node, Silence: x.Duration}
	case HeartbeatMissed:
		return transition.HeartbeatMissed{At: at, Node: x.Node, Silence: x.Duration, Loss: loss}
	case NodeReadyChanged:
		return transition.NodeReadyChanged{At: at, Node: x.Node, From: statusNamed(x.From), To: statusNamed(x.To), Lasted: x.Duration, Complete: x.Complete, Silence: x.Heartbeat, Loss: loss}
	case NodeTurnedUnseen:
		return transition.NodeReadyMissed{At: at, Node: x.Node, Status: statusNamed(x.From), Trigger: x.Trigger}
	case NodeRemoved:
		return transition.NodeRemoved{At: at, Node: x.Node}
	case AddressAdded:
		return transition.AddressAdded{At: at, Address: address, Ready: x.To == "ready"}
	case AddressRemoved:
		if x.From == "ready" {
			return transition.AddressLost{At: at, Address: address, Removed: true, Cause: x.Cause, Trigger: x.Trigger}
		}
		return transition.AddressRemoved{At: at, Address: address}
	case AddressReady:
		return transition.AddressReady{At: at, Address: address}
	case AddressNotReady:
		return transition.AddressLost{At: at, Address: address, Cause: x.Cause, Trigger: x.Trigger}
	case AddressBounced:
		return transition.AddressBounced{At: at, Address: address, Away: x.Duration}
	case OutageStarted:
		return transition.OutageStarted{At: at, Service: service, Cause: x.Cause, Trigger: x.Trigger}
	case OutageEnded:
		return transition.OutageEnded{At: at, Service: service, Lasted: x.Duration, Cause: x.Cause, Complete: x.Complete}
	case EndpointsReset:
		return transition.EndpointsReset{At: at, Service: service, Count: x.Count, BySelector: x.Selector, Trigger: x.Trigger}
	case SelectorConflict:
		return transition.SelectorConflict{At: at, Service: service, Count: x.Count, Trigger: x.Trigger}
	case PodReadyChanged:
		return transition.PodReadyChanged{At: at, Pod: pod, From: statusNamed(x.From), To: statusNamed(x.To), Cause: x.Cause, Trigger: x.Trigger}
	case PodReadyWasStale:
		return transition.PodReadyWasStale{At: at, Pod: pod, Stale: x.Duration}
	case AddressFollowedPod:
		return transition.AddressFollowedPod{At: at, Address: address, Ready: x.To == "ready", Delay: x.Duration}
	case PodUpdatedInPlace:
		return transition.PodUpdatedInPlace{At: at, Pod: pod}
	case PodRestartedSilently:
		return transition.PodRestartedSilently{At: at, Pod: pod}
	case EndpointsRewritten:
		return transition.EndpointsRewritten{At: at, Service: service, Count: x.Count}
	case AddressLeftOut:
		return transition.AddressLeftOut{At: at, Address: address}
	case SelectorConflictEnded:
		return transition.SelectorConflictEnded{At: at, Service: service}
	case ServiceRemoved:
		return transition.ServiceRemoved{At: at, Service: service}
	case ConsumerBounced:
		return transition.ConsumerBounced{At: at, Address: address, Window: x.Duration}
	case WatchBroke:
		return transition.WatchBroke{At: at, Resource: x.Resource, Reason: x.Reason}
	}
	return transition.WatchWorks{At: at, Resource: x.Resource, Blind: x.Duration}
}
