package archive

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
)

// group is a set of current incidents and the past incidents that they continue. After a restart, kubeflap may see one
// past incident as several current ones, or several past incidents as one current incident.
type group struct {
	owners  []*past
	current []*incident.Incident
}

// Join merges the current incidents with the past ones as of t. It returns all current incidents, and adds past ones up
// to a total of size. Ongoing incidents come first, then the newest.
func (a *Archive) Join(t time.Time, current []incident.Incident, size int) []incident.Incident {
	shown, _ := a.split(t, current, size)
	return shown
}

// Displaced returns the number of incidents that Join omits because there are more than size.
func (a *Archive) Displaced(t time.Time, current []incident.Incident, size int) (all incident.Displaced) {
	_, hidden := a.split(t, current, size)
	for i := range hidden {
		all.Drop(&hidden[i], t)
	}
	return all
}

// split returns the joined incidents that are shown, and those that are hidden because there are more than size. Past
// incidents never hide a current one.
func (a *Archive) split(t time.Time, current []incident.Incident, size int) (shown, hidden []incident.Incident) {
	a.mu.Lock()
	defer a.mu.Unlock()
	shown = make([]incident.Incident, 0, len(current)+len(a.past))
	continued := map[*past]bool{}
	for _, g := range a.groups(current) {
		for _, p := range g.owners {
			continued[p] = true
		}
		shown = append(shown, g.joined(t))
	}
	var past []incident.Incident
	for _, p := range a.past {
		if !continued[p] {
			past = append(past, p.asOf(t))
		}
	}
	newestFirst := func(x, y incident.Incident) int { return incident.Compare(&x, &y) }
	slices.SortStableFunc(past, newestFirst)
	room := min(max(size-len(shown), 0), len(past))
	shown = append(shown, past[:room]...)
	slices.SortStableFunc(shown, newestFirst)
	return shown, past[room:]
}

// One returns a current incident as of t, merged with the past incidents that it continues. others holds the other
// current incidents that continue the same past incidents. find returns a current incident by its ID. continued reports
// whether the incident continues a past incident.
func (a *Archive) One(t time.Time, current incident.Incident, find func(id string) (incident.Incident, bool)) (x incident.Incident, others []incident.Incident, continued bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := []incident.Incident{current}
	for _, p := range a.ownersOf(&current) {
		continued = true
		for _, id := range p.by {
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

// groups assigns the current incidents to groups. A current incident that continues no past incident forms its own
// group.
func (a *Archive) groups(current []incident.Incident) (all []*group) {
	for i := range current {
		x := &group{owners: a.ownersOf(&current[i]), current: []*incident.Incident{&current[i]}}
		// Groups with a common past incident become one.
		all = slices.DeleteFunc(all, func(g *group) bool {
			shared := slices.ContainsFunc(g.owners, func(p *past) bool { return slices.Contains(x.owners, p) })
			if shared {
				x.current = append(slices.Clone(g.current), x.current...)
				for _, p := range g.owners {
					if !slices.Contains(x.owners, p) {
						x.owners = append(x.owners, p)
					}
				}
			}
			return shared
		})
		all = append(all, x)
	}
	return all
}

func (g *group) joined(t time.Time) incident.Incident {
	if len(g.owners) == 0 {
		return *g.current[0]
	}
	all := merged(g.current)
	for _, p := range g.owners {
		all = p.join(&all, t)
	}
	return all
}

// ownersOf returns the past incidents that x continues. Each of them may still be ongoing, and has the same subject as
// x, or has a node or Service in common with x.
func (a *Archive) ownersOf(x *incident.Incident) (owners []*past) {
	soon := a.watching.IsZero() || x.Start.Sub(a.watching) <= settleTime
	for _, p := range a.past {
		last := p.lastRecovery()
		looking := soon || p.stands() || !last.IsZero() && x.Start.Sub(last) <= record.Quiet
		known := slices.ContainsFunc(p.by, func(id string) bool { return id == x.ID || slices.Contains(x.Also, id) })
		if !known && looking && (p.open || len(p.by) > 0) && p.sameAs(x) {
			p.open, p.by, known = false, append(p.by, x.ID), true
		}
		if known {
			owners = append(owners, p)
		}
	}
	return owners
}

func (p *past) sameAs(x *incident.Incident) bool {
	switch {
	case !p.End.IsZero() && x.Start.Sub(p.End) > record.Quiet:
		return false
	case p.ID == x.ID || slices.Contains(p.Also, x.ID):
		return true
	case ofNodes(p.Scope) != ofNodes(x.Scope):
		return false
	case p.Scope == x.Scope && p.Namespace == x.Namespace && p.Subject == x.Subject:
		return true
	case ofNodes(x.Scope):
		return slices.ContainsFunc(x.Nodes, func(name string) bool { return slices.Contains(p.Nodes, name) })
	}
	return slices.ContainsFunc(x.Services, func(s incident.Service) bool {
		return slices.ContainsFunc(p.Services, func(was incident.Service) bool {
			return was.Namespace == s.Namespace && was.Name == s.Name && (was.Down || p.holds(ServiceName{s.Namespace, s.Name}))
		})
	})
}

func ofNodes(s incident.Scope) bool {
	return s == incident.ScopeNode || s == incident.ScopeControlPlane
}
