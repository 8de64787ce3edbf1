package report

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// The verdict of an incident names the component at fault, and the report repeats the verdict.

// verdictRecommendations returns the recommendations about nodes whose incidents blame something other than a slow
// kubelet.
func (b *heartbeats) verdictRecommendations() (all []Recommendation) {
	all = b.byAge(b.nodesWith(verdict.SharedPath), b.controlPlane)
	for _, x := range []struct {
		kind     Kind
		severity Severity
		nodes    []lateNode
		remedy   func(nodes string) string
		why      string
	}{
		{
			ControllerManagerSlow, Bad, b.nodesWith(verdict.ControllerManager), b.verdictRemedy(verdict.ControllerManager),
			"the node controller was wrong about these nodes: it set them to Unknown although their heartbeats were on time, or left them Ready although they were silent.",
		},
		{
			NodesRebooted, Warning, b.nodesWith(verdict.NodeRebooted), b.verdictRemedy(verdict.NodeRebooted),
			"these nodes reported a new bootID, so their machines restarted. No taint, deletion, condition or cordon had announced the restarts.",
		},
		{
			KubeletsUpgraded, Warning, b.nodesWith(verdict.Node, verdict.Upgraded), advice.UpgradedRemedy,
			"these nodes reported a different kubelet version after the silence. No taint, deletion, condition or cordon had announced the upgrades.",
		},
		{
			ClocksSetBack, Warning, b.nodesWith(verdict.Node, verdict.ClockSetBack), advice.ClockRemedy,
			"heartbeats of these nodes arrived on time, but their timestamps were older than the previous ones, so the node controller ignored them.",
		},
		{
			Undecided, Warning, b.nodesWith(verdict.Undecided), b.verdictRemedy(verdict.Undecided),
			"a wrong verdict would be worse than none. The incident page shows the hypotheses, and a command that can decide between them.",
		},
	} {
		all = append(all, b.byAge(x.nodes, func(some []lateNode) Recommendation {
			var names []string
			for _, n := range some {
				names = append(names, n.Name)
			}
			return Recommendation{
				Kind: x.kind, Severity: x.severity, Nodes: lateNodes(some), Set: b.renewalText(),
				Observed: fmt.Sprintf("incidents of this kind affect %d of %d nodes: %s", len(some), len(b.nodes), b.nameSome(some)),
				Advice:   x.remedy(phrase.Some(names)),
				Why:      x.why,
			}
		})...)
	}
	return all
}

// verdictRemedy returns a function that returns the remedy for nodes with the verdict.
func (b *heartbeats) verdictRemedy(v verdict.Verdict) func(nodes string) string {
	return func(nodes string) string {
		return advice.VerdictRemedy(v, nodes, "the command that /flaps shows with the incident", b.managed)
	}
}
