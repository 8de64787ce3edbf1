package ledger

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/verdict/judge"
)

const (
	// reviewAfter is the delay between a change and the review of the verdicts. reviewEvery is the minimum interval
	// between two reviews. reviewFor is the time for which reviews continue after a change, because some verdicts
	// depend on the duration of a silence.
	reviewAfter = time.Second
	reviewEvery = 5 * time.Second
	reviewFor   = 15 * time.Second
	// maxReviewed is the maximum number of incidents per review. If there are more, they soon merge into one incident.
	maxReviewed = 50
	// watchLagged is the reason for withdrawing an incident.
	watchLagged = "the watch delivered events late"
)

// NodeLoss returns the current facts about the given silences.
func (l *Ledger) NodeLoss(silences silence.List, nodes int) *judge.NodeLoss {
	lost, late := l.Silences.Recent(l.now.Add(-time.Hour))
	return &judge.NodeLoss{
		Silences: silences, Recent: lost, Late: late, Day: l.Silences.All(), Now: l.now, Nodes: nodes,
		GracePeriod: l.Silences.Settings.Period, Interval: l.Silences.Settings.Undisturbed(), Observed: l.Silences.Observed(l.now),
		ControlPlane: l.ControlPlane, Break: l.LeaseBreak, Upgrades: l.Silences.Upgrades,
	}
}

// decide returns the current decision about an incident. After a node incident has ended for good, only review and
// Explain change this decision.
func (l *Ledger) decide(r *Record) verdict.Decision {
	switch {
	case r.withdrawn:
		return judge.Withdrawn("withdrawn: " + watchLagged)
	case !r.IsAboutNodes():
		return r.Decide()
	case r.Settled && r.latest != nil:
		return *r.latest
	case r.latest != nil && !r.isOpen() && l.now.Sub(r.touched) > reviewFor:
		return *r.latest // what happens to other nodes meanwhile is considered when the incident ends for good
	}
	return r.weigh(l.NodeLoss(nil, r.KnownNodes))
}

// verdict returns the current verdict on an incident. Each scrape asks for it, so the grounds for it are left out.
func (r *Record) verdict(l *Ledger) verdict.Verdict {
	if r.IsAboutNodes() {
		return l.decide(r).Verdict
	}
	v, _ := r.Conclude()
	return v
}

// weigh weighs the hypotheses about a node incident, based on the current facts about the cluster.
func (r *Record) weigh(f *judge.NodeLoss) verdict.Decision {
	if _, marked := r.ByCause[cause.NodeHeartbeatLost]; marked && len(r.Silences) == 0 && r.Turned == 0 {
		return r.Decide() // kubeflap sees the node's pods, but not the node
	}
	f.Silences = r.Silences
	return judge.OfNodes(f)
}

// graceFacts returns the current facts that determine the recommended grace period. It asks for the verdicts about
// silences, but not for those of incidents that have ended for good.
func (l *Ledger) graceFacts() advice.GracePeriod {
	for _, r := range l.shown {
		if r.IsAboutNodes() && !r.Settled {
			r.Judgement.Ask(l.decide(r).Verdict)
		}
	}
	g := l.Silences.Settings
	g.Longest = l.Silences.Longest(l.now)
	return g
}

// review updates the verdicts of node incidents that have changed recently. It also reconsiders final verdicts, because later
// silences of other nodes may provide more evidence.
func (l *Ledger) review(t time.Time) {
	l.reviewed = t
	nodes := 0
	for _, r := range l.shown {
		nodes = max(nodes, r.KnownNodes)
	}
	f := l.NodeLoss(nil, nodes)
	inTurn := judge.SuccessiveSilences(f)
	l.InTurn(inTurn, l.now)
	reviewed, again := 0, false
	for _, r := range slices.Backward(l.shown) {
		if !r.isInDoubt(t, len(inTurn) > 0) {
			continue
		}
		if reviewed++; reviewed > maxReviewed {
			break
		}
		d := r.weigh(f)
		if !r.Settled || d.Verdict == verdict.SharedPath || r.latest.Verdict == verdict.Undecided && d.Verdict != verdict.Undecided {
			l.revise(r, d)
		}
		again = again || !r.Settled
	}
	l.judgeShort(f.Late)
	if again { // the change may be old, for example because kubeflap's clock leapt forward: do not repeat this until now
		l.Timers.Schedule(&l.reviews, incident.Later(t.Add(reviewEvery), l.now.Add(-reviewFor)))
	}
}

