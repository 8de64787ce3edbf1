package advice

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// OnlyThese is the remedy if some nodes, but not all, fell silent together.
const OnlyThese = "check what only these nodes share on the way to the API server, such as a zone, a network, a load balancer or one of several API servers"

// SomeWrites is the second part of that remedy. It also applies to nodes that fall silent one after another.
const SomeWrites = "check etcd's disk and load, then the API server: an overloaded etcd rejects some writes and accepts others"

// LostNodes describes the nodes of an incident and the facts that determine their remedy, mainly the verdict.
type LostNodes struct {
	Verdict verdict.Verdict
	Cause   cause.Cause
	// Names contains the nodes' names. Count is their number, and KnownNodes is the number of nodes in the cluster.
	Names             string
	Count, KnownNodes int
	// NotMarked is set if the node controller did not set the nodes to Unknown. ClockSetBack is set if the nodes'
	// clocks were set back. Upgraded is set if the nodes' kubelets were upgraded during the silence.
	NotMarked, ClockSetBack, Upgraded bool
	// NotRecovered is set if some nodes have not recovered. EndUnseen is set if kubeflap did not see the end of the
	// silence.
	NotRecovered, EndUnseen bool
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

// Remedy returns the remedy for the nodes. It also warns of an unsafe grace period, whatever the verdict is.
func (n LostNodes) Remedy() string {
	text, saysGrace := n.Fix()
	g := n.Grace
	switch {
	case !g.Unsafe() || saysGrace:
		return text
	case g.Managed:
		return text + fmt.Sprintf(" Whatever the cause, the grace period of %s is unsafe. Your provider sets it, so open a case with your provider.", phrase.Duration(g.Period))
	}
	return text + fmt.Sprintf(" Whatever the cause, the grace period of %s is unsafe: set --node-monitor-grace-period to %s.", phrase.Duration(g.Period), phrase.Duration(g.Recommended()))
}

// Fix returns the remedy for the verdict. The result saysGrace is true if the text already covers the grace period.
func (n LostNodes) Fix() (text string, saysGrace bool) {
	managed := n.Grace.Managed
	switch {
	case n.Verdict == verdict.GracePeriod:
		return n.Grace.tooShort(), true
	case n.Verdict == verdict.SharedPath && managed:
		text = "Check what these nodes share on the way to the API server: zone, network, NAT gateway, firewall. " +
			"Your provider runs etcd and the API server: open a case with the times of this incident."
	case n.Verdict == verdict.SharedPath:
		return n.sharedPath(), true
	case n.Verdict == verdict.Planned:
		text = "Nothing is at fault: the removal or maintenance of " + n.Names + " was planned."
	case n.Verdict == verdict.NodeRebooted && n.saidShutdown():
		text = n.notReady() + " The kubelet and the grace period are not at fault."
	case n.Verdict == verdict.NodeRebooted:
		text = "Find out why the machine of " + n.Names + " restarted: check its console, the kernel log of the previous boot (journalctl -b -1) and the provider's events. The kubelet and the grace period are not at fault."
	case n.Verdict == verdict.ControllerManager && n.NotMarked:
		text = n.notMarked()
	case n.Verdict == verdict.ControllerManager && managed:
		text = "Your provider runs the kube-controller-manager: open a case with the times of this incident. The heartbeats of " + n.Names +
			" were on time, so neither the nodes nor etcd are at fault."
	case n.Verdict == verdict.ControllerManager:
		text = "Check the kube-controller-manager: its CPU, its API rate limits (--kube-api-qps, --kube-api-burst), watch errors in its log, and leader changes (kubectl -n kube-system get lease kube-controller-manager). The heartbeats of " + n.Names + " were on time, so neither the nodes nor etcd are at fault."
	case n.Verdict == verdict.Undecided:
		text = "Find out which component is at fault (" + n.Command + "), because the evidence does not show it."
	case n.Verdict != verdict.Node: // no verdict about nodes
	case n.ClockSetBack:
		text = "Repair the time synchronization of " + n.Names + " (chronyc tracking), and let it slew the clock instead of setting it back. The kubelet and the network are healthy: " +
			"the node controller only accepts later renew times, so a node is lost until its clock passes the time of its last heartbeat."
	case n.Upgraded:
		text = "The kubelet of " + n.Names + " was replaced by a different version, and was down for longer than the grace period. Upgrade one node at a time, and drain each node first, so that kubeflap treats the upgrade as planned. The network and the grace period are not at fault."
	case n.Cause == cause.NodeNotReady:
		text = n.notReady() + " The grace period is not at fault."
	case n.Cause == cause.KubeletRestart:
		text = "Find out why the kubelet of " + n.Names + " restarted. Before v1.35, pods are not Ready while their kubelet restarts, so restart kubelets one node at a time."
	default:
		return n.silent()
	}
	return text, false
}

// sharedPath returns the remedy for nodes that fell silent together, if no provider runs the control plane.
func (n LostNodes) sharedPath() string {
	look, g := "Check etcd's disk and load first, then the API server, and the network between the nodes and the API server: all nodes depend on them. ", n.Grace
	switch others := n.KnownNodes - n.Count; {
	case others > 0 && n.Etcd:
		look = "Check etcd's disk and load first, then the API server, and the network between the nodes and the API server: all API servers stopped renewing their Leases, too. "
	case others > 0:
		look = "C" + OnlyThese[1:] + ". If they share nothing, " + SomeWrites + ". "
	}
	switch {
	case g.Period == 0:
		return look + "Leave the grace period as it is: it is not the cause."
	case g.Unsafe():
		return look + "The grace period of " + phrase.Duration(g.Period) + " is not the cause, but it is unsafe: set it to " + phrase.Duration(g.Recommended()) + "."
	}
	return look + "Leave the grace period as it is (" + phrase.Duration(g.Period) + "): it is not the cause."
}

// notMarked returns the remedy for silent nodes that the node controller does not set to Unknown.
func (n LostNodes) notMarked() string {
	look := "Check the kube-controller-manager: errors of its watch of Leases in the log, its permission to get Leases in kube-node-lease, and its leader (kubectl -n kube-system get lease kube-controller-manager). From v1.37, it logs \"Skipping\" for each node that it leaves Ready because its copy of the Lease may be outdated. If the watch of Leases is stuck, restart the kube-controller-manager to open a new one. "
	if n.Grace.Managed {
		look = "Your provider runs the kube-controller-manager, which leaves silent nodes Ready: open a case with the times of this incident. "
	}
	then := "Then find out why " + n.Names + " sent no heartbeats."
	if n.Said != (event.Words{}) {
		then = n.notReady()
	}
	return look + then + " Until the node controller sets these nodes to Unknown, their pods stay in their Services. " +
		"To remove the pods, run kubectl drain NODE --force --ignore-daemonsets or, once the machines are off, set the taint node.kubernetes.io/out-of-service."
}

// silent returns the remedy for nodes or kubelets that sent no heartbeats.
func (n LostNodes) silent() (text string, saysGrace bool) {
	few := ""
	if n.KnownNodes < FewestToCompare {
		few = fmt.Sprintf(" With only %s, a slow etcd looks the same, so check etcd, too.", phrase.Count(n.KnownNodes, "node", "nodes"))
	}
	if n.Said != (event.Words{}) {
		grace, saysGrace := n.longerGrace()
		return n.notReady() + grace, saysGrace
	}
	if n.NotRecovered && n.Longest > LongestGrace {
		return "The node or its kubelet is down: check the machine, its network and the kubelet on " + n.Names +
			". A longer grace period would only have delayed the detection." + few, false
	}
	grace, saysGrace := n.longerGrace()
	return "Find out what keeps the kubelet on " + n.Names + " from reporting every " + phrase.Duration(n.Grace.interval()) + ": check load, disk, and garbage collection of containers and images." +
		grace + few, saysGrace
}

// longerGrace describes whether a longer grace period would have helped.
func (n LostNodes) longerGrace() (text string, saysGrace bool) {
	g := n.Grace
	period := phrase.Duration(g.Period)
	switch to := g.Recommended(); {
	case n.Longest > LongestGrace:
		return " No sensible grace period covers an interval of " + phrase.Duration(n.Longest) + ".", false
	case g.Managed:
		return " You cannot set the grace period of a managed control plane. A larger machine or fewer pods make the kubelet faster. A longer toleration of node.kubernetes.io/unreachable delays evictions.", false
	case to > 0:
		return n.set(to), true
	case g.Period == 0:
		return "", false
	case n.NotRecovered:
		return " When the node is back, kubeflap will report whether a grace period longer than " + period + " would have helped.", false
	case n.EndUnseen:
		return " It is unknown whether a grace period longer than " + period + " would have helped, because kubeflap did not see the heartbeats resume.", false
	case 2*n.Longest <= g.Period:
		return " The grace period of " + period + " is long enough for all observed intervals.", false
	}
	return " The grace period of " + period + " already covers the late heartbeats of the last day.", false
}

func (n LostNodes) set(to time.Duration) string {
	s := fmt.Sprintf(" Until then, set the kube-controller-manager's --node-monitor-grace-period to %s. It is currently %s", phrase.Duration(to), phrase.Duration(n.Grace.Period))
	switch longest := phrase.Duration(n.Grace.Longest); {
	case n.EndUnseen && n.Grace.Longest > 0:
		s += ", and the longest complete interval was " + longest
	case n.EndUnseen:
	case n.Longest > 0 && n.Longest < n.Grace.Longest:
		s += fmt.Sprintf(", and the longest interval was %s (%s in the last day)", phrase.Duration(n.Longest), longest)
	case n.Longest > 0:
		s += ", and the longest interval was " + phrase.Duration(n.Longest)
	}
	if n.Grace.Unsafe() {
		s += fmt.Sprintf(" (below %s, a single lost heartbeat makes a node Unknown)", phrase.Duration(n.Grace.Shortest()))
	}
	return s + "."
}
