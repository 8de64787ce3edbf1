package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// happened returns the first part of the summary, without the effect on Services.
func (r *Record) happened(x *incident.Incident) string {
	switch {
	case !r.IsAboutNodes():
		return r.happenedToService()
	case x.Verdict == verdict.GracePeriod:
		return r.happenedByGracePeriod(x)
	case x.Verdict == verdict.ControllerManager:
		return r.happenedByControllerManager(x)
	case r.nodeCount() > 1:
		return r.happenedToNodes(x)
	}
	return r.happenedToNode(x)
}

func graceText(x *incident.Incident) string {
	if x.Numbers.GracePeriod == 0 {
		return ""
	}
	return " (grace period " + phrase.Duration(x.Numbers.GracePeriod) + ")"
}

func (r *Record) happenedToNodes(x *incident.Incident) string {
	if r.clockSetBack() {
		return fmt.Sprintf("the clocks of %d of %d nodes were set back", r.nodeCount(), r.KnownNodes) + ", so the node controller ignored their heartbeats" + r.turnedText(x)
	}
	s := fmt.Sprintf("%d of %d nodes fell silent", r.nodeCount(), r.KnownNodes)
	if r.Kind == KindControlPlane {
		s += " together"
	}
	if longest := x.Numbers.LongestInterval; longest > 0 {
		s += ", for " + cmp.Or(r.atLeast(longest), "up to ") + phrase.Duration(longest) + graceText(x)
	}
	return s + r.turnedText(x)
}

func (r *Record) happenedByGracePeriod(x *incident.Incident) string {
	s := "the grace period of " + phrase.Duration(x.Numbers.GracePeriod) + " is as short as the heartbeat interval"
	if longest := x.Numbers.LongestInterval; longest > 0 {
		s += "; " + phrase.Count(r.nodeCount(), "node was", "nodes were") + " lost after intervals of at most " + phrase.Duration(longest)
	}
	return s + r.turnedText(x)
}

func (r *Record) happenedByControllerManager(x *incident.Incident) string {
	if r.NotMarked == 0 {
		return "the node controller set " + phrase.Count(r.nodeCount(), "node", "nodes") + " to Unknown although the heartbeats were on time"
	}
	s := "the node controller left " + phrase.Count(r.nodeCount(), "silent node", "silent nodes") + " Ready"
	if longest := x.Numbers.LongestInterval; longest > 0 {
		s += ", for up to " + phrase.Duration(longest) + " after the last heartbeat" + graceText(x)
	}
	return s
}

// allSilencesMatch returns true if all silences match. It returns false if there are no silences.
func (r *Record) allSilencesMatch(match func(*verdict.Silence) bool) bool {
	return len(r.Silences) > 0 && !slices.ContainsFunc(r.Silences, func(s *verdict.Silence) bool { return !match(s) })
}

// clockSetBack reports whether the nodes were lost because their clocks were set back.
func (r *Record) clockSetBack() bool {
	return r.allSilencesMatch(func(s *verdict.Silence) bool { return s.ClockBack > 0 })
}

// upgraded reports whether the nodes were lost during an upgrade of their kubelets.
func (r *Record) upgraded() bool {
	return r.allSilencesMatch(func(s *verdict.Silence) bool { return s.Upgraded })
}

func (r *Record) happenedToNode(x *incident.Incident) string {
	node := "node " + strings.Join(x.Nodes, "")
	switch {
	case r.clockSetBack():
		return "the clock of " + node + " was set back by " + phrase.Duration(r.Silences[0].ClockBack) + ", so the node controller ignored its heartbeats" + r.turnedText(x)
	case x.Cause == cause.KubeletRestart:
		return "the kubelet of " + node + " restarted and reported its pods as not ready until it had probed them"
	case x.Cause == cause.NodeNotReady:
		return "the kubelet of " + node + " reported the node as not ready" + phrase.Times(x.Turned)
	case x.Numbers.LongestInterval > 0:
		return node + " sent no heartbeat for " + r.atLeast(x.Numbers.LongestInterval) + phrase.Duration(x.Numbers.LongestInterval) + graceText(x) + r.turnedText(x)
	}
	if r.FoundUnknown > 0 {
		return node + " was Unknown when kubeflap started"
	}
	return "the node controller treated " + node + " as lost" + phrase.Times(r.TurnedUnknown)
}

// turnedText describes how the node controller reacted to lost heartbeats.
func (r *Record) turnedText(x *incident.Incident) string {
	switch {
	case r.FoundUnknown > 0 && r.TurnedUnknown == 0 && r.Kind == KindNode:
		return " and was Unknown when kubeflap started"
	case r.FoundUnknown > 0 && r.TurnedUnknown == 0:
		return "; when kubeflap started, " + phrase.Count(r.FoundUnknown, "node was", "nodes were") + " Unknown"
	case r.TurnedUnknown > 0:
		return " and Ready turned Unknown " + phrase.Count(r.TurnedUnknown, "time", "times")
	case x.State == incident.StateRunning:
		return ""
	}
	return ", which the node controller did not notice"
}

// happenedToService returns the text for an incident of a workload or Service.
func (r *Record) happenedToService() string {
	s := r.affected().Happened()
	switch {
	case r.Cause == cause.InPlaceUpdate && r.LostAgain > 0:
		return s + fmt.Sprintf(", %d of them again after they had returned", r.LostAgain)
	case r.Cause == cause.EndpointsReset, r.Cause == cause.ManualWrite:
		return s + phrase.Times(r.Resets)
	}
	return s
}

func evictedText(pods int) string {
	if pods == 0 {
		return ""
	}
	return "; " + phrase.Count(pods, "pod was", "pods were") + " evicted"
}

// noLossText describes the effect of an incident without a loss.
func (r *Record) noLossText(x *incident.Incident) string {
	switch {
	case r.lacksAddresses():
		return "it has none now"
	case r.ServiceGone:
		return "the Service was deleted"
	case r.Resets > 0 && x.State == incident.StatePending:
		return "they are back, but will be removed again"
	case r.Removed:
		return "they are not back"
	case r.Resets > 0 && r.Cause == cause.EndpointsReset:
		return "they are back"
	case x.State == incident.StatePending:
		return "no address is lost yet"
	case r.Withdrawn:
		return "clients that read Endpoints lost them"
	case r.affected().ForeignAddressesGone:
		return "it has no such addresses now"
	case r.Found > 0:
		return "no Service lost a ready address since kubeflap started"
	}
	return "no Service lost a ready address"
}
