package archive

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// join returns the past incident p as of t, merged with the current incident x that continues it. The verdict of x
// replaces an undecided verdict of p. A decided verdict of p usually stays, because the current process did not see the
// evidence for it.
func (p *past) join(x *incident.Incident, t time.Time) incident.Incident {
	p.endOutages(x, t)
	before := p.asOf(t)
	all := before
	if x.Withdrawn != "" && p.Withdrawn == "" && len(p.openObjects) == 0 {
		// Everything in p had recovered before the restart. Therefore, p remains valid although x was withdrawn.
		all.State, all.Also = x.State, append(slices.Clone(all.Also), x.ID)
		return all
	}
	all.State, all.End, all.Withdrawn = x.State, x.End, x.Withdrawn
	switch last := p.lastRecovery(); {
	case p.hasOpenObjects():
		all.State, all.End = incident.StateRunning, time.Time{}
	case !all.End.IsZero() && last.After(all.End):
		all.End = last
		if all.State == incident.StateEnded && t.Sub(last) < record.Quiet {
			all.State = incident.StateRecovered
		}
	}
	add(&all, x)
	all.Also = append(all.Also, x.ID)
	if revised := p.isRevisedBy(x); revised || p.Verdict == verdict.Undecided {
		all.Decision, all.Cause, all.Scope, all.Namespace, all.Subject = x.Decision, x.Cause, x.Scope, x.Namespace, x.Subject
		all.Remedy, all.Numbers = x.Remedy, x.Numbers
		if revised || x.Numbers.LongestInterval >= p.Numbers.LongestInterval || p.Happened == "" {
			all.Happened, all.Summary = x.Happened, x.Summary
		}
	}
	if isDetailed(x) {
		p.describe(&all, x)
	}
	return all
}

// isDetailed reports whether x contains all fields. Overviews have neither a summary nor evidence.
func isDetailed(x *incident.Incident) bool { return x.Summary != "" || x.Evidence != nil }

// isRevisedBy reports whether the verdict of the current incident x replaces the verdict of p. This is the case if the
// nodes are now part of a control-plane incident. It is also the case if p blames the node or a shared path, but
// kubeflap now has a better explanation: a reboot, a departure or the deletion of all nodes. In the second case, a
// verdict that blames a shared path stays if p has nodes that x lacks.
func (p *past) isRevisedBy(x *incident.Incident) bool {
	if rank(x.Scope) > rank(p.Scope) {
		return true
	}
	departed := slices.ContainsFunc(x.Considered, func(c verdict.Considered) bool {
		return c.Verdict == verdict.Planned && c.Holds != verdict.No
	})
	if p.Verdict == verdict.SharedPath && slices.ContainsFunc(p.Nodes, func(name string) bool { return !slices.Contains(x.Nodes, name) }) {
		return false
	}
	explained := departed || x.Verdict == verdict.NodeRebooted || x.Gone
	return explained && (p.Verdict == verdict.Node || p.Verdict == verdict.SharedPath)
}

// describe updates the summary. It copies Happened from x if the merged incident has only one node, and if x contains
// the longest silence of this node.
func (p *past) describe(all, x *incident.Incident) {
	if x.Withdrawn != "" {
		all.Happened, all.Summary, all.Remedy = "", x.Summary, x.Remedy
		return
	}
	if len(all.Nodes) == 1 && all.NodesLeftOut == 0 && x.Happened != "" && x.Numbers.LongestInterval >= p.Numbers.LongestInterval {
		all.Happened = x.Happened
		if x.Verdict == all.Verdict {
			all.Remedy, all.Numbers = x.Remedy, x.Numbers
		}
	}
	all.Numbers.LongestInterval = max(p.Numbers.LongestInterval, x.Numbers.LongestInterval)
	summarise(all)
}

// merged combines several current incidents into one. The texts come from the incident that incident.Compare sorts
// first.
func merged(current []*incident.Incident) incident.Incident {
	if len(current) == 1 {
		return *current[0]
	}
	current = slices.Clone(current)
	slices.SortStableFunc(current, incident.Compare)
	all := *current[0]
	for _, x := range current[1:] {
		add(&all, x)
		all.Also = removeID(append(slices.Clone(all.Also), append(x.Also, x.ID)...), all.ID)
		switch {
		case all.End.IsZero() || x.End.IsZero():
			all.End = time.Time{}
		case x.End.After(all.End):
			all.End = x.End
		}
	}
	return all
}

