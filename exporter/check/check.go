// Package check finds the flaps in an API document that a test run should not have caused.
package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
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
	r := &Result{From: from, To: to, AllowedBlind: a.blindFor(to.Sub(from)), Missing: answer.Coverage.Missing(from)}
	for i := range answer.Incidents {
		x := &answer.Incidents[i]
		if x.Withdrawn != "" || x.Start.After(to) || !x.End.IsZero() && x.End.Before(from) {
			continue
		}
		p := period{from: from, to: to, Incident: x, Allowances: a}
		if x.Start.Before(from) && !p.continues() {
			r.Earlier++
		} else if p.judge(); p.worst == nil {
			r.Accepted++
		} else {
			r.Unexpected = append(r.Unexpected, *p.worst)
		}
	}
	slices.SortStableFunc(r.Unexpected, func(x, y Flap) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), x.Start.Compare(y.Start))
	})
	r.findBlindness(answer, a.Optional)
	return r
}

// period is the part of an incident in a period.
type period struct {
	from, to time.Time
	*incident.Incident
	*Allowances
	// The field worst is the worst effect that is not accepted, or nil. The flag accepted is set if another one is accepted.
	worst    *Flap
	accepted bool
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

// judge finds the worst effect that is not accepted.
func (p *period) judge() {
	others := p.Counts
	for _, s := range p.Services {
		others.Lost, others.Outages, others.OutageTime = others.Lost-s.Lost, others.Outages-s.Outages, others.OutageTime-s.OutageTime
		if p.ignores(s.Namespace, s.Name) || p.Planned && (isExpected(&s) || p.isTornDown(&s)) {
			p.accepted = true
			continue
		}
		down, upTo := p.lasted(incident.TrackOutage, s.String(), p.Outages, time.Duration(s.OutageTime))
		p.judgeService(s.String(), s.Lost, s.Outages, down, upTo)
	}
	whole := within(p.Start, p.End.Time, p.from, p.to)
	if n := p.ServicesLeftOut; n > 0 && !slices.Contains(p.IgnoreNamespaces, everything) {
		p.judgeService(phrase.Count(n, "more Service", "more Services"), others.Lost, others.Outages, min(time.Duration(others.OutageTime), whole), "up to ")
	}
	if p.Scope.HasNodes() { // otherwise, the nodes only say where the pods ran
		for _, node := range p.Nodes {
			unready, upTo := p.lasted(incident.TrackNode, node, p.Turned, whole)
			p.judgeNode(node, p.ignores("", node), unready, upTo)
		}
		if n := p.NodesLeftOut; n > 0 {
			p.judgeNode(phrase.Count(n, "more node", "more nodes"), slices.Contains(p.IgnoreNames, everything), whole, "up to ")
		}
	}
	if p.worst == nil && !p.accepted && !p.ignores(p.Namespace, p.Subject) && !p.isCalm() {
		p.fails(0, p.What(), words(p.Cause))
	}
}

// everything is the pattern that matches all names. It alone shows that what an incident does not list is ignored.
const everything = "*"

// fails records an effect that is not accepted.
func (p *period) fails(weight time.Duration, name, impact string) {
	if p.worst == nil || weight > p.worst.weight {
		p.worst = &Flap{*p.Incident, name + api.InCluster(p.Cluster) + ": " + impact, weight}
	}
}

// judgeService judges the effect on a Service, or on those that the incident does not list.
func (p *period) judgeService(name string, lost, outages int, down time.Duration, upTo string) {
	switch {
	case outages > 0 && down > p.Service:
		p.fails(down, name, "no ready address for "+upTo+phrase.Duration(down))
	case lost == 0 && outages == 0:
	case p.isCalm() || p.Service > 0:
		p.accepted = true
	case lost > 0:
		p.fails(0, name, phrase.Count(lost, "ready address", "ready addresses")+" lost")
	}
}

// judgeNode judges the effect on a node, or on those that the incident does not list.
func (p *period) judgeNode(name string, ignored bool, unready time.Duration, upTo string) {
	switch {
	case p.isCalm() || ignored:
		p.accepted = true
	case unready > p.Node:
		p.fails(unready, name, "not Ready for "+upTo+phrase.Duration(unready))
	case p.Node > 0:
		p.accepted = true
	default:
		p.fails(0, name, "heartbeats were late")
	}
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

// lasted returns how long an object was in the given state in the period. The incident counts the spans of all objects in this
// state. If the timeline lacks some, the result is the given limit, after "up to".
func (p *period) lasted(lane incident.Track, name string, spans int, limit time.Duration) (d time.Duration, upTo string) {
	for _, s := range p.Timeline {
		if s.Track != lane {
			continue
		}
		if spans--; s.Name == name {
			d += within(s.Start, s.End.Time, p.from, p.to)
		}
	}
	if spans > 0 {
		return limit, "up to "
	}
	return d, ""
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
func (r *Result) findBlindness(answer *api.Answer, optional []string) {
	c, from, to := &answer.Coverage, r.From, r.To
	if from = incident.Later(from, cmp.Or(c.Since.Time, to)); to.After(answer.AsOf) {
		to = answer.AsOf
	}
	outside, blind := r.To.Sub(r.From)-max(to.Sub(from), 0), map[string]time.Duration{"all resources": 0}
	for _, g := range c.Gaps {
		for _, resource := range g.Resources {
			if !slices.Contains(optional, resource) || !isForbidden(&g, resource, c.NotWatched) {
				blind[resource+api.InCluster(g.Cluster)] += within(g.From, g.To.Time, from, to)
			}
		}
	}
	for resource, d := range blind {
		if d += outside; d > r.Blind || d == r.Blind && resource < r.BlindTo {
			r.Blind, r.BlindTo = d, resource
		}
	}
}

// isForbidden reports whether a resource was not watched in a gap because of a missing permission. A gap has the reason of
// the first failure. While it is ongoing, NotWatched has the reason of the last one.
func isForbidden(g *api.Gap, resource string, now []api.NotWatched) bool {
	const forbidden = string(event.ReasonForbidden)
	return g.Reason == forbidden || g.To.IsZero() && slices.ContainsFunc(now, func(x api.NotWatched) bool {
		return x.Resource == resource && x.Reason == forbidden
	})
}
