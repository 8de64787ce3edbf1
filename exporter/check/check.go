// Package check finds the flaps in an API document that a test run should not have caused.
package check

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// Allowances are the flaps that a check accepts.
type Allowances struct {
	// Service is the time for which a Service may have no ready address. If it is more than 0, single addresses may also
	// flap. Node is the time for which a node may be not Ready, likewise.
	Service, Node time.Duration
	// Blind is the time for which a resource may be not watched. If it is less than 0, it is 2 minutes, but at most half of
	// the period.
	Blind time.Duration
	// Planned is set if planned departures and roll-outs are accepted while another address is ready.
	Planned bool
	// Ignored are patterns in the syntax of path.Match. They match the name of a node, or a Service's namespace and name,
	// such as shop/web.
	Ignored []string
}

// ignores reports whether all flaps of a node or a Service are accepted.
func (a *Allowances) ignores(name string) bool {
	return slices.ContainsFunc(a.Ignored, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

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
	r := &Result{From: from, To: to, AllowedBlind: a.Blind, Missing: answer.Coverage.Missing(from)}
	if a.Blind < 0 {
		r.AllowedBlind = min(2*time.Minute, to.Sub(from)/2)
	}
	for i := range answer.Incidents {
		x := &answer.Incidents[i]
		if x.Withdrawn != "" || x.Start.After(to) || !x.End.IsZero() && x.End.Before(from) {
			continue
		}
		p := period{from: from, to: to, Incident: x, Allowances: a}
		if x.Start.Before(from) && !p.failed() {
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
	r.findBlindness(answer)
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

// failed reports whether something may have failed in the period, in an incident that began before. If something failed later,
// only the timeline shows whether something failed in the period: something may have if it does not show all lost addresses.
func (p *period) failed() bool {
	if !p.LastFailure.After(p.to) {
		return !p.LastFailure.Before(p.from)
	}
	lost := p.Lost + p.SpansLeftOut
	for _, s := range p.Timeline {
		switch {
		case s.Track == incident.TrackHeartbeat && within(s.Start, s.End.Time, p.from, p.to) > 0: // it fails later than it begins
			return true
		case s.Track != incident.TrackBlind && !s.Start.Before(p.from) && !s.Start.After(p.to):
			return true
		case s.Track == incident.TrackAddress:
			lost--
		}
	}
	return lost > 0
}

// judge finds the worst effect that is not accepted.
func (p *period) judge() {
	others, whole := p.Counts, within(p.Start, p.End.Time, p.from, p.to)
	for _, s := range p.Services {
		others.Lost, others.Outages, others.OutageTime = others.Lost-s.Lost, others.Outages-s.Outages, others.OutageTime-s.OutageTime
		expected := p.ignores(s.String()) || p.Planned && p.isExpected(&s)
		down, upTo := p.lasted(incident.TrackOutage, s.String(), p.Outages, time.Duration(s.OutageTime))
		p.judgeService(s.String(), expected, s.Lost, s.Outages, down, upTo)
	}
	// Only a pattern that matches everything matches what the incident does not list.
	if n := p.ServicesLeftOut; n > 0 {
		p.judgeService(phrase.Count(n, "more Service", "more Services"), slices.Contains(p.Ignored, "*/*"),
			others.Lost, others.Outages, min(time.Duration(others.OutageTime), whole), "up to ")
	}
	if p.Scope.HasNodes() { // otherwise, the nodes only say where the pods ran
		for _, node := range p.Nodes {
			unready, upTo := p.lasted(incident.TrackNode, node, p.Turned, whole)
			p.judgeNode(node, p.ignores(node), unready, upTo)
		}
		if n := p.NodesLeftOut; n > 0 {
			p.judgeNode(phrase.Count(n, "more node", "more nodes"), slices.Contains(p.Ignored, "*"), whole, "up to ")
		}
	}
	if p.worst == nil && !p.accepted && !p.ignores(strings.TrimPrefix(p.Namespace+"/"+path.Base(p.Subject), "/")) && !p.isCalm() {
		p.fails(0, p.What(), words(p.Cause))
	}
}

// judgeService judges the effect on a Service, or on those that the incident does not list.
func (p *period) judgeService(name string, expected bool, lost, outages int, down time.Duration, upTo string) {
	brief := ""
	if lost = max(lost, outages); lost > 0 {
		brief = phrase.Count(lost, "ready address", "ready addresses") + " lost"
	}
	p.judgeEffect(name, expected, p.Service, down, "no ready address for "+upTo, brief)
}

// judgeNode judges the effect on a node, or on those that the incident does not list.
func (p *period) judgeNode(name string, expected bool, unready time.Duration, upTo string) {
	expected = expected || p.isCalm() && unready <= advice.PlannedSilence
	p.judgeEffect(name, expected, p.Node, unready, "not Ready for "+upTo, "heartbeats were late")
}

// judgeEffect judges an effect on an object, which lasted for a time. A description of the effect precedes the time. If it
// lasted for no longer than allowed, the effect has a brief description, which is empty if there was no effect.
func (p *period) judgeEffect(name string, expected bool, allowed, lasted time.Duration, long, brief string) {
	switch {
	case expected:
		p.accepted = true
	case lasted > allowed:
		p.fails(lasted, name, long+phrase.Duration(lasted))
	case brief == "":
	case allowed > 0 || p.isCalm():
		p.accepted = true
	default:
		p.fails(0, name, brief)
	}
}

// fails records an effect that is not accepted.
func (p *period) fails(weight time.Duration, name, impact string) {
	if p.worst == nil || weight > p.worst.weight {
		p.worst = &Flap{*p.Incident, name + api.InCluster(p.Cluster) + ": " + impact, weight}
	}
}

// isCalm reports whether the incident is a planned departure, or a roll-out or another replacement of pods. They are
// accepted while another address is ready.
func (p *period) isCalm() bool {
	return p.Planned && (p.Verdict == verdict.Planned || p.Cause == cause.PodDeleted && p.Outages > 0)
}

// isExpected reports whether all outages of a Service were meant to be: it was deleted soon after its pods, nobody wanted
// pods, or it had a single address, which was replaced.
func (p *period) isExpected(s *incident.Service) bool {
	// The objects of a namespace are deleted in any order.
	if p.Cause == cause.PodDeleted && s.Deleted && s.Outages == 1 && time.Duration(s.OutageTime) <= 30*time.Second {
		return true
	}
	switch s.OutageClass {
	case cause.ScaledToZero.String():
		return true
	case cause.Planned.String(), cause.Rollout.String():
		return !s.Down && s.Lost <= s.Outages
	}
	return false
}

// lasted returns how long an object was in the given state in the period. The incident counts the spans of all objects in this
// state. If the timeline lacks some, the result is the given limit, after "up to".
func (p *period) lasted(lane incident.Track, name string, spans int, limit time.Duration) (d time.Duration, upTo string) {
	for _, s := range p.Timeline {
		if s.Track == lane {
			spans--
		}
		if s.Track == lane && s.Name == name {
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
func (r *Result) findBlindness(answer *api.Answer) {
	c, from, to := &answer.Coverage, r.From, r.To
	if from = incident.Later(from, cmp.Or(c.Since.Time, to)); to.After(answer.AsOf) {
		to = answer.AsOf
	}
	outside, blind := r.To.Sub(r.From)-max(to.Sub(from), 0), map[string]time.Duration{"all resources": 0}
	for _, g := range c.Gaps {
		for _, resource := range g.Resources {
			if !g.To.IsZero() || !slices.ContainsFunc(c.NotWatched, func(x api.NotWatched) bool {
				return x.Optional && x.Resource == resource && x.Cluster == g.Cluster
			}) {
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
