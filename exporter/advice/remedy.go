// Package advice holds the texts and remedies for causes and verdicts, and computes the recommended grace period. It
// keeps no state.
package advice

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// FewestToCompare is the minimum number of nodes that a cluster needs so that kubeflap can distinguish a fault of a
// node from a fault of the control plane.
const FewestToCompare = 3

// OnlyThese is the remedy if some nodes, but not all, fell silent together.
const OnlyThese = "check what only these nodes share on the way to the API server, such as a zone, a network, a load balancer or one of several API servers"

// ControlPlaneRemedy returns the remedy for nodes that fell silent together. others is the number of unaffected nodes.
// etcd is true if all API servers stopped renewing their own Leases.
func ControlPlaneRemedy(g GracePeriod, others int, etcd bool) string {
	if g.Managed {
		return "Check what these nodes share on the way to the API server: zone, network, NAT gateway, firewall. " +
			"Your provider runs etcd and the API server: open a case with the times of this incident."
	}
	look := "Check etcd's disk and load first, then the API server, and the network between the nodes and the API server: all nodes depend on them. "
	switch {
	case others > 0 && etcd:
		look = "Check etcd's disk and load first, then the API server, and the network between the nodes and the API server: all API servers stopped renewing their Leases, too. "
	case others > 0:
		look = "If the heartbeats of the other " + phrase.Count(others, "node", "nodes") + " are on time, etcd works: " + OnlyThese +
			". If not, check etcd's disk and load first, then the API server. "
	}
	switch {
	case g.Period == 0:
		return look + "Leave the grace period as it is: it is not the cause."
	case g.Unsafe():
		return look + "The grace period of " + phrase.Duration(g.Period) + " is not the cause, but it is unsafe: set it to " + phrase.Duration(g.Recommended()) + "."
	}
	return look + "Leave the grace period as it is (" + phrase.Duration(g.Period) + "): it is not the cause."
}

// VerdictRemedy returns the remedy for nodes with a verdict. It returns an empty string if the remedy depends on more
// data than the arguments. For an undecided verdict, the remedy ends with the given command, which helps to find the
// cause.
func VerdictRemedy(v verdict.Verdict, nodes, command string, managed bool) string {
	switch v {
	case verdict.Planned:
		return "Nothing is at fault: the removal or maintenance of " + nodes + " was planned."
	case verdict.NodeRebooted:
		return "Find out why the machine of " + nodes + " restarted: check its console, the kernel log of the previous boot (journalctl -b -1) and the provider's events. The kubelet and the grace period are not at fault."
	case verdict.ControllerManager:
		if managed {
			return "Your provider runs the kube-controller-manager: open a case with the times of this incident. The heartbeats of " + nodes +
				" were on time, so neither the nodes nor etcd are at fault."
		}
		return "Check the kube-controller-manager: its CPU, its API rate limits (--kube-api-qps, --kube-api-burst), watch errors in its log, and leader changes (kubectl -n kube-system get lease kube-controller-manager). The heartbeats of " + nodes + " were on time, so neither the nodes nor etcd are at fault."
	case verdict.Undecided:
		return "The evidence does not show which component is at fault. To find out: " + command
	}
	return ""
}

// UpgradedRemedy returns the remedy for nodes that were silent during a kubelet upgrade.
func UpgradedRemedy(nodes string) string {
	return "The kubelet of " + nodes + " was replaced by a different version, and was down for longer than the grace period. Upgrade one node at a time, and drain each node first, so that kubeflap treats the upgrade as planned. The network and the grace period are not at fault."
}

