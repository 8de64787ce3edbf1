package archive

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// join returns an incident that was ongoing both before and after a restart. The earlier verdict stays unless it was
// undecided, because its evidence is not seen again.
func (p *past) join(x *incident.Incident, stopped time.Time) incident.Incident {
	all := *x
	all.ID = p.ID
	all.Also = without(append(slices.Clone(p.Also), append(slices.Clone(x.Also), x.ID)...), p.ID)
	if p.Start.Before(x.Start) {
		all.Start = p.Start
	}
	all.Lost, all.Bounces, all.Turned, all.Evicted = p.Lost+x.Lost, p.Bounces+x.Bounces, p.Turned+x.Turned, p.Evicted+x.Evicted
	all.Nodes, all.NodesLeftOut = union(p.Nodes, x.Nodes), max(p.NodesLeftOut, x.NodesLeftOut)
	p.joinServices(&all, x, stopped)
	if p.Verdict != verdict.Undecided {
		all.Decision, all.Cause, all.Scope, all.Namespace, all.Subject = p.Decision, p.Cause, p.Scope, p.Namespace, p.Subject
	}
	if x.Summary == "" && x.Evidence == nil {
		return all // overviews contain no evidence
	}
	if p.Verdict != verdict.Undecided {
		all.Summary, all.Remedy, all.Numbers = p.Summary, p.Remedy, p.Numbers
	}
	all.Evidence = append(slices.Clone(p.Evidence), x.Evidence...)
	slices.SortStableFunc(all.Evidence, func(a, b incident.Evidence) int { return a.Time.Compare(b.Time) })
	all.Timeline = append(slices.Clone(p.Timeline), x.Timeline...)
	all.EvidenceLeftOut, all.SpansLeftOut = p.EvidenceLeftOut+x.EvidenceLeftOut, p.SpansLeftOut+x.SpansLeftOut
	return all
}

// joinServices adds up what both incidents did to each Service. An outage that was ongoing before and after the restart
// counts as one; it is unknown whether it lasted the whole time.
func (p *past) joinServices(all, x *incident.Incident, stopped time.Time) {
	all.Services = slices.Clone(p.Services)
	all.Outages, all.OutageTime = p.Outages+x.Outages, p.OutageTime+x.OutageTime
	for i := range all.Services {
		all.Services[i].Down = false
	}
	for _, s := range x.Services {
		i := slices.IndexFunc(all.Services, func(was incident.Service) bool { return was.Namespace == s.Namespace && was.Name == s.Name })
		if i < 0 {
			all.Services = append(all.Services, s)
			continue
		}
		sum := &all.Services[i]
		if p.Services[i].Down && s.Outages > 0 && !x.Start.Before(stopped) {
			sum.Outages--
			all.Outages--
			sum.Inexact = true
		}
		sum.Lost, sum.Bounces, sum.Outages = sum.Lost+s.Lost, sum.Bounces+s.Bounces, sum.Outages+s.Outages
		sum.OutageTime, sum.Down, sum.Inexact = sum.OutageTime+s.OutageTime, s.Down, sum.Inexact || s.Inexact
	}
	all.ServicesLeftOut = max(p.ServicesLeftOut, x.ServicesLeftOut)
}

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

func without(ids []string, id string) []string {
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(x string) bool { return x == id })
}
