package advice

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

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
}

// Remedy returns the remedy for the nodes. It also warns of an unsafe grace period, whatever the verdict is.
func (n LostNodes) Remedy() string {
	text, saysGrace := n.byVerdict()
	g := n.Grace
	switch {
	case !g.Unsafe() || saysGrace:
		return text
	case g.Managed:
		return text + fmt.Sprintf(" Whatever the cause, the grace period of %s is unsafe. Your provider sets it, so open a case with your provider.", phrase.Duration(g.Period))
	}
	return text + fmt.Sprintf(" Whatever the cause, the grace period of %s is unsafe: set --node-monitor-grace-period to %s.", phrase.Duration(g.Period), phrase.Duration(g.Recommended()))
}

// byVerdict returns the remedy for the verdict. saysGrace is true if the text already covers the grace period.
func (n LostNodes) byVerdict() (text string, saysGrace bool) {
	switch {
	case n.Verdict == verdict.GracePeriod:
		return ShortGracePeriodRemedy(n.Grace), true
	case n.Verdict == verdict.SharedPath:
		return ControlPlaneRemedy(n.Grace, n.KnownNodes-n.Count, n.Etcd), !n.Grace.Managed
	case n.Verdict == verdict.ControllerManager && n.NotMarked:
		return NotMarkedRemedy(n.Names, n.Grace.Managed), false
	case n.Verdict != verdict.Node:
		return VerdictRemedy(n.Verdict, n.Names, n.Command, n.Grace.Managed), false
	case n.ClockSetBack:
		return ClockRemedy(n.Names), false
	case n.Upgraded:
		return UpgradedRemedy(n.Names), false
	}
	return n.ofKubelet()
}

// ofKubelet returns the remedy for a fault of the node or its kubelet.
func (n LostNodes) ofKubelet() (text string, saysGrace bool) {
	switch n.Cause {
	case cause.NodeNotReady:
		return "Find out why. kubectl describe node " + n.Names + " shows the message of the Ready condition (container runtime, network plug-in, disk). " +
			"The grace period is not at fault.", false
	case cause.KubeletRestart:
		return "Find out why the kubelet of " + n.Names + " restarted. Before v1.35, pods are not Ready while their kubelet restarts, so restart kubelets one node at a time.", false
	}
	few := ""
	if n.KnownNodes < FewestToCompare {
		few = fmt.Sprintf(" With only %s, a slow etcd looks the same, so check etcd, too.", phrase.Count(n.KnownNodes, "node", "nodes"))
	}
	if n.NotRecovered && n.Longest > LongestGrace {
		return "The node or its kubelet is down: check the machine, its network and the kubelet on " + n.Names +
			". A longer grace period would only have delayed the detection." + few, false
	}
	grace, saysGrace := n.gracePeriod()
	return "Find out what keeps the kubelet on " + n.Names + " from reporting every " + phrase.Duration(n.Grace.interval()) + ": check load, disk, and garbage collection of containers and images." +
		grace + few, saysGrace
}

// gracePeriod describes whether a longer grace period would have helped.
func (n LostNodes) gracePeriod() (text string, saysGrace bool) {
	g := n.Grace
	to := g.Recommended()
	switch {
	case n.Longest > LongestGrace:
		return fmt.Sprintf(" No sensible grace period covers an interval of %s.", phrase.Duration(n.Longest)), false
	case g.Managed:
		return " You cannot set the grace period of a managed control plane. A larger machine or fewer pods make the kubelet faster. A longer toleration of node.kubernetes.io/unreachable delays evictions.", false
	case to > 0:
		return n.set(to), true
	case g.Period == 0:
		return "", false
	case n.NotRecovered:
		return fmt.Sprintf(" When the node is back, kubeflap will report whether a grace period longer than %s would have helped.", phrase.Duration(g.Period)), false
	case n.EndUnseen:
		return fmt.Sprintf(" It is unknown whether a grace period longer than %s would have helped, because kubeflap did not see the heartbeats resume.", phrase.Duration(g.Period)), false
	case 2*n.Longest <= g.Period:
		return fmt.Sprintf(" The grace period of %s is long enough for all observed intervals.", phrase.Duration(g.Period)), false
	}
	return fmt.Sprintf(" The grace period of %s already covers the late heartbeats of the last day.", phrase.Duration(g.Period)), false
}

func (n LostNodes) set(to time.Duration) string {
	s := fmt.Sprintf(" Until then, set the kube-controller-manager's --node-monitor-grace-period to %s. It is currently %s", phrase.Duration(to), phrase.Duration(n.Grace.Period))
	switch {
	case n.EndUnseen && n.Grace.Longest > 0:
		s += fmt.Sprintf(", and the longest complete interval was %s", phrase.Duration(n.Grace.Longest))
	case n.EndUnseen:
	case n.Longest > 0 && n.Longest < n.Grace.Longest:
		s += fmt.Sprintf(", and the longest interval was %s (%s on other nodes)", phrase.Duration(n.Longest), phrase.Duration(n.Grace.Longest))
	case n.Longest > 0:
		s += ", and the longest interval was " + phrase.Duration(n.Longest)
	}
	if n.Grace.Unsafe() {
		s += fmt.Sprintf(" (below %s, a single lost heartbeat makes a node Unknown)", phrase.Duration(n.Grace.Shortest()))
	}
	return s + "."
}
