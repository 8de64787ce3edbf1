package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
)

// rule tells what a fact means for a hypothesis, depending on whether the fact is yes, no or unknown.
type rule struct {
	fact             int
	yes, no, unknown Answer
}

// next means that the fact decides nothing, so the next rule counts.
const next Answer = 255

// nodeHypotheses lists the hypotheses about a node incident in order of precedence. The first fact that decides a
// hypothesis is the reason for its answer.
var nodeHypotheses = []struct {
	verdict Verdict
	rules   []rule
}{
	{Planned, []rule{
		{announced, Yes, No, Unknown},
	}},
	{NodeRebooted, []rule{
		{rebooted, Yes, No, Unknown},
	}},
	{GracePeriod, []rule{
		{graceTooShort, next, No, Unknown},
		{leasesUnseen, Unknown, next, next},
		{oneHeartbeatLost, Yes, No, next},
	}},
	{ControllerManager, []rule{
		{leftReady, Yes, next, next},
		{markedInTime, Yes, next, Unknown},
		{leftReady, Yes, next, Unknown},
		{leasesUnseen, Unknown, next, next},
		{markedLate, No, next, Unknown},
	}},
	{SharedPath, onSharedPath},
	{Node, []rule{
		{leasesUnseen, Unknown, next, next},
		{clockSetBack, Yes, next, next},
		{upgraded, Yes, next, next},
		{silencesUnproven, Unknown, next, next},
		{neverSilent, Yes, next, next},
		{othersLate, No, next, next},
		{oneOfSeveral, No, next, Unknown},
		{perhapsTogether, Unknown, next, next},
		{othersUnseen, Unknown, next, next},
		{lateNow, Unknown, next, next},
		{machineUnclear, Unknown, next, next},
		{machineGone, Unknown, next, next},
		{neverLate, No, next, next},
		{othersInTime, Yes, No, Unknown},
	}},
}

var onSharedPath = []rule{
	{leasesUnseen, Unknown, next, next},
	{otherKubelets, No, next, next},
	{togetherForOtherReason, Unknown, next, next},
	{together, Yes, next, next},
	{silencesUnproven, Unknown, next, next},
	{lateTogether, Yes, next, next},
	{perhapsTogether, Unknown, next, next},
	{inTurn, Yes, next, next},
	{together, Yes, No, Unknown},
}

// answer returns the answer of the first rule that decides, and how its fact is known. If no rule decides, the second
// result is nil.
func (w *weighing) answer(rules []rule) (Answer, func() string) {
	for _, r := range rules {
		f := w.facts[r.fact]
		if is := [...]Answer{Unknown: r.unknown, No: r.no, Yes: r.yes}[f.is]; is != next {
			return is, f.how
		}
	}
	return Unknown, nil
}

// prepare returns a weighing without facts.
func prepare(f *NodeLoss) *weighing {
	if f.cluster == nil {
		f.cluster = &cluster{recent: byBegan(f.Recent)}
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

// SharedPathAnswer reports whether something that the nodes share delayed their heartbeats.
func SharedPathAnswer(f *NodeLoss) Answer {
	holds, _ := weigh(f).answer(onSharedPath)
	return holds
}

// SimultaneousSilences returns the silences that began within one heartbeat interval and have a common cause. It
// returns nil if chance may explain them.
func SimultaneousSilences(f *NodeLoss) []*Silence {
	w := weigh(f)
	if holds, _ := w.answer(onSharedPath); holds != Yes {
		return nil
	}
	return w.group
}

// SuccessiveSilences returns the silences of nodes that fell silent one after another. It returns nil if chance may
// explain them.
func SuccessiveSilences(f *NodeLoss) []*Silence { return prepare(f).inTurn() }

// OfNodes returns the decision about a node incident.
func OfNodes(f *NodeLoss) (d Decision) {
	w := weigh(f)
	w.nodes()
	w.controller()
	w.others()
	for _, h := range nodeHypotheses {
		holds, how := w.answer(h.rules)
		d.Considered = append(d.Considered, Considered{h.verdict, holds, how()})
		if holds == Yes && d.Verdict == Undecided {
			d.Verdict = h.verdict
		}
	}
	d.Etcd = d.Verdict == SharedPath && len(w.stopped) > 0 && len(w.stopped) >= f.ControlPlane.AsOf.APIServers
	if d.Verdict == Undecided {
		d.Gone, d.Command = w.own.all((*Silence).isGone), w.command()
	}
	return d
}

// command returns a command whose output can decide between the remaining hypotheses.
func (w *weighing) command() string {
	unclear := slices.IndexFunc(w.own, func(s *Silence) bool { return s.Again == transition.MachineUnclear })
	switch {
	case w.facts[announced].is == Unknown:
		return "kubectl get node " + w.own[0].Node + " -o yaml --show-managed-fields shows when somebody cordoned or tainted it"
	case w.facts[leasesUnseen].is == Yes:
		return "kubectl -n kube-node-lease get leases shows when each node last renewed its Lease; grant kubeflap get, list and watch on Leases"
	case unclear >= 0:
		return "journalctl --list-boots on " + w.own[unclear].Node + "; a boot from before the silence shows that the machine was not replaced"
	}
	return fmt.Sprintf("kubectl get events -A --field-selector involvedObject.kind=Node; journalctl -u kubelet --since '%s UTC' on %s",
		w.own[0].Began.UTC().Format(time.DateTime), w.own.nodes())
}

// Withdrawn returns the decision about an incident that kubeflap has withdrawn. In this decision, all hypotheses are
// excluded.
func Withdrawn(because string) (d Decision) {
	for _, h := range nodeHypotheses {
		d.Considered = append(d.Considered, Considered{h.verdict, No, because})
	}
	return d
}
