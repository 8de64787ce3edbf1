package archive

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
)

// group is a set of current incidents, together with the past incidents that they continue. Several current incidents
// may continue one past incident. One current incident may continue several past incidents.
type group struct {
	past    []*past
	current []*incident.Incident
}

// Join merges the current incidents with the past incidents as of t. It sorts them with incident.Compare, and returns
// at most `size` of them.
func (a *Archive) Join(t time.Time, current []incident.Incident, size int) []incident.Incident {
	shown, _ := a.split(t, current, size)
	return shown
}

// Displaced counts the incidents that Join omits.
func (a *Archive) Displaced(t time.Time, current []incident.Incident, size int) (all incident.Displaced) {
	_, hidden := a.split(t, current, size)
	for i := range hidden {
		all.Drop(&hidden[i], t)
	}
	return all
}

// split returns the merged incidents that Join returns, and the hidden ones that Join omits.
func (a *Archive) split(t time.Time, current []incident.Incident, size int) (shown, hidden []incident.Incident) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]incident.Incident, 0, len(current)+len(a.past))
	continued := map[*past]bool{}
	for _, g := range a.groups(current) {
		for _, p := range g.past {
			continued[p] = true
		}
		all = append(all, g.joined(t))
	}
	listed := map[string]bool{}
	for _, p := range a.past {
		if continued[p] {
			continue
		}
		// If several past incidents were merged into one, alone returns the merged incident for each of them.
		if x, ok := p.alone(t); ok && !listed[x.ID] {
			listed[x.ID] = true
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(x, y incident.Incident) int { return incident.Compare(&x, &y) })
	room := min(size, len(all))
	return all[:room], all[room:]
}

// One returns a current incident as of t, merged with the past incidents that it continues. The result `continued` is
// false if there are no such past incidents. The result `others` holds further current incidents that continue the same
// past incidents. The function `find` returns a current incident by its ID.
func (a *Archive) One(t time.Time, current incident.Incident, find func(id string) (incident.Incident, bool)) (x incident.Incident, others []incident.Incident, continued bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := []incident.Incident{current}
	for _, p := range a.pastIncidentsOf(&current) {
		continued = true
		for _, id := range p.continuedBy {
			if other, ok := find(id); ok && !slices.ContainsFunc(all, func(y incident.Incident) bool { return y.ID == other.ID }) {
				all = append(all, other)
			}
		}
	}
	if !continued {
		return current, nil, false
	}
	return a.groups(all)[0].joined(t), all[1:], true
}

// groups assigns the current incidents to groups. A current incident that does not continue a past incident forms its
// own group.
func (a *Archive) groups(current []incident.Incident) (all []*group) {
	for i := range current {
		x := &group{past: a.pastIncidentsOf(&current[i])}
		x.current = []*incident.Incident{a.without(&current[i], x.past)}
		// Groups with a common past incident become one.
		all = slices.DeleteFunc(all, func(g *group) bool {
			shared := slices.ContainsFunc(g.past, func(p *past) bool { return slices.Contains(x.past, p) })
			if shared {
				x.current = append(slices.Clone(g.current), x.current...)
				for _, p := range g.past {
					if !slices.Contains(x.past, p) {
						x.past = append(x.past, p)
					}
				}
			}
			return shared
		})
		all = append(all, x)
	}
	return all
}

// without returns the current incident x, but omits the nodes of ongoing past incidents that x does not continue. The
// parameter owners holds the past incidents that x continues.
func (a *Archive) without(x *incident.Incident, owners []*past) *incident.Incident {
	var others []*past
	for _, p := range a.past {
		if isAboutNodes(p.Scope) && p.hasOpenObjects() && !slices.Contains(owners, p) {
			others = append(others, p)
		}
	}
	if !isAboutNodes(x.Scope) || len(others) == 0 {
		return x
	}
	all := *x
	all.Nodes = slices.DeleteFunc(slices.Clone(x.Nodes), func(name string) bool {
		return slices.ContainsFunc(others, func(p *past) bool {
			return p.holdsNode(name) || p.Scope == incident.ScopeControlPlane && slices.Contains(p.Nodes, name)
		})
	})
	return &all
}

// joined merges the current incidents of the group with the past ones, as of t.
func (g *group) joined(t time.Time) incident.Incident {
	if len(g.past) == 0 {
		return *g.current[0]
	}
	all, start := merged(g.current), g.past[0].Start
	detailed := isDetailed(&all)
	var also []string
	for _, p := range g.past {
		all = p.join(&all, t)
		if p.Start.Before(start) {
			start = p.Start
		}
		also = append(also, p.ID)
	}
	all.Start = start // the current incident may contain a slightly different start
	all.ID = g.id()
	all.Also = removeID(append(also, all.Also...), all.ID)
	if detailed {
		for _, p := range g.past {
			p.joined = &all
		}
	}
	return all
}

