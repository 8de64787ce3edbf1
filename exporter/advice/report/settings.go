package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
)

// podsOfANode is the default value of the kubelet's maxPods.
const podsOfANode = 110

// checkFlag describes the value of a flag in the profiles, the change to make, and the reason. The reason is empty if
// the flag needs no change. The defaults come from app/options and nodelifecycle/config of the kube-controller-manager.
func (c *cluster) checkFlag(name string, v float64) (assumed, advice, why string) {
	switch {
	case name == "node-monitor-period" && (v > 5 || c.grace.Period > 0 && 4*v > c.grace.Period.Seconds()):
		return "5s in the default, medium and slow profiles, 2s in fast", "remove the flag: 5s is the default",
			fmt.Sprintf("the node controller checks the nodes once per period, so it notices a heartbeat and the end of the grace period up to %s late.", phrase.Duration(inSeconds(2*v)))
	case name == "kube-api-qps" && v > 0 && v < 20:
		return "20 a second by default", "set 20 or more, and --kube-api-burst to 1.5 times that",
			fmt.Sprintf("each pod of a lost node takes one write. %d pods take %s, and the pods of other nodes wait.", podsOfANode, phrase.Duration(inSeconds(podsOfANode/v)))
	case name == "kube-api-burst" && v > 0 && v < 30:
		return "30 by default", "set 30 or more",
			"writes beyond the burst are limited to --kube-api-qps: the pods of a lost node are marked not ready one by one, and their addresses are removed one by one."
	case name == "concurrent-endpoint-syncs" && v < 5:
		return "5 by default", "set 5 or more",
			"only this many Endpoints are updated at the same time. When a node is lost, the Endpoints of the other Services keep dead addresses."
	case name == "concurrent-service-endpoint-syncs" && v < 5:
		return "5 by default", "set 5 or more",
			"EndpointSlices of only this many Services are updated at the same time. When a node is lost, the other Services keep dead addresses."
	case name == "node-eviction-rate" && v <= 0:
		// The node lifecycle controller still taints one node in each zone. The rate limiter of a new zone starts with one
		// token, and never gets another one (addPodEvictorForNewZone). A node with Ready=False also uses up this token. If
		// most nodes of a large zone are not Ready, the secondary rate applies (ReducedQPSFunc). Once these nodes are Ready
		// again, the controller taints no nodes at all, because the new limiter has no token (SwapLimiter).
		why = "after its start, the kube-controller-manager evicts the pods of only one node in each zone: the first that is not Ready. " +
			"The pods of other dead nodes stay, so nothing replaces them. " +
			"If most but not all nodes in a zone of more than 50 nodes are not Ready, --secondary-node-eviction-rate applies instead."
	case name == "node-eviction-rate" && v > 0.1:
		why = "if several nodes flap, the pods of all of them are evicted within seconds. With the default, there are 10s between two nodes."
	case name == "pod-eviction-timeout" && v <= 60:
		return "5m by default, and 30s (fast) or 1m (medium, slow) in the profiles", "set 5m, unless the pods of a lost node must be replaced immediately",
			fmt.Sprintf("up to v1.12, if a node sends no heartbeat for one grace period and returns after %s, its pods are already evicted. Later versions ignore the flag: the tolerations of the pods apply.", phrase.Duration(inSeconds(v)))
	}
	return "0.1 nodes a second by default", "remove the flag", why
}

// settingRecommendations compares the controller manager's flags and the pods' tolerations with the profiles.
func (c *cluster) settingRecommendations() (all []Recommendation) {
	severity := note
	if slices.ContainsFunc(c.nodes, func(n node) bool { return n.MissedHeartbeats > 0 }) {
		severity = warning // these settings determine the impact of a lost node
	}
	for _, flag := range c.flags {
		assumed, advice, why := c.checkFlag(flag.Name, flag.Value)
		if why == "" {
			continue
		}
		value := fmt.Sprintf("%g", flag.Value)
		if (event.ManagerFlag{Name: flag.Name}).IsDuration() {
			value = phrase.Duration(inSeconds(flag.Value))
		}
		all = append(all, Recommendation{
			Kind: "controller_manager_flag", Severity: severity, Set: fmt.Sprintf("--%s=%s", flag.Name, value), Observed: assumed, Advice: advice, Why: why,
		})
	}
	if len(c.short) > 0 {
		all = append(all, shortTolerations(c.short, severity))
	}
	return all
}

func shortTolerations(short []pods.ShortTolerations, severity string) Recommendation {
	number, shortest := 0, short[0].Shortest
	var names []string
	for i, n := range short {
		number += n.Pods
		shortest = min(shortest, n.Shortest)
		if i < some {
			names = append(names, fmt.Sprintf("%s (%d, %s)", n.Namespace, n.Pods, phrase.Duration(n.Shortest)))
		}
	}
	if len(short) > some {
		names = append(names, fmt.Sprintf("and %d more namespaces", len(short)-some))
	}
	return Recommendation{
		Kind: "short_tolerations", Severity: severity,
		Set:      fmt.Sprintf("tolerationSeconds of %s for a node that is not Ready", phrase.Duration(shortest)),
		Observed: fmt.Sprintf("%s with at most 1m, in %s; the default is 5m, and the profiles set 30s (fast) or 1m (medium, slow)", phrase.Count(number, "pod", "pods"), strings.Join(names, ", ")),
		Advice:   "give these pods longer tolerationSeconds for node.kubernetes.io/not-ready and node.kubernetes.io/unreachable, unless they must be replaced immediately",
		Why:      fmt.Sprintf("if a node sends no heartbeat for one grace period and returns after %s, these pods are already evicted.", phrase.Duration(shortest)),
	}
}
