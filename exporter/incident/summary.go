package incident

import (
	"fmt"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// summary says in a sentence what happened, and to whom.
func (r *record) summary(x *Incident) string { return r.happened(x) + "; " + r.effectOf(x) + "." }

func (r *record) happened(x *Incident) string {
	grace := ""
	if x.Numbers.GracePeriod > 0 {
		grace = " (grace period " + phrase.Duration(x.Numbers.GracePeriod) + ")"
	}
	longest := x.Numbers.LongestInterval
	switch r.story {
	case storyControlPlane:
		s := fmt.Sprintf("%d of %d nodes lost their heartbeats together", r.nodeCount(), r.nodesKnown)
		if longest > 0 {
			s += ", for up to " + phrase.Duration(longest) + grace
		}
		return s + r.sayUnknown(x)
	case storyGrace:
		s := "the grace period of " + phrase.Duration(x.Numbers.GracePeriod) + " is as short as the heartbeat"
		if longest > 0 {
			s += ": " + phrase.Count(r.nodeCount(), "node was", "nodes were") + " lost with intervals of at most " + phrase.Duration(longest)
		}
		return phrase.Sentence(s) + r.sayUnknown(x)
	case storyNode:
		return phrase.Sentence(r.happenedToNode(x, grace))
	}
	return r.happenedToService()
}

func (r *record) happenedToNode(x *Incident, grace string) string {
	node := "node " + x.Subject
	switch {
	case x.Cause == cause.KubeletRestart:
		return "the kubelet of " + node + " restarted and took its pods for not ready until it had probed them"
	case x.Cause == cause.NodeNotReady:
		return "the kubelet of " + node + " reported itself not ready" + phrase.Times(x.Turned)
	case x.Numbers.LongestInterval > 0:
		return node + " sent no heartbeat for " + phrase.Duration(x.Numbers.LongestInterval) + grace + r.sayUnknown(x)
	}
	return "the node controller took " + node + " for lost" + phrase.Times(r.turnedUnknown)
}

func (r *record) sayUnknown(x *Incident) string {
	switch {
	case r.turnedUnknown == 0 && x.State == StateRunning:
		return ""
	case r.turnedUnknown == 0:
		return ", which the node controller did not notice"
	}
	return " and Ready turned Unknown " + phrase.Count(r.turnedUnknown, "time", "times")
}

// happenedToService says what took addresses from a Service whose nodes are well.
func (r *record) happenedToService() string {
	s := phrase.Sentence(advice.Affected{Cause: r.cause, Name: r.full(), Pending: r.resets == 0 && r.lost == 0}.Happened())
	switch {
	case r.cause == cause.InPlaceUpdate && r.again > 0:
		return s + fmt.Sprintf(", and %d of them out again after they had come back", r.again)
	case r.cause == cause.EndpointsReset, r.cause == cause.ManualWrite:
		return s + phrase.Times(r.resets)
	}
	return s
}

// effectOf says what it did to the Services.
func (r *record) effectOf(x *Incident) string {
	if x.Lost == 0 && x.Outages == 0 {
		switch {
		case r.lacks():
			return "it has had none since"
		case r.resets > 0 && x.State == StatePending:
			return "they are back, to be wiped again"
		case r.resets > 0 && r.cause == cause.EndpointsReset:
			return "they are back"
		case x.State == StatePending:
			return "nothing is lost yet"
		}
		return "no Service lost a ready address"
	}
	var s strings.Builder
	n := len(x.Services) + x.ServicesLeftOut
	if n == 1 {
		fmt.Fprintf(&s, "%s/%s", x.Services[0].Namespace, x.Services[0].Name)
	} else {
		fmt.Fprintf(&s, "%d Services", n)
	}
	fmt.Fprintf(&s, " lost %s", phrase.Count(x.Lost, "ready address", "ready addresses"))
	if x.Outages == 0 {
		return s.String()
	}
	worst := x.Services[0]
	s.WriteString(" and ")
	if n > 1 {
		fmt.Fprintf(&s, "%s/%s ", worst.Namespace, worst.Name)
	}
	if worst.Down {
		s.WriteString("has had none for ")
	} else {
		s.WriteString("had none for ")
	}
	s.WriteString(phrase.Duration(worst.OutageTime))
	return s.String()
}

// full is what it follows, as sentences have it.
func (r *record) full() string {
	kind, name, found := strings.Cut(r.name, "/")
	switch {
	case r.story != storyWorkload || !found:
		return r.namespace + "/" + r.name
	case kind == "Service":
		return "the pods of " + r.namespace + "/" + name
	}
	return kind + " " + r.namespace + "/" + name
}