// id returns the ID that the incident would have had without the restart. This is usually the ID of the first past
// incident. If a node incident has become part of a control-plane incident, it is the ID of the control-plane incident.
func (g *group) id() string {
	first := slices.MinFunc(g.past, func(p, q *past) int {
		return cmp.Or(-cmp.Compare(rank(p.Scope), rank(q.Scope)), p.Start.Compare(q.Start), cmp.Compare(p.ID, q.ID))
	})
	for _, x := range g.current {
		if rank(x.Scope) > rank(first.Scope) && x.Withdrawn == "" {
			return x.ID
		}
	}
	return first.ID
}

// rank returns a higher number for control-plane incidents, because the incident of a single node can be merged into
// them.
func rank(s incident.Scope) int {
	if s == incident.ScopeControlPlane {
		return 1
	}
	return 0
}

// pastIncidentsOf returns the past incidents that x continues. If several control-plane incidents match, it chooses the
// one that shares the most nodes with x.
func (a *Archive) pastIncidentsOf(x *incident.Incident) (owners []*past) {
	var several *past
	for _, p := range a.past {
		known := slices.ContainsFunc(p.continuedBy, func(id string) bool { return id == x.ID || slices.Contains(x.Also, id) && !p.isApartFrom(x) })
		switch {
		case !known && !p.continuesAs(x):
		case p.Scope != incident.ScopeControlPlane:
			owners = append(owners, p)
		case several == nil || p.common(x) > several.common(x):
			several = p
		}
	}
	if several != nil {
		owners = append(owners, several)
	}
	for _, p := range owners {
		p.unresolved = false
		if !slices.Contains(p.continuedBy, x.ID) {
			p.continuedBy = append(p.continuedBy, x.ID)
		}
	}
	return owners
}

// Has reports whether a past incident has the given ID.
func (a *Archive) Has(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.past, func(p *past) bool { return p.ID == id })
}

// PastIDOf returns the ID of the past incident that a current incident continues, or an empty string if there is none.
func (a *Archive) PastIDOf(current string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if slices.Contains(p.continuedBy, current) {
			return p.ID
		}
	}
	return ""
}

// common returns the number of nodes that p and x share. It ignores nodes of p that have recovered.
func (p *past) common(x *incident.Incident) (n int) {
	for _, name := range x.Nodes {
		if p.holdsNode(name) {
			n++
		}
	}
	return n
}

// continuesAs reports whether the incident x continues the incident p. It returns false if p had ended before x began.
// Otherwise, the incidents match if they have the same ID. Incidents of nodes also match if they share a node or the
// subject. Other incidents match if they share the subject and the cause.
func (p *past) continuesAs(x *incident.Incident) bool {
	switch {
	case p.endedBefore(x.Start):
		return false
	case p.ID == x.ID || slices.Contains(p.Also, x.ID):
		return true
	case isAboutNodes(p.Scope) != isAboutNodes(x.Scope):
		return false
	case isAboutNodes(p.Scope) && p.common(x) > 0:
		return true
	case p.Scope == incident.ScopeControlPlane && len(x.Nodes) > 0 && !p.isApartFrom(x):
		return true // new failures of p's nodes also belong to p
	}
	same := p.Scope == x.Scope && p.Namespace == x.Namespace && p.Subject == x.Subject
	if p.Scope == incident.ScopeControlPlane {
		// Nodes that p does not contain form a separate incident.
		return same && (p.Subject != record.ControlPlaneSubject().Name || len(p.Nodes)+len(x.Nodes) == 0)
	}
	return same && (p.Scope == incident.ScopeNode || p.Cause == x.Cause)
}

// isApartFrom reports whether x is separate from p, an incident of nodes that fell silent together. x is separate if it
// has nodes that p lacks, but no node of p that is still lost.
func (p *past) isApartFrom(x *incident.Incident) bool {
	others := slices.ContainsFunc(x.Nodes, func(name string) bool { return !slices.Contains(p.Nodes, name) })
	return p.Scope == incident.ScopeControlPlane && p.Subject == record.ControlPlaneSubject().Name && others && p.common(x) == 0
}

// endedBefore reports whether the incident had ended for good before t.
func (p *past) endedBefore(t time.Time) bool {
	switch {
	case p.hasOpenObjects():
		return false
	case p.joined != nil:
		return !p.joined.End.IsZero() && t.Sub(p.joined.End) > record.Quiet
	case len(p.continuedBy) > 0:
		return false
	}
	return p.State == incident.StateEnded || !p.recoveredAt().IsZero() && !p.soonAfter(t)
}

func isAboutNodes(s incident.Scope) bool {
	return s == incident.ScopeNode || s == incident.ScopeControlPlane
}
