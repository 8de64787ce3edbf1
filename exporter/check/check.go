// Package check finds the flaps in an API document that a test run should not have caused.
package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// Result is the judgement of a period.
type Result struct {
	From, To time.Time
	// Unexpected are the incidents that the allowances do not accept, worst first. Accepted counts the others, and Earlier
	// those that began before the period and did not get worse.
	Unexpected        []Flap
	Accepted, Earlier int
	// Blind is the longest time for which a resource was not watched, and BlindTo names this resource. If Blind is more
	// than AllowedBlind, the absence of incidents proves nothing. The same applies if incidents are missing.
	Blind, AllowedBlind time.Duration
	BlindTo             string
	Missing             []string
}

// Flap is an incident that should not have happened.
type Flap struct {
	incident.Incident
	// Impact is the worst effect in the period, such as "shop/web: no ready address for 41s". Weight orders flaps.
	Impact string
	weight time.Duration
}

// IsBlind reports whether kubeflap was blind for too long.
func (r *Result) IsBlind() bool { return r.Blind > r.AllowedBlind || len(r.Missing) > 0 }

// Passed reports whether nothing unexpected happened, and kubeflap would have seen it.
func (r *Result) Passed() bool { return len(r.Unexpected) == 0 && !r.IsBlind() }

// Judge judges the incidents of a period.
func Judge(answer *api.Answer, from, to time.Time, a *Allowances) *Result {
	r := &Result{From: from, To: to, AllowedBlind: seconds(a.BlindSeconds), Missing: answer.Coverage.Missing(from)}
	for i := range answer.Incidents {
		x := &answer.Incidents[i]
		if x.Withdrawn != "" || x.Start.After(to) || !x.End.IsZero() && x.End.Before(from) {
			continue
		}
		p := period{from, to, x, a}
		switch worst := p.worst(); {
		case x.Start.Before(from) && !p.continues():
			r.Earlier++
		case worst == nil:
			r.Accepted++
		default:
			r.Unexpected = append(r.Unexpected, *worst)
		}
	}
	slices.SortStableFunc(r.Unexpected, func(x, y Flap) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), x.Start.Compare(y.Start))
	})
	r.findBlindness(answer)
	return r
}

// period is the part of an incident in a period.
type period struct {
	from, to time.Time
	*incident.Incident
	*Allowances
}

// continues reports whether something may have failed in the period. An incident that began earlier can end in it. If
// something failed later, the timeline shows whether something failed before. It lacks addresses that were removed with
// their pods.
func (p *period) continues() bool {
	if !p.LastFailure.After(p.to) {
		return !p.LastFailure.Before(p.from)
	}
	lost := 0
	for _, s := range p.Timeline {
		if s.Track != incident.TrackBlind && !s.Start.Before(p.from) && !s.Start.After(p.to) {
			return true
		}
		if s.Track == incident.TrackAddress {
			lost++
		}
	}
	return p.SpansLeftOut > 0 || lost < p.Lost
}

// worst returns the worst effect that is not accepted, or nil.
func (p *period) worst() (worst *Flap) {
	add := func(weight time.Duration, name, impact string) {
		if worst == nil || weight > worst.weight {
			worst = &Flap{*p.Incident, name + api.InCluster(p.Cluster) + ": " + impact, weight}
		}
	}
	calm, accepted := p.isCalm(), false
	for _, s := range p.Services {
		name := s.String()
		switch down := p.lasted(incident.TrackOutage, name, time.Duration(s.OutageTime)); {
		case p.ignores(s.Namespace, s.Name), p.Planned && (isExpected(&s) || p.isTornDown(&s)):
			accepted = true
		case s.Outages > 0 && down > seconds(p.ServiceSeconds):
			add(down, name, "no ready address for "+phrase.Duration(down))
		case calm || p.ServiceSeconds > 0:
			accepted = true
		case s.Lost > 0:
			add(0, name, phrase.Count(s.Lost, "ready address", "ready addresses")+" lost")
		}
	}
	for _, node := range p.Nodes {
		if !p.Scope.HasNodes() { // the nodes only say where the pods ran
			break
		}
		switch unready := p.lasted(incident.TrackNode, node, 0); {
		case calm || p.ignores("", node):
			accepted = true
		case unready > seconds(p.NodeSeconds):
			add(unready, node, "not Ready for "+phrase.Duration(unready))
		case p.NodeSeconds > 0:
			accepted = true
		default:
			add(0, node, "heartbeats were late")
		}
	}
	if worst == nil && !accepted && !p.ignores(p.Namespace, p.Subject) && !calm {
		add(0, p.What(), words(p.Cause))
	}
	return worst
}

// isCalm reports whether the incident is a planned departure, or a roll-out or another replacement of pods. They are
// accepted while another address is ready.
func (p *period) isCalm() bool {
	return p.Planned && (p.Verdict == verdict.Planned || p.Cause == cause.PodDeleted && p.Outages > 0)
}

// isExpected reports whether all outages of a Service were meant to be: nobody wanted pods, or it had a single address,
// which was replaced.
func isExpected(s *incident.Service) bool {
	switch s.OutageClass {
	case cause.ScaledToZero.String():
		return true
	case cause.Planned.String(), cause.Rollout.String():
		return !s.Down && s.Lost <= s.Outages
	}
	return false
}

// tornDownWithin is the longest time between the deletions of pods and of their Service if somebody deletes both, for example
// with their namespace, whose objects are deleted in any order.
const tornDownWithin = 30 * time.Second

// isTornDown reports whether the only outage of a Service began because its pods were deleted, and it was deleted soon after.
func (p *period) isTornDown(s *incident.Service) bool {
	return p.Cause == cause.PodDeleted && s.Deleted && s.Outages == 1 && time.Duration(s.OutageTime) <= tornDownWithin
}

// lasted returns how long an object was in the given state in the period. If the timeline is not complete, it returns the
// total of the incident.
func (p *period) lasted(lane incident.Track, name string, total time.Duration) (d time.Duration) {
	if p.SpansLeftOut > 0 && total > 0 {
		return total
	}
	for _, s := range p.Timeline {
		if s.Track == lane && s.Name == name {
			d += within(s.Start, s.End.Time, p.from, p.to)
		}
	}
	return d
}

// within returns the part of a span between two times. A span without an end lasts.
func within(start, end, from, to time.Time) time.Duration {
	if !end.IsZero() && end.Before(to) {
		to = end
	}
	return max(min(to.Sub(start), to.Sub(from)), 0)
}

// findBlindness adds up the time for which each resource was not watched. Nothing was watched before the coverage begins,
// and after the time of the answer.
func (r *Result) findBlindness(answer *api.Answer) {
	c, from, to := &answer.Coverage, r.From, r.To
	if from = incident.Later(from, cmp.Or(c.Since.Time, to)); to.After(answer.AsOf) {
		to = answer.AsOf
	}
	outside, blind := r.To.Sub(r.From)-max(to.Sub(from), 0), map[string]time.Duration{"all resources": 0}
	for _, g := range c.Gaps {
		for _, resource := range g.Resources {
			blind[resource+api.InCluster(g.Cluster)] += within(g.From, g.To.Time, from, to)
		}
	}
	for _, x := range c.NotWatched {
		if resource := x.Resource + api.InCluster(x.Cluster); blind[resource] == 0 {
			blind[resource] = within(cmp.Or(x.Since.Time, from), time.Time{}, from, to)
		}
	}
	for resource, d := range blind {
		if d += outside; d > r.Blind || d == r.Blind && resource < r.BlindTo {
			r.Blind, r.BlindTo = d, resource
		}
	}
}
