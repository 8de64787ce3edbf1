package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// summary returns the summary of an incident.
func (f *Facts) summary(x *Incident, g advice.GracePeriod, now time.Time) string {
	happened := f.happenedToService()
	if f.IsAboutNodes() {
		happened = f.happenedToNodes(x, g, now)
	}
	parts := []string{phrase.Sentence(happened), cmp.Or(lossText(x), f.noLossText(x))}
	if x.Evicted > 0 {
		parts = append(parts, phrase.Count(x.Evicted, "pod was", "pods were")+" evicted")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ") + "."
}

// happenedToNodes returns the text for an incident of nodes, without the effect on Services.
func (f *Facts) happenedToNodes(x *Incident, g advice.GracePeriod, now time.Time) string {
	grace, longest := "", x.Numbers.LongestInterval.String()
	if x.Numbers.GracePeriod > 0 {
		grace = " (" + g.Name() + " " + x.Numbers.GracePeriod.String() + ")"
	}
	// Up to the interval of nodes without delays, a node was not silent.
	measured, nodes := x.Numbers.LongestInterval > phrase.Seconds(g.Undisturbed()), f.nodes.len()
	switch {
	case x.Verdict == verdict.GracePeriod:
		s := "the grace period of " + x.Numbers.GracePeriod.String() + " is as short as the heartbeat interval"
		if x.Numbers.LongestInterval > 0 {
			s += "; " + phrase.Count(nodes, "node", "nodes") + " exceeded it with intervals of up to " + longest
		}
		return s + f.turnedText(x)
	case x.Verdict == verdict.ControllerManager && !leftReady(f.Silences):
		marked := f.Silences.CountNodes(func(s *silence.Silence) bool { return s.MarkedInTime })
		return "the node controller set " + phrase.Count(cmp.Or(marked, nodes), "node", "nodes") + " to Unknown although the heartbeats were on time"
	case x.Verdict == verdict.ControllerManager:
		left := f.Silences.Filter(func(s *silence.Silence) bool { return s.NotMarked })
		s := "the node controller left " + phrase.Count(cmp.Or(len(left.OfEachNode()), nodes), "silent node", "silent nodes") + " Ready"
		if d := longestUnmarked(left, now); d > 0 {
			s += ", for up to " + phrase.Duration(d) + " after the last heartbeat" + grace
		}
		return s
	case nodes <= 1 && measured:
		return f.happenedToNode(x, longest+grace, now)
	case nodes <= 1:
		return f.happenedToNode(x, "", now)
	}
	s := phrase.CountOf(nodes, f.KnownNodes, "nodes") + " fell silent"
	if f.Kind == KindControlPlane && x.Verdict != verdict.Node {
		s += " together"
	}
	if measured {
		s += " for " + cmp.Or(f.atLeast(x), "up to ") + longest + grace
	}
	return s + f.turnedText(x)
}

// happenedToNode returns the text for an incident of one node. The text longest is empty unless the node was silent for
// a known time.
func (f *Facts) happenedToNode(x *Incident, longest string, now time.Time) string {
	node := "node " + strings.Join(x.Nodes, "")
	switch {
	case f.Silences.ClocksSetBack():
		return "the clock of " + node + " was set back by " + phrase.Duration(f.Silences[0].ClockBack) + ", so the node controller ignored its heartbeats" + f.turnedText(x)
	case x.Cause == cause.KubeletRestart:
		return "the kubelet of " + node + " restarted and reported its pods as not ready until it had probed them"
	case x.Cause == cause.NodeNotReady:
		s := "the kubelet of " + node + " reported the node as not ready"
		switch {
		case f.FoundNotReady == 0:
			s += phrase.Times(x.Turned)
		case x.Turned == 0:
			s += " when kubeflap started"
		default:
			s += " when kubeflap started, and " + phrase.Often(x.Turned) + " since"
		}
		if said := f.told(now); said != (event.Words{}) {
			s += ` ("` + cmp.Or(said.Message, said.Reason) + `")`
		}
		return s
	case longest != "" && (f.TurnedUnknown == 0 || x.Numbers.LongestInterval >= x.Numbers.GracePeriod):
		return node + " sent no heartbeat for " + f.atLeast(x) + longest + f.turnedText(x)
	case f.FoundUnknown > 0:
		return node + " was Unknown when kubeflap started"
	}
	return "the node controller treated " + node + " as lost" + phrase.Times(f.TurnedUnknown)
}

// turnedText describes how the node controller reacted to lost heartbeats.
func (f *Facts) turnedText(x *Incident) string {
	switch {
	case f.TurnedUnknown > 0:
		return ", and Ready turned Unknown " + phrase.Often(f.TurnedUnknown)
	case f.FoundUnknown > 0 && f.Kind == KindNode:
		return ", and was Unknown when kubeflap started"
	case f.FoundUnknown > 0:
		return "; when kubeflap started, " + phrase.Count(f.FoundUnknown, "node was", "nodes were") + " Unknown"
	case !x.isComplete():
		return ""
	}
	return ", and the node controller did not set Ready to Unknown"
}

// happenedToService returns the text for an incident of a workload or Service.
func (f *Facts) happenedToService() string {
	s := f.affected().Happened() + f.Quotes.inParentheses(f.Cause)
	switch {
	case f.Cause == cause.InPlaceUpdate && f.LostAgain > 0:
		return s + fmt.Sprintf(", %d of them again after they had returned", f.LostAgain)
	case f.Cause == cause.EndpointsReset, f.Cause == cause.ManualWrite:
		return s + phrase.Times(f.Resets)
	}
	return s
}

// lossText describes the effect on Services as a clause of the summary. The first of the Services has the longest
// outage. The clause is empty if no Service lost a ready address.
func lossText(x *Incident) string {
	if x.Lost == 0 && x.Outages == 0 || len(x.Services) == 0 {
		return ""
	}
	worst := x.Services[0]
	services, whose := worst.String(), ""
	if n := len(x.Services) + x.ServicesLeftOut; n > 1 {
		services, whose = fmt.Sprintf("%d Services", n), services+" "
	}
	s := services + " lost " + phrase.Count(x.Lost, "ready address", "ready addresses")
	switch {
	case x.Outages == 0:
		return s
	case worst.OutageTime == 0 && worst.Down:
		return s + " and " + whose + "has none now"
	case worst.OutageTime == 0:
		return s + " and " + whose + "briefly had none"
	}
	had := "had none for "
	if worst.Down {
		had = "has had none for "
	}
	return s + " and " + whose + had + worst.DownFor()
}

// noLossText describes the effect of an incident without a loss. It is empty if a loss can still follow.
func (f *Facts) noLossText(x *Incident) string {
	switch {
	case f.LacksAddresses():
		return "it has none now"
	case f.ServiceGone:
		return "the Service was deleted"
	case f.Resets > 0 && x.State == StatePending:
		return "they are back, but will be removed again"
	case f.Removed:
		return "they are not back"
	case f.Resets > 0 && f.Cause == cause.EndpointsReset:
		return "they are back"
	case x.State == StatePending:
		return "no address is lost yet"
	case f.Withdrawn:
		return "clients that read Endpoints lost them"
	case f.affected().ForeignAddressesGone:
		return "it has no such addresses now"
	case !x.isComplete():
		return ""
	case f.FoundNotReady > 0 || f.Silences.Any(func(s *silence.Silence) bool { return s.Found.Is }):
		return "no Service lost a ready address since kubeflap started"
	}
	return "no Service lost a ready address"
}

// longest returns the longest time between two heartbeats so far. It returns 0 if kubeflap could not measure this time.
// It also considers the lengths of silences, because the tracker cannot always measure the interval that contains a
// silence.
func (f *Facts) longest(now time.Time, gracePeriod time.Duration) time.Duration {
	if f.Silences.Any(func(s *silence.Silence) bool { return s.Unseen }) {
		return 0 // kubeflap sees reports of the node's status, but not its heartbeats
	}
	known, unknown := f.Longest, time.Duration(0)
	if since := f.Open.Oldest(TrackHeartbeat); !since.IsZero() {
		known = max(known, now.Sub(since))
	}
	for _, s := range f.Silences {
		switch length := s.Lasted(now); {
		case s.IsMeasured():
			known = max(known, length)
		case !s.EndedBlind || s.Blind:
			unknown = max(unknown, length)
		}
	}
	if known <= gracePeriod && known < unknown {
		return 0
	}
	return known
}

// leftReady reports whether the node controller left silent nodes Ready.
func leftReady(all silence.List) bool {
	return all.Any(func(s *silence.Silence) bool { return s.NotMarkedCertain })
}

// longestUnmarked returns the longest time from a node's last heartbeat until the node controller set it to Unknown, or
// until the silence ended without that. It returns 0 if kubeflap could not measure this time.
func longestUnmarked(left silence.List, now time.Time) (longest time.Duration) {
	for _, s := range left.Filter((*silence.Silence).IsMeasured) {
		lasted := s.Lasted(now)
		if s.MarkedAt.After(s.Began) {
			lasted = min(lasted, s.MarkedAt.Sub(s.Began))
		}
		longest = max(longest, lasted)
	}
	return longest
}

// atLeast returns "at least " if a silence may have lasted longer than the longest interval, and kubeflap did not see
// the end of this silence.
func (f *Facts) atLeast(x *Incident) string {
	if f.Silences.Any(func(s *silence.Silence) bool {
		return s.EndedBlind && !s.Ended.IsZero() && s.Ended.Sub(s.Began) > time.Duration(x.Numbers.LongestInterval)
	}) {
		return "at least "
	}
	return ""
}

// unexplained returns the length of the longest silence that has no explanation. A reboot, for example, is an
// explanation. If no silence has an explanation, unexplained returns `longest`.
func (f *Facts) unexplained(longest time.Duration, now time.Time) time.Duration {
	if !f.Silences.Any((*silence.Silence).Explained) {
		return longest
	}
	longest = 0
	for _, s := range f.Silences {
		if !s.Explained() && s.IsMeasured() {
			longest = max(longest, s.Lasted(now))
		}
	}
	return longest
}