// add adds the nodes, losses, evidence and timeline of x to another incident. It shortens lists that exceed the maximum
// length.
func add(all, x *incident.Incident) {
	if x.Start.Before(all.Start) {
		all.Start = x.Start
	}
	all.Also = append(slices.Clone(all.Also), x.Also...)
	all.Lost, all.Bounces, all.Turned, all.Evicted = all.Lost+x.Lost, all.Bounces+x.Bounces, all.Turned+x.Turned, all.Evicted+x.Evicted
	all.Outages, all.OutageTime = all.Outages+x.Outages, all.OutageTime+x.OutageTime
	nodes := max(len(all.Nodes)+all.NodesLeftOut, len(x.Nodes)+x.NodesLeftOut)
	services := max(len(all.Services)+all.ServicesLeftOut, len(x.Services)+x.ServicesLeftOut)
	all.Nodes, all.NodesLeftOut = limited(allOf(all.Nodes, x.Nodes), incident.MaxNodes, nodes)
	all.Services, all.ServicesLeftOut = limited(addServices(all.Services, x.Services), incident.MaxServices, services)
	entries := append(slices.Clone(all.Evidence), x.Evidence...)
	slices.SortStableFunc(entries, func(a, b incident.Evidence) int { return a.Time.Compare(b.Time) })
	left := 0
	all.Evidence, left = evidence.Limit(entries)
	all.EvidenceLeftOut += x.EvidenceLeftOut + left
	all.Open = union(all.Open, x.Open)
	all.Timeline, left = evidence.LimitSpans(append(slices.Clone(all.Timeline), x.Timeline...))
	all.SpansLeftOut += x.SpansLeftOut + left
}

// addServices adds up the effects of two incidents on each Service.
func addServices(all, more []incident.Service) []incident.Service {
	all = slices.Clone(all)
	for _, s := range more {
		i := slices.IndexFunc(all, func(was incident.Service) bool { return was.Namespace == s.Namespace && was.Name == s.Name })
		if i < 0 {
			all = append(all, s)
			continue
		}
		sum := &all[i]
		sum.Lost, sum.Bounces, sum.Outages = sum.Lost+s.Lost, sum.Bounces+s.Bounces, sum.Outages+s.Outages
		sum.OutageTime, sum.Down, sum.Inexact = sum.OutageTime+s.OutageTime, sum.Down || s.Down, sum.Inexact || s.Inexact
	}
	incident.SortServices(all)
	return all
}

// limited shortens a list to the given size, and returns the number of omitted items. The parameter total includes
// items that were omitted earlier.
func limited[T any](all []T, size, total int) ([]T, int) {
	if len(all) <= size && len(all) >= total {
		return all, 0
	}
	kept := all[:min(len(all), size)]
	return kept, max(total, min(len(all), size)) - len(kept)
}

// union combines the objects of a and b.
func union(a, b *incident.Open) *incident.Open {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	all := incident.Open{
		Nodes: allOf(a.Nodes, b.Nodes), Renewed: map[string]time.Time{}, Addresses: slices.Clone(a.Addresses), Outages: slices.Clone(a.Outages),
		Withdrawn: a.Withdrawn || b.Withdrawn,
	}
	maps.Copy(all.Renewed, a.Renewed)
	maps.Copy(all.Renewed, b.Renewed)
	for _, x := range b.Addresses {
		if !slices.Contains(all.Addresses, x) {
			all.Addresses = append(all.Addresses, x)
		}
	}
	for _, x := range b.Outages {
		if !slices.ContainsFunc(all.Outages, func(y incident.OpenOutage) bool { return y.Namespace == x.Namespace && y.Service == x.Service }) {
			all.Outages = append(all.Outages, x)
		}
	}
	return &all
}

func allOf(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// maxAlso limits the length of an incident's list Also. Each restart may add an ID to this list.
const maxAlso = 100

// removeID returns a copy of ids without the given ID and without duplicates. It keeps the newest maxAlso IDs.
func removeID(ids []string, id string) []string {
	var kept []string
	for _, x := range slices.Backward(ids) {
		if x != id && !slices.Contains(kept, x) && len(kept) < maxAlso {
			kept = append(kept, x)
		}
	}
	slices.Reverse(kept)
	return kept
}
