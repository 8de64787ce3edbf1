package advice

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// PlannedSilence is the longest time for which a node may be silent after an announced departure without being deleted.
// After that, the plan has failed.
const PlannedSilence = 15 * time.Minute

// LostNodes describes the nodes of an incident and the facts that determine their remedy, mainly the verdict.
type LostNodes struct {
	Verdict verdict.Verdict
	Reason  verdict.Reason
	Cause   cause.Cause
	// Names contains the nodes' names. Count is their number, with those that were only late at the same time. KnownNodes is
	// the number of nodes in the cluster.
	Names             string
	Count, KnownNodes int
	// NotRecovered is set if some nodes have not recovered.
	NotRecovered bool
	// PlanFailed is set if a node whose departure was announced is still silent after PlannedSilence.
	PlanFailed bool
	// Etcd reports whether all API servers stopped renewing their own Leases.
	Etcd bool
	// Longest is the longest heartbeat interval that no reboot, announcement, upgrade or clock change explains. It is 0
	// if unknown.
	Longest time.Duration
	Grace   GracePeriod
	// Command is a command whose output can decide an undecided verdict.
	Command string
	// Said holds what the nodes' kubelets said when they reported Ready=False, if they did. Problems holds the types of
	// the other conditions that turned True.
	Said     event.Words
	Problems []string
}

// Remedy describes how to fix the nodes, and what this means for the grace period.
func (n LostNodes) Remedy() string {
	if n.Verdict == verdict.GracePeriod {
		return n.Grace.tooShort()
	}
	return n.Fix() + n.onGrace()
}

// Recommended returns the grace period that Remedy recommends, or 0.
func (n LostNodes) Recommended() time.Duration {
	if n.Verdict == verdict.GracePeriod || n.Grace.Unsafe() || n.isSlow() && n.Longest <= LongestGrace {
		return n.Grace.Recommended()
	}
	return 0
}

// Fix describes how to fix the component at fault. It does not say anything about the grace period.
func (n LostNodes) Fix() string {
	managed := n.Grace.Managed
	switch {
	case n.Verdict == verdict.SharedPath && managed:
		return "Check what these nodes share on the way to the API server: zone, network, NAT gateway, firewall. " +
			"Your provider runs etcd and the API server: open a case with the times of this incident."
	case n.Verdict == verdict.SharedPath:
		return n.sharedPath()
	case n.Verdict == verdict.Planned && n.PlanFailed:
		return "The departure of " + n.Names + " was planned, but the plan failed: the Node was not deleted, and it has sent no heartbeat for more than " +
			phrase.Duration(PlannedSilence) + ". Check the machine: its console and the provider's events show whether it starts. If it is gone for good, delete the Node."
	case n.Verdict == verdict.Planned:
		return "Nothing is at fault: the removal or maintenance of " + n.Names + " was planned."
	case n.Verdict == verdict.NodeRebooted && n.saidShutdown():
		return n.notReady()
	case n.Verdict == verdict.NodeRebooted:
		return "The machine of " + n.Names + " restarted without notice: its console, the kernel log of the previous boot (journalctl -b -1) and the provider's events show what restarted it. " +
			"If somebody restarts it on purpose, drain the node first, so that kubeflap treats the restart as planned."
	case n.Verdict == verdict.ControllerManager && n.Reason == verdict.LeftReady:
		return n.notMarked()
	case n.Verdict == verdict.ControllerManager && managed:
		return "Your provider runs the kube-controller-manager: open a case with the times of this incident. The heartbeats of " + n.Names +
			" were on time, so neither the nodes nor etcd are at fault."
	case n.Verdict == verdict.ControllerManager:
		return "Check the kube-controller-manager: its CPU, its API rate limits (--kube-api-qps, --kube-api-burst), watch errors in its log, and leader changes (kubectl -n kube-system get lease kube-controller-manager). The heartbeats of " + n.Names + " were on time, so neither the nodes nor etcd are at fault."
	case n.Verdict == verdict.Undecided:
		return "Find out which component is at fault (" + n.Command + "), because the evidence does not show it."
	case n.Verdict != verdict.Node: // no verdict about nodes
		return ""
	case n.Reason == verdict.ClockSetBack:
		return "Repair the time synchronization of " + n.Names + " (chronyc tracking), and let it slew the clock instead of setting it back. The kubelet and the network are healthy: " +
			"the node controller only accepts later renew times, so a node is lost until its clock passes the time of its last heartbeat."
	case n.Reason == verdict.Upgraded:
		return "The kubelet of " + n.Names + " was replaced by a different version, and was down for longer than the grace period. Upgrade one node at a time, and drain each node first, so that kubeflap treats the upgrade as planned. The network is not at fault."
	case n.Cause == cause.NodeNotReady:
		return n.notReady()
	case n.Cause == cause.KubeletRestart:
		return "Restart kubelets one node at a time: before v1.35, pods are not Ready while their kubelet restarts. If nobody restarted the kubelet of " + n.Names + ", its log (journalctl -u kubelet) shows why it stopped."
	}
	return n.silent()
}

