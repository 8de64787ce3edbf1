package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// ShortToleration counts a namespace's pods that have a short tolerationSeconds for nodes that are not Ready. Shortest
// is the shortest of these tolerations.
type ShortToleration struct {
	Namespace string
	Pods      int
	Shortest  time.Duration
}

// flagAdvice is the advice on one flag of the kube-controller-manager. It applies if the flag is set and differs()
// returns true.
type flagAdvice struct {
	name string
	// differs reports whether the value differs enough from the profiles to need a change.
	differs func(value float64, b *heartbeats) bool
	// The field assumed describes the value in the profiles, and advice describes the change to make. The function why
	// returns the reason for the advice.
	assumed, advice string
	why             func(value float64, b *heartbeats) string
}

// podsOfANode is the default value of the kubelet's maxPods.
const podsOfANode = 110

// flagAdvices has an entry for each flag that `kubeflap advise` checks. The defaults come from app/options and
// nodelifecycle/config of the kube-controller-manager.
var flagAdvices = []flagAdvice{
	{
		name: "node-monitor-period", assumed: "5s in the default, medium and slow profiles, 2s in fast",
		differs: func(v float64, b *heartbeats) bool { return v > 5 || b.grace > 0 && 4*v > b.grace.Seconds() },
		advice:  "remove the flag: 5s is the default",
		why: func(v float64, _ *heartbeats) string {
			return fmt.Sprintf("the node controller checks the nodes once per period, so it notices a heartbeat and the end of the grace period up to %s late.", brief(inSeconds(2*v)))
		},
	},
	{
		name: "kube-api-qps", assumed: "20 a second by default", advice: "set 20 or more, and --kube-api-burst to 1.5 times that",
		differs: func(v float64, _ *heartbeats) bool { return v > 0 && v < 20 },
		why: func(v float64, _ *heartbeats) string {
			return fmt.Sprintf("each pod of a lost node takes one write. %d pods take %s, and the pods of other nodes wait.", podsOfANode, brief(inSeconds(podsOfANode/v)))
		},
	},
	{
		name: "kube-api-burst", assumed: "30 by default", advice: "set 30 or more",
		differs: func(v float64, _ *heartbeats) bool { return v > 0 && v < 30 },
		why: func(_ float64, _ *heartbeats) string {
			return "writes beyond the burst are limited to --kube-api-qps: the pods of a lost node are marked not ready one by one, and their addresses are removed one by one."
		},
	},
	{
		name: "concurrent-endpoint-syncs", assumed: "5 by default", advice: "set 5 or more", differs: fewerThan5,
		why: func(_ float64, _ *heartbeats) string {
			return "only this many Endpoints are updated at the same time. When a node is lost, the Endpoints of the other Services keep dead addresses."
		},
	},
	{
		name: "concurrent-service-endpoint-syncs", assumed: "5 by default", advice: "set 5 or more", differs: fewerThan5,
		why: func(_ float64, _ *heartbeats) string {
			return "EndpointSlices of only this many Services are updated at the same time. When a node is lost, the other Services keep dead addresses."
		},
	},
	{
		name: "node-eviction-rate", assumed: "0.1 nodes a second by default", advice: "remove the flag",
		differs: func(v float64, _ *heartbeats) bool { return v <= 0 || v > 0.1 },
		why:     whyEvictionRate,
	},
}

// whyEvictionRate explains the advice on --node-eviction-rate. With a rate of 0, the node lifecycle controller still
// taints one node in each zone. The rate limiter of a new zone starts with one token, and never gets another one
// (addPodEvictorForNewZone). A node with Ready=False also uses up this token. If most nodes of a large zone are not
// Ready, the secondary rate applies (ReducedQPSFunc). Once these nodes are Ready again, the controller taints no nodes
// at all, because the new limiter has no token (SwapLimiter).
func whyEvictionRate(v float64, _ *heartbeats) string {
	if v <= 0 {
		return "after its start, the kube-controller-manager evicts the pods of only one node in each zone: the first that is not Ready. " +
			"The pods of other dead nodes stay, so nothing replaces them. " +
			"If most but not all nodes in a zone of more than 50 nodes are not Ready, --secondary-node-eviction-rate applies instead."
	}
	return "if several nodes flap, the pods of all of them are evicted within seconds. With the default, there are 10s between two nodes."
}

func fewerThan5(v float64, _ *heartbeats) bool { return v < 5 }

// settingRecommendations compares the controller manager's flags and the pods' tolerations with the profiles.
func settingRecommendations(c Cluster, b *heartbeats) (all []Recommendation) {
	for _, f := range flagAdvices {
		v, set := c.Flags[f.name]
		if !set || !f.differs(v, b) {
			continue
		}
		all = append(all, Recommendation{
			Kind: ControllerManagerFlag, Severity: b.ifNodesWereLost(), Set: fmt.Sprintf("--%s=%s", f.name, flagText(f.name, v)),
			Observed: f.assumed, Advice: f.advice, Why: f.why(v, b),
		})
	}
	if len(c.ShortTolerations) > 0 {
		all = append(all, shortTolerations(c.ShortTolerations, b))
	}
	return all
}

func flagText(name string, v float64) string {
	if strings.HasSuffix(name, "-period") {
		return brief(inSeconds(v))
	}
	return fmt.Sprintf("%g", v)
}

// ifNodesWereLost returns the severity of settings that determine the impact of a lost node. It returns Warning if a
// node was lost, and otherwise Note.
func (b *heartbeats) ifNodesWereLost() Severity {
	if slices.ContainsFunc(b.nodes, func(n Node) bool { return n.Missed > 0 }) {
		return Warning
	}
	return Note
}

func shortTolerations(short []ShortToleration, b *heartbeats) Recommendation {
	const some = 5
	pods, shortest := 0, short[0].Shortest
	var names []string
	for i, x := range short {
		pods += x.Pods
		shortest = min(shortest, x.Shortest)
		if i < some {
			names = append(names, fmt.Sprintf("%s (%d, %s)", x.Namespace, x.Pods, brief(x.Shortest)))
		}
	}
	if len(short) > some {
		names = append(names, fmt.Sprintf("and %d more namespaces", len(short)-some))
	}
	return Recommendation{
		Kind: ShortTolerations, Severity: b.ifNodesWereLost(),
		Set:      fmt.Sprintf("tolerationSeconds of %s for a node that is not Ready", brief(shortest)),
		Observed: fmt.Sprintf("%s with at most 1m, in %s; the default is 5m, and the profiles set 30s (fast) or 1m (medium, slow)", phrase.Count(pods, "pod", "pods"), strings.Join(names, ", ")),
		Advice:   "give these pods longer tolerationSeconds for node.kubernetes.io/not-ready and node.kubernetes.io/unreachable, unless they must be replaced immediately",
		Why:      fmt.Sprintf("if a node sends no heartbeat for one grace period and returns after %s, these pods are already evicted.", brief(shortest)),
	}
}