// NotMarkedRemedy returns the remedy for silent nodes that the node controller does not set to Unknown.
func NotMarkedRemedy(nodes string, managed bool) string {
	const out = "Until the node controller sets these nodes to Unknown, their pods stay in their Services. To remove the pods, run kubectl drain %s --force --ignore-daemonsets or, once the machines are off, set the taint node.kubernetes.io/out-of-service."
	look := "Check the kube-controller-manager: errors of its watch of Leases in the log, its permission to get Leases in kube-node-lease, and its leader (kubectl -n kube-system get lease kube-controller-manager). From v1.37, it logs \"Skipping\" for each node that it leaves Ready because its copy of the Lease may be outdated. If the watch of Leases is stuck, restart the kube-controller-manager to open a new one. "
	if managed {
		look = "Your provider runs the kube-controller-manager, which leaves silent nodes Ready: open a case with the times of this incident. "
	}
	return look + "Then find out why " + nodes + " sent no heartbeats. " + fmt.Sprintf(out, "NODE")
}

// ClockRemedy returns the remedy for nodes whose clocks were set back.
func ClockRemedy(nodes string) string {
	return "Repair the time synchronization of " + nodes + " (chronyc tracking), and let it slew the clock instead of setting it back. The kubelet and the network are healthy: " +
		"the node controller only accepts later renew times, so a node is lost until its clock passes the time of its last heartbeat."
}

// ShortGracePeriodRemedy returns the remedy for a grace period that is too short even for healthy kubelets.
func ShortGracePeriodRemedy(g GracePeriod) string {
	if g.Managed {
		return fmt.Sprintf("Your provider sets the grace period of %s, so open a case with your provider. Kubelets renew their Lease every %s, so even healthy nodes exceed the grace period. As a workaround, set a shorter nodeLeaseDurationSeconds: kubelets renew their Lease four times in that period.",
			phrase.Duration(g.Period), phrase.Duration(g.interval()))
	}
	return fmt.Sprintf("Set --node-monitor-grace-period of the kube-controller-manager to %s. It is currently %s. The default is 40s (50s from v1.32). Kubelets renew their Lease every %s, so less than %s is always unsafe: a single lost heartbeat makes a node Unknown.",
		phrase.Duration(g.Recommended()), phrase.Duration(g.Period), phrase.Duration(g.interval()), phrase.Duration(g.Shortest()))
}

// firstSteps holds the first step for each verdict, in at most eight words, so that the demo's table stays narrow.
var firstSteps = [verdict.Count]string{
	verdict.Undecided:           "run the command that the incident names",
	verdict.Node:                "find out what keeps the kubelet from reporting",
	verdict.NodeRebooted:        "find out why the machine restarted",
	verdict.SharedPath:          "check etcd, then what these nodes share",
	verdict.ControllerManager:   "check load, watches and limits of the kube-controller-manager",
	verdict.GracePeriod:         "raise --node-monitor-grace-period",
	verdict.Planned:             "nothing: the removal or maintenance was planned",
	verdict.EndpointsController: "remove the selector of the Service",
	verdict.ForeignWriter:       "find out who writes these addresses",
	verdict.ServiceSpec:         "compare the selector with the pods' labels",
	verdict.UpdateInPlace:       "set a readiness gate to False before updating",
	verdict.Workload:            "check probes, exits and deletions of the pods",
}

// FirstStep returns the first step for a verdict in a few words. The incident's remedy contains the details.
func FirstStep(v verdict.Verdict) string { return firstSteps[v] }

// toFix names the component to fix for each verdict, as in docs/incidents.md.
var toFix = [verdict.Count]string{
	verdict.Undecided:           "unknown",
	verdict.Node:                "the node or its kubelet",
	verdict.NodeRebooted:        "the machine, which restarted",
	verdict.SharedPath:          "something that several nodes share: etcd, an API server, a zone or a network",
	verdict.ControllerManager:   "the kube-controller-manager",
	verdict.GracePeriod:         "the setting --node-monitor-grace-period",
	verdict.Planned:             "nothing: the removal or maintenance was planned",
	verdict.EndpointsController: "the selector of a Service with manually managed Endpoints",
	verdict.ForeignWriter:       "the client that writes the addresses",
	verdict.ServiceSpec:         "the Service, which was changed",
	verdict.UpdateInPlace:       "the rollout, which changes images while the pods receive traffic",
	verdict.Workload:            "the pods of the workload",
}

// ToFix names the component to fix for a verdict.
func ToFix(v verdict.Verdict) string { return toFix[v] }
