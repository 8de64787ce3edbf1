package record

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// standsFor is how long the metrics show the verdict of an incident after its recovery.
const standsFor = 10 * time.Minute

// Standings returns the ongoing and the recently resolved incidents as of now.
func (s *Store) Standings() (all []incident.Standing) {
	for _, r := range s.shown {
		if r.withdrawn {
			continue
		}
		ongoing := r.state(s.now) != incident.StateEnded
		if !ongoing && s.now.Sub(r.recovered) > standsFor {
			continue
		}
		x := incident.Standing{
			ID: r.id, Start: r.start, End: r.end(s.now), Cause: r.mainCause(), Namespace: r.Namespace, Subject: r.Name,
			Scope: r.scope(), Verdict: s.decide(r).Verdict, Ongoing: ongoing,
		}
		if r.IsAboutNodes() {
			x.Nodes = slices.Clone(r.nodes)
		}
		for _, e := range r.services {
			x.Services = append(x.Services, transition.Service{Namespace: e.service.Namespace, Name: e.service.Name})
		}
		all = append(all, x)
	}
	return all
}

// Resolved returns the number of incidents that have ended for good, by scope and final verdict.
func (s *Store) Resolved() map[incident.Resolution]uint64 { return maps.Clone(s.resolved) }

// countResolved counts an incident that has ended for good. It does not count incidents that were merged, dropped,
// withdrawn or never reported.
func (s *Store) countResolved(r *Record) {
	if !r.shown || r.settled || r.withdrawn || r.into != nil || r.isOpen() {
		return
	}
	if s.resolved == nil {
		s.resolved = map[incident.Resolution]uint64{}
	}
	s.resolved[incident.Resolution{Scope: r.scope(), Verdict: s.decide(r).Verdict}]++
}
