package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// NodeLoss are the facts about some silences, as of now.
func (s *Store) NodeLoss(silences []*verdict.Silence, nodes int) *verdict.NodeLoss {
	return &verdict.NodeLoss{
		Silences: silences, Others: s.History.AfterOrLasting(s.now.Add(-time.Hour)), Late: s.History.LateNodes(), Now: s.now, Nodes: nodes,
		GracePeriod: s.GracePeriod, Interval: s.Undisturbed(), Rate: s.History.Rate(s.now, nodes), ControlPlane: s.ControlPlane, Break: s.LeaseBreak, Upgrades: &s.History.Upgrades,
		Within: s.Heartbeats.Within,
	}
}

// decide is the decision about an incident. Once the incident has ended for good, it only changes if silences that followed explain it.
func (s *Store) decide(r *Record) verdict.Decision {
	switch {
	case r.withdrawn:
		return verdict.Withdrawn("withdrawn: " + watchWasLate)
	case !r.OfNodes():
		return verdict.OfAddresses(&verdict.AddressLoss{Cause: r.Cause, Writers: r.Writers, Lost: r.Lost, Planned: r.Planned, AnnouncedBy: r.AnnouncedBy})
	case r.final != nil:
		return *r.final
	}
	return s.weigh(r)
}

// judge decides the verdicts of all node incidents that are not final, and passes them to the silences of their nodes.
func (s *Store) judge() {
	for _, r := range s.shown {
		if r.OfNodes() && r.final == nil {
			r.judgement.Ask(s.decide(r).Verdict)
		}
	}
}

// weigh weighs the hypotheses about an incident of nodes, as of now.
func (s *Store) weigh(r *Record) verdict.Decision { return r.weigh(s.NodeLoss(nil, r.KnownNodes)) }

// weigh weighs the hypotheses about an incident with the facts that are the same for all.
func (r *Record) weigh(f *verdict.NodeLoss) verdict.Decision {
	f.Silences = r.Silences
	return verdict.OfNodes(f)
}

// finish keeps the decision about an incident of nodes that has ended for good. The evidence for the decision is forgotten after
// an hour.
func (s *Store) finish(r *Record) {
	if r.OfNodes() && r.final == nil && r.into == nil {
		r.conclude(s.weigh(r))
	}
}

// conclude keeps the last decision about an incident.
func (r *Record) conclude(d verdict.Decision) {
	r.final = &d
	r.judgement.Revise(d.Verdict)
}

const (
	// reviewAfter is how long after a change the verdicts are reviewed, but not more often than reviewEvery. They are reviewed again for
	// reviewFor: some depend on how long a silence lasts.
	reviewAfter = time.Second
	reviewEvery = 5 * time.Second
	reviewFor   = 15 * time.Second
	// maxReviewed bounds the incidents of one review. More are soon one incident.
	maxReviewed = 50
)

// review notes verdicts that differ from the ones before, of the incidents that changed a short time ago.
func (s *Store) review(t time.Time) {
	s.reviewed = t
	f := s.NodeLoss(nil, 0)
	for _, r := range s.shown {
		f.Nodes = max(f.Nodes, r.KnownNodes)
	}
	reviewed, again := 0, false
	for _, r := range slices.Backward(s.shown) {
		if !r.OfNodes() || r.settled || r.withdrawn || t.Sub(r.touched) > reviewFor {
			continue
		}
		if reviewed++; reviewed > maxReviewed {
			break
		}
		s.revise(r, t, r.weigh(f))
		again = true
	}
	s.revisit(f, t)
	s.JudgeLate(s.NodeLoss(nil, s.Nodes()))
	if again {
		s.Timers.Wake(&s.reviews, t.Add(reviewEvery))
	}
}

// Returned records the heartbeat that ended a late interval at t. nodes is the number of nodes.
func (s *Store) Returned(node string, t time.Time, interval time.Duration, nodes int) {
	s.Heartbeats.Returned(node, t, interval, nodes)
	s.reviewLater(t)
}

// reviewLater has the verdicts reviewed after a change at t.
func (s *Store) reviewLater(t time.Time) {
	due := t.Add(reviewAfter)
	if next := s.reviewed.Add(reviewEvery); next.After(due) && next.Sub(due) < reviewEvery {
		due = next
	}
	s.Timers.Wake(&s.reviews, due)
}

// revisit decides again about nodes that seemed to be at fault by themselves, or that were undecided, if what happened to other
// nodes since then provides more evidence.
func (s *Store) revisit(f *verdict.NodeLoss, t time.Time) {
	inTurn, revisited := verdict.InTurn(f) != nil, 0
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
			s.revise(r, t, d)
		}
	}
}

// Explain decides again about an incident of nodes, because the explanation of one of its silences was found.
func (s *Store) Explain(r *Record, t time.Time) {
	switch {
	case !r.settled:
		s.Touch(r, t)
	case r.final != nil && !r.withdrawn:
		d := s.weigh(r)
		r.conclude(d)
		s.revise(r, t, d)
	}
}

// revise adds an evidence entry if the verdict is another than before.
func (s *Store) revise(r *Record, t time.Time, d verdict.Decision) {
	if r.isNamed && r.named != d.Verdict {
		e := evidence.Entry{Kind: evidence.VerdictRevised, Time: t, Name: "from " + r.named.String() + " to " + d.Verdict.String()}
		for _, x := range d.Considered {
			if x.Verdict == d.Verdict {
				e.Name += ": " + x.Because
			}
		}
		r.Evidence.Add(e)
	}
	r.named, r.isNamed = d.Verdict, true
	r.judgement.Revise(d.Verdict)
}
