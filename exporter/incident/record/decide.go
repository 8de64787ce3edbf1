package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// NodeLoss returns the current facts about the given silences.
func (s *Store) NodeLoss(silences []*verdict.Silence, nodes int) *verdict.NodeLoss {
	return &verdict.NodeLoss{
		Silences: silences, Recent: s.History.AfterOrLasting(s.now.Add(-time.Hour)), Late: s.History.LateNodes(), Now: s.now, Nodes: nodes,
		GracePeriod: s.GracePeriod, Interval: s.Undisturbed(), Rate: s.History.Rate(s.now, nodes), ControlPlane: s.ControlPlane, Break: s.LeaseBreak, Upgrades: s.History.Upgrades,
		ShortSilences: s.Heartbeats.Within,
	}
}

// decide returns the current decision about an incident. After the incident has ended for good, only revisit and
// Explain change this decision.
func (s *Store) decide(r *Record) verdict.Decision {
	switch {
	case r.withdrawn:
		return verdict.Withdrawn("withdrawn: " + watchLagged)
	case !r.IsAboutNodes():
		is := r.affected()
		return verdict.OfAddresses(&verdict.AddressLoss{Cause: r.Cause, Writers: r.Writers, Lost: r.Lost, Planned: r.Planned, AnnouncedBy: r.AnnouncedBy, DeletedNodes: is.DeletedNodes, Vanished: is.Vanished})
	case r.final != nil:
		return *r.final
	}
	return s.weigh(r)
}

// judge updates the verdicts about silences. It skips node incidents with a final decision.
func (s *Store) judge() {
	for _, r := range s.shown {
		if r.IsAboutNodes() && r.final == nil {
			r.judgement.Ask(s.decide(r).Verdict)
		}
	}
}

// weigh weighs the hypotheses about a node incident, based on the current facts.
func (s *Store) weigh(r *Record) verdict.Decision { return r.weigh(s.NodeLoss(nil, r.KnownNodes)) }

// weigh weighs the hypotheses about an incident. The parameter f holds facts about the cluster.
func (r *Record) weigh(f *verdict.NodeLoss) verdict.Decision {
	f.Silences = r.Silences
	return verdict.OfNodes(f)
}

// finish makes the decision about an ended node incident final, because kubeflap forgets the facts after an hour.
func (s *Store) finish(r *Record) {
	if r.IsAboutNodes() && r.final == nil && r.into == nil {
		d := s.weigh(r)
		r.conclude(d)
		if !r.withdrawn {
			s.revise(r, d)
		}
	}
}

// conclude records the final decision about an incident.
func (r *Record) conclude(d verdict.Decision) {
	r.final = &d
	r.judgement.Revise(d.Verdict)
}

const (
	// reviewAfter is the delay between a change and the review of the verdicts. reviewEvery is the minimum interval
	// between two reviews. reviewFor is the time for which reviews continue after a change, because some verdicts
	// depend on the duration of a silence.
	reviewAfter = time.Second
	reviewEvery = 5 * time.Second
	reviewFor   = 15 * time.Second
	// maxReviewed is the maximum number of incidents per review. If there are more, they soon merge into one incident.
	maxReviewed = 50
)

// review updates the verdicts of node incidents that have changed recently.
func (s *Store) review(t time.Time) {
	s.reviewed = t
	f := s.NodeLoss(nil, 0)
	for _, r := range s.shown {
		f.Nodes = max(f.Nodes, r.KnownNodes)
	}
	reviewed, again := 0, false
	for _, r := range slices.Backward(s.shown) {
		if !r.IsAboutNodes() || r.settled || r.withdrawn || t.Sub(r.touched) > reviewFor {
			continue
		}
		if reviewed++; reviewed > maxReviewed {
			break
		}
		s.revise(r, r.weigh(f))
		again = true
	}
	s.revisit(f, t)
	s.JudgeLate(s.NodeLoss(nil, s.Nodes()))
	if again {
		s.Timers.Schedule(&s.reviews, t.Add(reviewEvery))
	}
}

// RecordLateHeartbeat records that a late heartbeat arrived at t. The parameter interval is the time since the previous
// heartbeat. The parameter `nodes` is the number of nodes in the cluster.
func (s *Store) RecordLateHeartbeat(node string, t time.Time, interval time.Duration, nodes int) {
	s.Heartbeats.RecordLateHeartbeat(node, t, interval, nodes)
	s.reviewLater(t)
}

// reviewLater schedules a review of the verdicts after a change at t.
func (s *Store) reviewLater(t time.Time) {
	due := t.Add(reviewAfter)
	if next := s.reviewed.Add(reviewEvery); next.After(due) && next.Sub(due) < reviewEvery {
		due = next
	}
	s.Timers.Schedule(&s.reviews, due)
}

// revisit reconsiders final decisions, because later silences of other nodes may provide more evidence. It considers
// only undecided verdicts and, if nodes fell silent one after another, verdicts that blame a single node.
func (s *Store) revisit(f *verdict.NodeLoss, t time.Time) {
	inTurn, revisited := verdict.SuccessiveSilences(f) != nil, 0
	for _, r := range slices.Backward(s.shown) {
		n := len(r.Silences)
		if n == 0 || r.final == nil || r.withdrawn || r.Silences[n-1].Began.Before(t.Add(-time.Hour)) {
			continue
		}
		open := r.final.Verdict == verdict.Undecided
		if revisited++; revisited > maxReviewed || !open && !(inTurn && r.final.Verdict == verdict.Node) {
			continue
		}
		if d := r.weigh(f); d.Verdict == verdict.SharedPath || open && d.Verdict != verdict.Undecided {
			r.conclude(d)
			s.revise(r, d)
		}
	}
}

// Explain reconsiders the verdict of a node incident after kubeflap has found an explanation for one of its silences.
func (s *Store) Explain(r *Record, t time.Time) {
	switch {
	case !r.settled:
		s.Touch(r, t)
	case r.final != nil && !r.withdrawn:
		d := s.weigh(r)
		r.conclude(d)
		s.revise(r, d)
	}
}

// revise records the verdict, and adds an evidence entry if the verdict has changed. The time of the entry is the time
// of the revision. The facts that led to the revision may be older.
func (s *Store) revise(r *Record, d verdict.Decision) {
	if r.hasLastVerdict && r.lastVerdict != d.Verdict {
		e := evidence.Entry{Kind: evidence.VerdictRevised, Time: s.now, Name: "from " + r.lastVerdict.String() + " to " + d.Verdict.String()}
		for _, x := range d.Considered {
			if x.Verdict == d.Verdict {
				e.Name += ": " + x.Because
			}
		}
		r.Evidence.Add(e)
	}
	if !r.hasLastVerdict || r.lastVerdict != d.Verdict {
		s.notifier.mark(r)
	}
	r.lastVerdict, r.hasLastVerdict = d.Verdict, true
	r.judgement.Revise(d.Verdict)
}