// onGrace describes what the fault means for the grace period, as the end of the remedy.
func (n LostNodes) onGrace() string {
	g := n.Grace
	switch period, to := phrase.Duration(g.Period), g.Recommended(); {
	case g.Unsafe() && g.Managed:
		return fmt.Sprintf(" Whatever the cause, the grace period of %s is unsafe. Your provider sets it, so open a case with your provider.", period)
	case g.Unsafe():
		return fmt.Sprintf(" Whatever the cause, the grace period of %s is unsafe, because a single lost heartbeat makes a node Unknown: set --node-monitor-grace-period to %s.", period, phrase.Duration(to))
	case n.isSlow() && n.Longest > LongestGrace:
		return " No sensible grace period covers an interval of " + phrase.Duration(n.Longest) + "."
	case n.isSlow() && g.Managed:
		return " You cannot set the grace period of a managed control plane. A larger machine or fewer pods make the kubelet faster. A longer toleration of node.kubernetes.io/unreachable delays evictions."
	case n.isSlow() && to > 0:
		text := fmt.Sprintf(" Until this is fixed, set the kube-controller-manager's --node-monitor-grace-period to %s. %s", phrase.Duration(to), g.current())
		if g.Longest > 0 {
			text += ", and the longest interval of the last day was " + phrase.Duration(g.Longest)
		}
		return text + "."
	case n.isSlow() && g.Period > 0:
		return " " + noOther
	case n.isSlow():
		return ""
	case n.Verdict == verdict.SharedPath, n.Verdict == verdict.NodeRebooted, n.Verdict == verdict.Node && n.Cause != cause.KubeletRestart:
		return " The grace period is not at fault."
	}
	return ""
}

// isSlow reports whether the kubelets are at fault because they sent no heartbeats, for an unknown reason.
func (n LostNodes) isSlow() bool {
	return n.Verdict == verdict.Node && n.Cause != cause.NodeNotReady && n.Cause != cause.KubeletRestart && n.Reason != verdict.ClockSetBack && n.Reason != verdict.Upgraded
}

// sharedPath returns the remedy for nodes that fell silent together, if no provider runs the control plane.
func (n LostNodes) sharedPath() string {
	const etcd = "Check etcd's disk and load first, then the API server, and the network between the nodes and the API server: "
	switch others := n.KnownNodes - n.Count; {
	case others > 0 && n.Etcd:
		return etcd + "all API servers stopped renewing their Leases, too."
	case others > 0:
		return "Check what only these nodes share on the way to the API server, such as a zone, a network, a load balancer or one of several API servers. " +
			"If they share nothing, check etcd's disk and load, then the API server: an overloaded etcd rejects some writes and accepts others."
	}
	return etcd + "all nodes depend on them."
}

// notMarked returns the remedy for silent nodes that the node controller does not set to Unknown.
func (n LostNodes) notMarked() string {
	look := "Check the kube-controller-manager: errors of its watch of Leases in the log, its permission to get Leases in kube-node-lease, and its leader (kubectl -n kube-system get lease kube-controller-manager). From v1.37, it logs \"Skipping\" for each node that it leaves Ready because its copy of the Lease may be outdated. If the watch of Leases is stuck, restart the kube-controller-manager to open a new one. "
	if n.Grace.Managed {
		look = "Your provider runs the kube-controller-manager, which leaves silent nodes Ready: open a case with the times of this incident. "
	}
	then := "Then check the machine, the network and the kubelet of " + n.Names + ", which sent no heartbeats."
	if n.Said != (event.Words{}) {
		then = n.notReady()
	}
	return look + then + " Until the node controller sets these nodes to Unknown, their pods stay in their Services. " +
		"To remove the pods, run kubectl drain NODE --force --ignore-daemonsets or, once the machines are off, set the taint node.kubernetes.io/out-of-service."
}

// silent returns the remedy for nodes or kubelets that sent no heartbeats.
func (n LostNodes) silent() string {
	if n.Said != (event.Words{}) {
		return n.notReady()
	}
	text := "Find out what keeps the kubelet on " + n.Names + " from reporting every " + phrase.Duration(n.Grace.interval()) + ": check load, disk, and garbage collection of containers and images."
	switch {
	case n.Longest > LongestGrace || n.Reason == verdict.Down:
		is := "was"
		if n.NotRecovered {
			is = "is"
		}
		text = "The node or its kubelet " + is + " down: check the machine, its network and the kubelet on " + n.Names + "."
	case len(n.Problems) > 0:
		text = "Check the conditions of " + n.Names + " that turned True at the same time: " + strings.Join(n.Problems, ", ") + "."
	}
	if n.KnownNodes < FewestToCompare {
		text += fmt.Sprintf(" With only %s, a slow etcd looks the same, so check etcd, too.", phrase.Count(n.KnownNodes, "node", "nodes"))
	}
	return text
}
