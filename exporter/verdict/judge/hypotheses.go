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
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// rule tells what a fact means for a hypothesis, depending on whether the fact is yes, no or unknown.
type rule struct {
	fact             int
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
	{verdict.SharedPath, onSharedPath},
	{verdict.Node, []rule{
		{leasesUnseen, unknown, next, next},
		{clockSetBack, yes, next, next},
		{upgraded, yes, next, next},
		{silencesUnproven, unknown, next, next},
		{neverSilent, yes, next, next},
		{oneOfSeveral, no, next, unknown},
		{perhapsTogether, unknown, next, next},
		{othersUnseen, unknown, next, next},
		{machineUnclear, unknown, next, next},
		{machineGone, unknown, next, next},
		{neverLate, no, next, next},
		{othersInTime, yes, no, unknown},
	}},
}

// onSharedPath begins with the rules about nodes that certainly fell silent together or not: simultaneousRules is their number.
var onSharedPath = []rule{
	{leasesUnseen, unknown, next, next},
	{otherKubelets, no, next, next},
	{togetherForOtherReason, unknown, next, next},
	{together, yes, next, next},
	{silencesUnproven, unknown, next, next},
	{perhapsTogether, unknown, next, next},
	{inTurn, yes, next, next},
	{together, yes, no, unknown},
}

const simultaneousRules = 4

// answer returns the answer of the first rule that decides, with how its fact is known. The answer is `next` if no rule
// decides.
func (w *weighing) answer(rules []rule) fact {
	for _, r := range rules {
		f := w.facts[r.fact]
		if is := [...]verdict.Answer{unknown: r.unknown, no: r.no, yes: r.yes}[f.is]; is != next {
			return fact{is, f.how}
		}
	}
	return fact{is: next}
}

// prepare returns a weighing without facts.
func prepare(f *NodeLoss) *weighing {
	if f.cluster == nil {
		f.cluster = &cluster{recent: silence.ByBegan(f.Recent), late: silence.ByBegan(f.Late)}
		f.cluster.noWitness = f.Day.Filter(func(s *silence.Silence) bool { return s.Explained() || s.Found.Is })
	}
	w := &weighing{NodeLoss: f, own: f.Silences}
	w.controlPlane()
	return w
}

// weigh collects the facts that decide whether several nodes share a cause.
func weigh(f *NodeLoss) *weighing {
	w := prepare(f)
	w.coverage()
	w.otherNodes()
	return w
}

// SharedPathAnswer reports whether something that the nodes share delayed their heartbeats, and which silences have this
// cause, too, because they began together.
func SharedPathAnswer(f *NodeLoss) (is verdict.Answer, with silence.List) {
	w := weigh(f)
	if is = w.answer(onSharedPath).is; is == yes && w.facts[together].is == yes {
		with = w.group
	}
	return is, with
}

// SimultaneousSilences returns the silences of several lost nodes that began within one heartbeat interval and have a
// common cause. It returns nil if chance may explain them.
func SimultaneousSilences(f *NodeLoss) silence.List {
	w := prepare(f)
	w.coverage()
	w.simultaneous()
	if w.answer(onSharedPath[:simultaneousRules]).is != yes {
		return nil
	}
	if lost := w.group.Filter(func(s *silence.Silence) bool { return !s.Short }); len(lost) > 1 {
		return lost
	}
	return nil
}

// SuccessiveSilences returns the silences of nodes that fell silent one after another. It returns nil if chance may
// explain them.
func SuccessiveSilences(f *NodeLoss) silence.List { return prepare(f).inTurn() }

// OfNodes returns the decision about a node incident.
func OfNodes(f *NodeLoss) (d verdict.Decision) {
	w := weigh(f)
	w.nodes()
	w.controller()
	w.others()
	for _, h := range nodeHypotheses {
		answer := w.answer(h.rules)
		d.Considered = append(d.Considered, verdict.Considered{Verdict: h.verdict, Holds: answer.is, Because: answer.how})
		if answer.is == yes && d.Verdict == verdict.Undecided {
			d.Verdict = h.verdict
		}
	}
	d.Etcd = d.Verdict == verdict.SharedPath && len(w.stopped) > 0 && len(w.stopped) >= f.ControlPlane.AsOf.APIServers
	if d.Verdict == verdict.Undecided {
		d.Gone, d.Command = w.own.All((*silence.Silence).IsGone), w.command()
	}
	return d
}

// command returns a command whose output can decide between the remaining hypotheses.
func (w *weighing) command() string {
	unclear := slices.IndexFunc(w.own, func(s *silence.Silence) bool { return s.Again == transition.MachineUnclear })
	switch {
	case w.facts[announced].is == unknown:
		return "kubectl get node " + w.own[0].Node + " -o yaml --show-managed-fields # shows when somebody cordoned or tainted it"
	case w.facts[leasesUnseen].is == yes:
		return "kubectl -n kube-node-lease get leases # shows when each node last renewed its Lease; grant kubeflap get, list and watch on Leases"
	case unclear >= 0:
		return "journalctl --list-boots # on " + w.own[unclear].Node + "; a boot from before the silence shows that the machine was not replaced"
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