// reviewAfter schedules the next review after a change at t.
func (l *Ledger) reviewAfter(t time.Time) {
	due := t.Add(reviewAfter)
	if next := l.reviewed.Add(reviewEvery); next.After(due) && next.Sub(due) < reviewEvery {
		due = next
	}
	l.Timers.Schedule(&l.reviews, due)
}

// HeartbeatWasLate records that a late heartbeat arrived at t. The parameter interval is the time since the previous
// heartbeat. The parameter `nodes` is the number of nodes in the cluster.
func (l *Ledger) HeartbeatWasLate(node string, t time.Time, interval time.Duration, nodes int) {
	l.Silences.Arrived(node, t, interval, nodes)
	l.reviewAfter(t)
}

// judgeShort decides whether the short silences of the last hour have a shared cause, or whether each node itself is at
// fault. They belong to no incident.
func (l *Ledger) judgeShort(late silence.List) {
	f := l.NodeLoss(nil, l.Silences.Nodes)
	for _, x := range late {
		if x.IsOngoing() || x.Judgement != nil && x.Judgement.Verdict() == verdict.SharedPath {
			continue
		}
		x.Judgement, f.Silences = nil, silence.List{x}
		switch judge.SharedPathAnswer(f) {
		case verdict.Yes:
			x.Judgement = silence.NewJudgement(verdict.SharedPath)
		case verdict.No:
			x.Judgement = silence.NewJudgement(verdict.Node)
		case verdict.Unknown:
		}
	}
}

// isInDoubt reports whether a review at t may change the verdict. Of the final ones, these are undecided verdicts of the last
// hour and, if nodes fell silent one after another, verdicts that blame a single node.
func (r *Record) isInDoubt(t time.Time, inTurn bool) bool {
	n := len(r.Silences)
	switch {
	case !r.IsAboutNodes() || r.withdrawn:
		return false
	case !r.Settled:
		return t.Sub(r.touched) <= reviewFor
	case n == 0 || r.latest == nil || r.Silences[n-1].Began.Before(t.Add(-time.Hour)):
		return false
	}
	return r.latest.Verdict == verdict.Undecided || inTurn && r.latest.Verdict == verdict.Node
}

// HolderOf returns the incident to which a silence belongs, or nil.
func (l *Ledger) HolderOf(s *silence.Silence) *Record {
	for _, r := range l.shown {
		if slices.Contains(r.Silences, s) {
			return r
		}
	}
	return nil
}

// Explain adds an explanation for a silence to its incident, which may have ended, and reconsiders the verdict. The silence is
// nil, or has no incident, if the explanation is for none.
func (l *Ledger) Explain(s *silence.Silence, e incident.Entry) {
	r := l.HolderOf(s)
	if r == nil {
		return
	}
	r.Evidence.Add(e)
	switch {
	case !r.Settled:
		l.Touch(r, e.Time)
	case r.latest != nil && !r.withdrawn:
		l.revise(r, r.weigh(l.NodeLoss(nil, r.KnownNodes)))
	}
}

// revise records a decision, and adds an evidence entry if the verdict has changed. The time of the entry is the time of
// the revision. The facts that led to the revision may be older.
func (l *Ledger) revise(r *Record, d verdict.Decision) {
	was := r.latest
	r.latest = &d
	r.Judgement.Revise(d.Verdict)
	if r.withdrawn || was != nil && was.Verdict == d.Verdict {
		return
	}
	if r.Settled && r.Shown && r.into == nil {
		l.resolved[incident.Resolution{Scope: r.Scope(), Verdict: d.Verdict}]++ // it has been counted with its earlier verdict
	}
	if was != nil {
		e := incident.Entry{Kind: incident.VerdictRevised, Time: l.now, Name: "from " + was.Verdict.String() + " to " + d.Verdict.String()}
		for _, x := range d.Considered {
			if x.Verdict == d.Verdict {
				e.Name += ": " + x.Because
			}
		}
		r.Evidence.Add(e)
	}
	if r.reported.state == incident.StateResolved {
		l.departed = append(l.departed, incident.Notice{Kind: incident.Revised, Incident: l.snapshot(r, l.graceFacts())})
	}
}
