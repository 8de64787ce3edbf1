// Package archive merges the incidents from before a restart of kubeflap with the current ones.
package archive

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// settleTime is the time after the first lists in which an incident that was ongoing before the restart may reappear.
// The cause of a lost address is known at most 15 s after the loss.
const settleTime = time.Minute

// Saved is the state of an incident at a time.
type Saved struct {
	Time     time.Time
	Incident incident.Incident
}

// Archive holds the incidents from before a restart. An incident that was ongoing then either continues as one that the
// first lists show, or is recorded as ended while kubeflap was not watching. Archive is safe for concurrent use.
type Archive struct {
	mu sync.Mutex
	// stopped is the last time at which the previous process is known to have watched. watching is the time at which
	// this process had received all lists; it is zero until then.
	stopped, watching time.Time
	past              []*past
}

// past is an incident from before the restart.
type past struct {
	incident.Incident
	// open is set while it is undecided whether the incident is still ongoing.
	open bool
	// by is the ID of the current incident that continues this one, or empty.
	by string
}

// New returns an archive of saved incidents. The process that saved them watched until stopped.
func New(saved []Saved, stopped time.Time) *Archive {
	a := &Archive{stopped: stopped}
	for _, s := range saved {
		if s.Time.After(a.stopped) {
			a.stopped = s.Time
		}
	}
	for _, s := range saved {
		p := &past{Incident: s.Incident, open: s.Incident.State != incident.StateEnded}
		if p.open {
			p.interrupt(a.stopped)
		}
		a.past = append(a.past, p)
	}
	return a
}

// Stopped returns the time until which the previous process watched, or zero if it is unknown.
func (a *Archive) Stopped() time.Time { return a.stopped }

// interrupt adds an interval to the timeline of an ongoing incident: nobody has watched it since stopped.
func (p *past) interrupt(stopped time.Time) {
	p.Evidence = append(p.Evidence, incident.Evidence{Time: stopped, Until: stopped, Count: 1, Text: "kubeflap stopped watching"})
	for i := range p.Timeline {
		if p.Timeline[i].End.IsZero() {
			p.Timeline[i].End = stopped
		}
	}
	p.Timeline = append(p.Timeline, incident.Span{Track: incident.TrackBlind, Start: stopped})
}

// watched closes the timeline interval in which nobody watched the incident.
func (p *past) watched(watching time.Time) {
	p.Timeline = slices.Clone(p.Timeline) // readers may still hold the previous slice
	for i := range p.Timeline {
		if s := &p.Timeline[i]; s.Track == incident.TrackBlind && s.End.IsZero() {
			s.End = watching
		}
	}
}

// Watching records the time at which all resources had been listed. Only the first call has an effect.
func (a *Archive) Watching(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.watching.IsZero() {
		return
	}
	a.watching = t
	for _, p := range a.past {
		p.watched(t)
	}
}

// Ended returns the incidents that were ongoing before the restart and, as of t, are known to have ended since. It
// returns each incident once.
func (a *Archive) Ended(t time.Time) (ended []incident.Incident) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watching.IsZero() || t.Sub(a.watching) < settleTime {
		return nil
	}
	for _, p := range a.past {
		if p.open {
			p.endUnseen(a.stopped, a.watching)
			ended = append(ended, p.Incident)
		}
	}
	return ended
}

// endUnseen ends an incident whose end was not seen.
func (p *past) endUnseen(stopped, watching time.Time) {
	p.open = false
	if p.End.IsZero() {
		p.End = watching
		p.Evidence = append(p.Evidence, incident.Evidence{
			Time: watching, Until: watching, Count: 1,
			Text: "everything had recovered when kubeflap watched again. The incident ended " + between(stopped, watching),
		})
		p.Summary = strings.TrimSuffix(p.Summary, ".") + ". It ended while kubeflap was not watching, " + between(stopped, watching) + "."
	}
	for i := range p.Services {
		p.Services[i].Inexact = p.Services[i].Inexact || p.Services[i].Down
		p.Services[i].Down = false
	}
	p.State = incident.StateEnded
}

func between(from, to time.Time) string {
	return "between " + from.UTC().Format(time.TimeOnly) + " and " + to.UTC().Format(time.TimeOnly) + " UTC"
}

// Join merges the current incidents with the past ones and returns at most size of them: ongoing ones first, then the
// newest.
func (a *Archive) Join(current []incident.Incident, size int) []incident.Incident {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]incident.Incident, 0, len(current)+len(a.past))
	continued := map[*past]bool{}
	for i := range current {
		owners := a.ownersOf(&current[i])
		for _, p := range owners {
			continued[p] = true
		}
		all = append(all, a.joined(&current[i], owners))
	}
	for _, p := range slices.Backward(a.past) {
		if !continued[p] && len(all) < size {
			all = append(all, p.Incident)
		}
	}
	slices.SortStableFunc(all, func(x, y incident.Incident) int {
		return incident.Compare(&x, &y)
	})
	return all
}

// One returns a current incident, merged with the past incidents that it continues. continued reports whether there are
// any.
func (a *Archive) One(current incident.Incident) (x incident.Incident, continued bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	owners := a.ownersOf(&current)
	return a.joined(&current, owners), len(owners) > 0
}

// Find returns the past incident with an ID. current is the ID of the current incident that continues it, or empty.
func (a *Archive) Find(id string) (x incident.Incident, current string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if p.ID == id || slices.Contains(p.Also, id) {
			return p.Incident, p.by, true
		}
	}
	return incident.Incident{}, "", false
}

func (a *Archive) joined(x *incident.Incident, owners []*past) incident.Incident {
	all := *x
	for _, p := range owners {
		all = p.join(&all, a.stopped)
	}
	return all
}

// ownersOf returns the past incidents that a current one continues. While a past incident may still be ongoing,
// ownersOf looks for current incidents with the same subject, or with a node or Service in common.
func (a *Archive) ownersOf(x *incident.Incident) (owners []*past) {
	looking := a.watching.IsZero() || x.Start.Sub(a.watching) <= settleTime
	for _, p := range a.past {
		if p.open && looking && p.sameAs(x) {
			p.open, p.by = false, x.ID
		}
		if p.by != "" && (p.by == x.ID || slices.Contains(x.Also, p.by)) {
			owners = append(owners, p)
		}
	}
	return owners
}

func (p *past) sameAs(x *incident.Incident) bool {
	switch {
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
		return slices.ContainsFunc(p.Services, func(was incident.Service) bool { return was.Down && was.Namespace == s.Namespace && was.Name == s.Name })
	})
}

func ofNodes(s incident.Scope) bool {
	return s == incident.ScopeNode || s == incident.ScopeControlPlane
}
