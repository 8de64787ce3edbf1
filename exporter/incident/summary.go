package incident

import (
	"fmt"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// summary says in a sentence what happened, and to whom.
func (r *record) summary(x *Incident) string { return r.happened(x) + "; " + r.effectOf(x) + "." }

func (r *record) happened(x *Incident) string {
	grace := ""
	if x.Numbers.GracePeriod > 0 {
		grace = " (grace period " + length(x.Numbers.GracePeriod) + ")"
	}
	longest := x.Numbers.LongestInterval
	switch r.story {
	case storyControlPlane:
		s := fmt.Sprintf("%d of %d nodes lost their heartbeats together", r.nodeCount(), r.nodesKnown)
		if longest > 0 {
			s += ", for up to " + length(longest) + grace
		}
		return s + r.sayUnknown(x)
	case storyGrace:
		s := "the grace period of " + length(x.Numbers.GracePeriod) + " is as short as the heartbeat"
		if longest > 0 {
			s += ": " + count(r.nodeCount(), "node was", "nodes were") + " lost with intervals of at most " + length(longest)
		}
		return capital(s) + r.sayUnknown(x)
	case storyNode:
		return capital(r.happenedToNode(x, grace))
	}
	return r.happenedToService()
}

func (r *record) happenedToNode(x *Incident, grace string) string {
	node := "node " + x.Subject
	switch {
	case x.Cause == cause.KubeletRestart:
		return "the kubelet of " + node + " restarted and took its pods for not ready until it had probed them"
	case x.Cause == cause.NodeNotReady:
		return "the kubelet of " + node + " reported itself not ready" + times(x.Turned)
	case x.Numbers.LongestInterval > 0:
		return node + " sent no heartbeat for " + length(x.Numbers.LongestInterval) + grace + r.sayUnknown(x)
	}
	return "the node controller took " + node + " for lost" + times(r.turnedUnknown)
}

func (r *record) sayUnknown(x *Incident) string {
	switch {
	case r.turnedUnknown == 0 && x.State == StateRunning:
		return ""
	case r.turnedUnknown == 0:
		return ", which the node controller did not notice"
	}
	return " and Ready turned Unknown " + count(r.turnedUnknown, "time", "times")
}

// happenedToService says what took addresses from a Service whose nodes are well.
func (r *record) happenedToService() string {
	full := r.full()
	switch r.cause {
	case cause.InPlaceUpdate:
		s := "an in-place update of " + full + " took its addresses out one by one"
		if r.again > 0 {
			s += fmt.Sprintf(", and %d of them out again after they had come back", r.again)
		}
		return capital(s)
	case cause.EndpointsReset:
		if r.resets == 0 && r.lost == 0 {
			return "Service " + full + " has a selector and hand-written addresses, which the endpoints controller will wipe"
		}
		return "The endpoints controller wiped the hand-written addresses of Service " + full + ", which has a selector" + times(r.resets)
	case cause.ManualWrite:
		return "Someone edited or wiped the addresses of Service " + full + times(r.resets)
	case cause.ServiceChanged:
		return "Service " + full + " was changed and chooses other pods"
	}
	return capital(whatPods(r.cause)) + " of " + strings.TrimPrefix(full, "the pods of ")
}

// whatPods says what happened to the pods of a workload.
func whatPods(c cause.Cause) string {
	switch c {
	case cause.ProbeFailed:
		return "readiness probes failed in pods"
	case cause.ContainerExit:
		return "containers ended in pods"
	case cause.ReadinessGate:
		return "a readiness gate turned not True in pods"
	case cause.PodDeleted:
		return "pods were deleted"
	case cause.PodEvicted:
		return "pods were evicted"
	case cause.PodCompleted:
		return "pods ran to their end"
	case cause.NodeHeartbeatLost:
		return "a node was lost with pods"
	case cause.NodeNotReady:
		return "a node was not ready with pods"
	case cause.KubeletRestart:
		return "a kubelet restarted with pods"
	}
	return "addresses went for an unknown reason, in pods"
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
	fmt.Fprintf(&s, " lost %s", count(x.Lost, "ready address", "ready addresses"))
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
	s.WriteString(length(worst.OutageTime))
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

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
