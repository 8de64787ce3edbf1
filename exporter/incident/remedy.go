package incident

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// remedy says in a sentence or two what to do, with the numbers of this cluster.
func (r *record) remedy(x *Incident) string {
	switch r.story {
	case storyControlPlane:
		return "Look at what all nodes share: etcd's disk and load first, then the API server and the network to it. " +
			"Leave the grace period as it is" + graceInForce(x) + ": it is not the cause."
	case storyGrace:
		return fmt.Sprintf("Set --node-monitor-grace-period of the kube-controller-manager back to its default of 40s (50s from v1.32); it is %s. "+
			"Kubelets renew their Lease every 10s whatever else is set, so less than 20s is always unsafe: not one lost heartbeat is survived.",
			length(x.Numbers.GracePeriod))
	case storyNode:
		return r.remedyForNode(x)
	}
	return r.remedyForService(x)
}

func graceInForce(x *Incident) string {
	if x.Numbers.GracePeriod == 0 {
		return ""
	}
	return " (" + length(x.Numbers.GracePeriod) + ")"
}

func (r *record) remedyForNode(x *Incident) string {
	switch x.Cause {
	case cause.NodeNotReady:
		return "Ask the kubelet why: kubectl describe node " + x.Subject + " has its message under Ready (container runtime, network plug-in, disk). " +
			"The grace period plays no part."
	case cause.KubeletRestart:
		return "Find out why the kubelet of " + x.Subject + " restarted. From v1.35 on a restart leaves pods Ready; " +
			"before that, restart kubelets one node at a time."
	}
	few := ""
	if r.nodesKnown < fewest {
		few = fmt.Sprintf(" With %s to compare, a slow etcd looks the same: look there too.", count(r.nodesKnown, "node", "nodes"))
	}
	n := x.Numbers
	if x.State == StateRunning && len(r.openNodes) > 0 && n.LongestInterval > mostGrace {
		return "The node or its kubelet is down: check the machine, its network and the kubelet on " + x.Subject +
			". A longer grace period would only have told later." + few
	}
	return r.remedyForSlowKubelet(x) + few
}

func (r *record) remedyForSlowKubelet(x *Incident) string {
	n := x.Numbers
	s := "Find out what keeps the kubelet on " + x.Subject + " from reporting every 10s: load, disk, many containers and images to collect. "
	switch {
	case n.LongestInterval > mostGrace:
		return s + fmt.Sprintf("No sensible grace period covers an interval of %s.", length(n.LongestInterval))
	case n.GracePeriod >= n.RecommendedGracePeriod:
		return s + fmt.Sprintf("The grace period of %s is long enough for what was seen.", length(n.GracePeriod))
	case n.LongestInterval == 0:
		return s + fmt.Sprintf("A grace period of %s would give it time.", length(n.RecommendedGracePeriod))
	}
	s += fmt.Sprintf("Set --node-monitor-grace-period to %s", length(n.RecommendedGracePeriod))
	if n.GracePeriod > 0 {
		s += fmt.Sprintf("; it is %s", length(n.GracePeriod))
	}
	s += fmt.Sprintf(", and the longest interval was %s", length(n.LongestInterval))
	if n.GracePeriod > 0 && n.GracePeriod < oneBeatLost {
		s += " (below 20s not one lost heartbeat is survived)"
	}
	return s + "."
}

func (r *record) remedyForService(x *Incident) string {
	full := r.full()
	switch x.Cause {
	case cause.EndpointsReset:
		s := "Remove the selector of Service " + full + ": it matches no pod, and the endpoints controller wipes hand-written addresses of a Service with a selector. "
		if x.State == StatePending {
			return s + "Until then any sync of the Service, or a restart of the kube-controller-manager, takes them."
		}
		return s + "Then write the Endpoints once more. Grace period and API rates play no part."
	case cause.ManualWrite:
		return "Find out who writes the addresses of Service " + full + ": the audit log and the managedFields of its Endpoints and EndpointSlices name them. " +
			"Let one writer replace them in one update instead of emptying them first."
	case cause.ServiceChanged:
		return "Compare the selector and publishNotReadyAddresses of Service " + full + " with the labels of its pods, and with who changed it last."
	case cause.InPlaceUpdate:
		return "Take an address out first: a readiness gate turned off before the image changes, and on again when the new container serves. " + windowRemedy(x.Numbers.Windows)
	case cause.Unknown:
		return "The evidence does not tell. Look at the events of " + full + " (kubectl get events -n " + x.Namespace + "), and report a recording of it to kubeflap."
	}
	return podRemedy(x.Cause, full)
}

// windowRemedy says which gathering window would have hidden the bounces.
func windowRemedy(windows []Window) string {
	if len(windows) == 0 || windows[0].Bounces == 0 {
		return "No consumer of the Endpoints was led astray, whatever it gathers."
	}
	seen := ""
	for _, w := range windows[1:] {
		if w.Bounces == 0 {
			return fmt.Sprintf("A consumer that gathers changes for %s would have seen none of the %d bounces%s.",
				length(w.Length), windows[0].Bounces, seen)
		}
		seen = fmt.Sprintf("; one that gathers for %s put back and took out again %s", length(w.Length), count(w.Bounces, "address", "addresses"))
	}
	return fmt.Sprintf("No gathering window up to %s would have hidden the %d bounces.", length(10*time.Second), windows[0].Bounces)
}

// podRemedy is that of a cause that lies in the pods of a workload.
func podRemedy(c cause.Cause, workload string) string {
	switch c {
	case cause.ProbeFailed:
		return "See what the readiness probe of " + workload + " says (kubectl describe pod) and whether its timeout and failureThreshold fit; " +
			"a probe that depends on something shared takes all pods out at once."
	case cause.ContainerExit:
		return "Look at why the containers of " + workload + " ended: kubectl logs --previous, the exit code, OOMKilled against the memory limit, the liveness probe."
	case cause.ReadinessGate:
		return "Look at the controller that sets the readiness gate of " + workload + ", a load-balancer controller as a rule: it says what it waits for."
	case cause.PodDeleted:
		return "If " + workload + " was not scaled to zero on purpose, make its roll-out overlap: maxUnavailable 0 with at least 2 replicas, and a preStop pause of some seconds."
	case cause.PodEvicted:
		return "Give " + workload + " a PodDisruptionBudget and replicas on several nodes, so that a drain, a taint or pressure on one node does not take all of them."
	case cause.PodCompleted:
		return "What " + workload + " runs comes to its end and is not restarted: something that serves wants a Deployment, and a Service should not choose the pods of a Job."
	}
	return "The node of " + workload + " was lost or not ready, and kubeflap has not seen which: look at the nodes' Ready conditions."
}
