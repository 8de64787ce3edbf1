// Package judge decides which component needs to be fixed if nodes were lost. It collects facts about the silences, weighs
// hypotheses against these facts, and reports which hypotheses it excluded and why.
//
// The decision depends on neither a clock nor any state, so the same facts always produce the same decision.
package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// rule tells what a fact means for a hypothesis, depending on whether the fact is yes, no or unknown.
type rule struct {
	fact             func(*weighing) fact
	yes, no, unknown verdict.Answer
}

const unknown, no, yes = verdict.Unknown, verdict.No, verdict.Yes

// next means that the fact decides nothing, so the next rule counts.
const next verdict.Answer = 255

// nodeHypotheses lists the hypotheses about a node incident in order of precedence. The first fact that decides a
// hypothesis is the reason for its answer.
var nodeHypotheses = []struct {
	verdict verdict.Verdict
	rules   []rule
}{
	{verdict.Planned, []rule{
		{announced, yes, no, unknown},
	}},
	{verdict.NodeRebooted, []rule{
		{rebooted, yes, no, unknown},
	}},
	{verdict.GracePeriod, []rule{
		{graceTooShort, next, no, unknown},
		{leasesUnseen, unknown, next, next},
		{oneHeartbeatLost, yes, no, next},
	}},
	{verdict.ControllerManager, []rule{
		{leftReady, yes, next, next},
		{markedInTime, yes, next, unknown},
		{leftReady, yes, next, unknown},
		{leasesUnseen, unknown, next, next},
		{markedLate, no, next, unknown},
	}},
	{verdict.SharedPath, []rule{
		{func(w *weighing) fact { return w.shared }, yes, no, unknown},
	}},
	{verdict.Node, []rule{
		{leasesUnseen, unknown, next, next},
		{clockSetBack, yes, next, next},
		{upgraded, yes, next, next},
		{silencesUnproven, unknown, next, next},
		{neverSilent, yes, next, next},
		{oneOfSeveral, no, next, unknown},
		{perhapsTogether, unknown, next, next},
		{othersUnseen, unknown, next, next},
		{machineGone, unknown, next, next},
		{neverLate, no, next, next},
		{othersInTime, yes, no, unknown},
	}},
}

// together decides whether nodes that fell silent together share the cause. onSharedPath decides it for the others.
var together = []rule{
	{leasesUnseen, unknown, next, next},
	{otherKubelets, no, next, next},
	{togetherForOtherReason, unknown, next, next},
	{fellTogether, yes, next, next},
}

var onSharedPath = slices.Concat(together, []rule{
	{silencesUnproven, unknown, next, next},
	{perhapsTogether, unknown, next, next},
	{oneAfterAnother, yes, next, next},
	{fellTogether, yes, no, unknown},
})

// answer returns the answer of the first rule that decides, with how its fact is known. The answer is `next` if no rule
// decides.
func (w *weighing) answer(rules []rule) fact {
	for _, r := range rules {
		f := r.fact(w)
		if is := [...]verdict.Answer{unknown: r.unknown, no: r.no, yes: r.yes}[f.is]; is != next {
			return fact{is, f.how}
		}
	}
	return fact{is: next}
}

// weigh finds out whether the nodes of the incident fell silent together.
func weigh(f *NodeLoss) *weighing {
	w := &weighing{NodeLoss: f.prepared(), own: f.Silences}
	w.controlPlane()
	w.group = w.largestGroup()
	w.grouped.is, w.grouped.how = w.oneCause(w.group, w.pathFailed)
	w.grouped.how = w.groupText()
	if n := len(w.stopped); w.grouped.is == unknown && n > 0 && n < w.ControlPlane.AsOf.APIServers {
		w.grouped.is = yes // an API server stopped at the same time
	}
	return w
}

// weighAll also finds out whether the nodes share the cause.
func weighAll(f *NodeLoss) *weighing {
	w := weigh(f)
	if w.shared = w.answer(onSharedPath); w.shared.is == yes {
		w.shared.how += w.pathText()
	}
	return w
}

// SharedPathAnswer reports whether something that the nodes share delayed their heartbeats.
func SharedPathAnswer(f *NodeLoss) verdict.Answer { return weighAll(f).shared.is }

// SimultaneousSilences returns the silences of several lost nodes that began within one heartbeat interval and have a
// common cause. It returns nil if chance may explain them.
func SimultaneousSilences(f *NodeLoss) silence.List {
	w := weigh(f)
	if w.answer(together).is != yes {
		return nil
	}
	if lost := w.group.Filter(func(s *silence.Silence) bool { return !s.Short }); len(lost) > 1 {
		return lost
	}
	return nil
}

// SuccessiveSilences returns the silences of nodes that fell silent one after another. It returns nil if chance may
// explain them.
func SuccessiveSilences(f *NodeLoss) silence.List { return f.prepared().cluster.inTurn() }

// OfNodes returns the decision about a node incident.
func OfNodes(f *NodeLoss) (d verdict.Decision) {
	w := weighAll(f)
	for _, h := range nodeHypotheses {
		answer := w.answer(h.rules)
		d.Considered = append(d.Considered, verdict.Considered{Verdict: h.verdict, Holds: answer.is, Because: answer.how})
		if answer.is == yes && d.Verdict == verdict.Undecided {
			d.Verdict = h.verdict
		}
	}
	if d.Verdict == verdict.SharedPath {
		d.Together = len(w.group.OfEachNode())
	}
	d.Etcd = d.Verdict == verdict.SharedPath && len(w.stopped) > 0 && len(w.stopped) >= f.ControlPlane.AsOf.APIServers
	if d.Verdict == verdict.Undecided {
		d.Command = w.command()
	}
	return d
}

// command returns a command whose output can decide between the remaining hypotheses.
func (w *weighing) command() string {
	switch {
	case announced(w).is == unknown:
		return "kubectl get node " + w.own[0].Node + " -o yaml --show-managed-fields # shows when somebody cordoned or tainted it"
	case w.own.Any(isUnseen):
		return "kubectl -n kube-node-lease get leases # shows when each node last renewed its Lease; grant kubeflap get, list and watch on Leases"
	}
	return fmt.Sprintf("kubectl get events -A --field-selector involvedObject.kind=Node # on %s: journalctl -u kubelet --since '%s UTC'",
		w.own.Nodes(), w.own[0].Began.UTC().Format(time.DateTime))
}

// Withdrawn returns the decision about an incident that kubeflap has withdrawn. In this decision, all hypotheses are
// excluded.
func Withdrawn(because string) (d verdict.Decision) {
	for _, h := range nodeHypotheses {
		d.Considered = append(d.Considered, verdict.Considered{Verdict: h.verdict, Holds: no, Because: because})
	}
	return d
}
