package report

import (
	"fmt"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// The incidents have decided who has to fix it. A report repeats their verdicts, and judges by itself only the nodes without one.

// explained reports whether the verdicts about a node name another party, or none: then its late heartbeats do not show a slow kubelet, and
// no grace period should bridge them.
func (n *Node) explained() bool {
	return len(n.Verdicts) > 0 && !slices.Contains(n.Verdicts, verdict.Node) && !slices.Contains(n.Verdicts, verdict.GracePeriod)
}

// with are the nodes about which there is a verdict.
func (b *heartbeats) with(v verdict.Verdict) (some []Node) {
	for _, n := range b.nodes {
		if slices.Contains(n.Verdicts, v) {
			some = append(some, n)
		}
	}
	sortSlowest(some)
	return some
}

// verdictRecommendations are about the nodes whose incidents blame something else than their kubelets.
func (b *heartbeats) verdictRecommendations() (all []Recommendation) {
	if some := b.with(verdict.SharedPath); len(some) > 0 && !b.all {
		all = append(all, b.controlPlane(some))
	}
	for _, x := range []struct {
		verdict  verdict.Verdict
		kind     Kind
		severity Severity
		why      string
	}{
		{verdict.ControllerManager, ControllerManagerSlow, Bad, "the node controller judged these nodes wrongly: it set nodes to Unknown whose heartbeats were in time, or left silent nodes Ready."},
		{verdict.NodeRebooted, NodesRebooted, Warning, "these nodes reported another bootID: the machine restarted, and nothing had announced that."},
		{verdict.Undecided, Undecided, Warning, "a wrong name would cost more than none: the page of the incidents shows what was considered, and a command that would decide."},
	} {
		some := b.with(x.verdict)
		if len(some) == 0 {
			continue
		}
		var names []string
		for _, n := range some {
			names = append(names, n.Name)
		}
		all = append(all, Recommendation{
			Kind: x.kind, Severity: x.severity, Nodes: lateNodes(some), Set: b.renewalText(),
			Observed: fmt.Sprintf("%s of %d in such an incident in the last ten minutes: %s", phrase.Count(len(some), "node", "nodes"), len(b.nodes), phrase.Some(names)),
			Advice:   advice.VerdictRemedy(x.verdict, phrase.Some(names), "the command that /flaps shows with the incident", b.managed),
			Why:      x.why,
		})
	}
	return all
}
