// Package advice has the words and remedies of causes and verdicts, and the recommended grace period. It keeps no state.
package advice

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// FewestToCompare is how many nodes there must be to tell the fault of a node from that of the control plane.
const FewestToCompare = 3

// ControlPlaneRemedy is for nodes that lost their heartbeats together. A grace period of 0 is not known. managed: the cloud runs the control plane.
func ControlPlaneRemedy(grace time.Duration, managed bool) string {
	if managed {
		return "Check what these nodes share on the way to the API server: zone, network, NAT gateway, firewall. " +
			"Your provider runs etcd and the API server: open a case with the times of this incident."
	}
	const look = "Check etcd's disk and load first, then the API server and the network to it: all nodes depend on them. "
	switch {
	case grace == 0:
		return look + "Leave the grace period as it is: it is not the cause."
	case grace < ShortestGrace:
		return look + "The grace period of " + phrase.Duration(grace) + " is not the cause, but unsafe: set it back to its default of 40s (50s from v1.32)."
	}
	return look + "Leave the grace period as it is (" + phrase.Duration(grace) + "): it is not the cause."
}

// VerdictRemedy is what to do about nodes by a verdict that needs no numbers; empty for the other verdicts. The command would decide if nothing is
// decided yet.
func VerdictRemedy(v verdict.Verdict, nodes, command string, managed bool) string {
	switch v {
	case verdict.Planned:
		return "Nothing is at fault: the departure of " + nodes + " was announced."
	case verdict.NodeRebooted:
		return "Find out why the machine of " + nodes + " restarted: its console, the kernel log of the boot before (journalctl -b -1), the provider's events. " +
			"The kubelet and the grace period play no part."
	case verdict.ControllerManager:
		if managed {
			return "Your provider runs the kube-controller-manager: open a case with the times of this incident. The heartbeats of " + nodes +
				" were in time: neither the nodes nor etcd are at fault."
		}
		return "Check the kube-controller-manager: its CPU, its limits towards the API (--kube-api-qps, --kube-api-burst), errors of its watches in its log, and " +
			"changes of its leader (kubectl -n kube-system get lease kube-controller-manager). The heartbeats of " + nodes + " were in time: neither the nodes nor etcd are at fault."
	case verdict.Undecided:
		return "The evidence does not tell which component is at fault. This would: " + command
	}
	return ""
}

// NotMarkedRemedy is for silent nodes that the node controller leaves Ready.
func NotMarkedRemedy(nodes string, managed bool) string {
	const out = "Their pods stay in their Services meanwhile: kubectl drain %s --force --ignore-daemonsets takes them out, or the taint node.kubernetes.io/out-of-service once the machines are off."
	look := "Check the kube-controller-manager: errors of its watch of Leases, whether it may get Leases in kube-node-lease, and its leader " +
		"(kubectl -n kube-system get lease kube-controller-manager). From v1.37 its log says \"Skipping\" when it holds back; a restart renews its watch. "
	if managed {
		look = "Your provider runs the kube-controller-manager, which leaves silent nodes Ready: open a case with the times of this incident. "
	}
	return look + "Then find out why " + nodes + " sent no heartbeats. " + fmt.Sprintf(out, "NODE")
}

// ShortGracePeriodRemedy is for a grace period that healthy kubelets miss.
func ShortGracePeriodRemedy(grace time.Duration, managed bool) string {
	if managed {
		return "Your provider sets the grace period of " + phrase.Duration(grace) + ": open a case. Kubelets renew their Lease every 10s, so healthy nodes miss it."
	}
	return fmt.Sprintf("Set --node-monitor-grace-period of the kube-controller-manager back to its default of 40s (50s from v1.32); it is %s. "+
		"Kubelets renew their Lease every 10s whatever else is set, so less than 20s is always unsafe: a single lost heartbeat makes a node Unknown.",
		phrase.Duration(grace))
}

// LostNode is a node that was lost or not ready.
type LostNode struct {
	Name  string
	Cause cause.Cause
	// Away: it has not recovered.
	Away bool
	// Nodes is how many nodes there are.
	Nodes int
	// Grace is the grace period, Longest the longest heartbeat interval; 0 if not known.
	Grace, Longest time.Duration
	// Managed: the cloud runs the control plane, so nobody can set the grace period.
	Managed bool
}

// Remedy is what to do.
func (n LostNode) Remedy() string {
	switch n.Cause {
	case cause.NodeNotReady:
		return "Find out why: kubectl describe node " + n.Name + " has its message under Ready (container runtime, network plug-in, disk). " +
			"The grace period plays no part."
	case cause.KubeletRestart:
		return "Find out why the kubelet of " + n.Name + " restarted. From v1.35 on a restart leaves pods Ready; " +
			"before that, restart kubelets one node at a time."
	}
	few := ""
	if n.Nodes < FewestToCompare {
		few = fmt.Sprintf(" With only %s, a slow etcd looks the same: check it too.", phrase.Count(n.Nodes, "node", "nodes"))
	}
	if n.Away && n.Longest > LongestGrace {
		return "The node or its kubelet is down: check the machine, its network and the kubelet on " + n.Name +
			". A longer grace period would only have delayed the detection." + few
	}
	return "Find out what keeps the kubelet on " + n.Name + " from reporting every 10s: load, disk, many containers and images to collect. " +
		n.gracePeriod() + few
}

// gracePeriod says whether a longer grace period would have helped.
func (n LostNode) gracePeriod() string {
	to := RecommendedGracePeriod(n.Longest, LeastGracePeriod)
	switch {
	case n.Longest > LongestGrace:
		return fmt.Sprintf("No sensible grace period covers an interval of %s.", phrase.Duration(n.Longest))
	case n.Managed:
		return "Nobody can set the grace period of a managed control plane: a larger machine or fewer pods give the kubelet more time. Pods that tolerate " +
			"node.kubernetes.io/unreachable for longer are not evicted so soon."
	case n.Grace >= to:
		return fmt.Sprintf("The grace period of %s is long enough for the intervals seen.", phrase.Duration(n.Grace))
	case n.Longest == 0:
		return fmt.Sprintf("A grace period of %s would give it more time.", phrase.Duration(to))
	case n.Grace == 0:
		return fmt.Sprintf("Set --node-monitor-grace-period to %s, and the longest interval was %s.", phrase.Duration(to), phrase.Duration(n.Longest))
	}
	s := fmt.Sprintf("Set --node-monitor-grace-period to %s; it is %s, and the longest interval was %s",
		phrase.Duration(to), phrase.Duration(n.Grace), phrase.Duration(n.Longest))
	if n.Grace < ShortestGrace {
		s += " (below 20s a single lost heartbeat makes a node Unknown)"
	}
	return s + "."
}
