package web

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// addCoverage adds the coverage of a cluster, in the query's period.
func addCoverage(a *api.Coverage, cluster string, s *State, q *api.Query) {
	a.IncidentsLostUntil = later(a.IncidentsLostUntil, s.LostUntil)
	a.Since, a.Started = later(a.Since, s.Coverage.Since), later(a.Started, s.Started)
	a.NotWatched = append(a.NotWatched, notWatched(cluster, s.Coverage.NotWatched)...)
	a.GapsLeftOut += s.Coverage.LeftOut
	for _, g := range s.Coverage.Within(q.From, q.To) {
		a.Gaps = append(a.Gaps, api.Gap{
			Cluster: cluster, Resources: g.Resources, From: g.From.UTC(), To: api.TimeOrNull(g.To), Reason: string(g.Reason), MayMiss: g.Missed(),
		})
	}
	if r := s.Recorder; r != nil {
		a.Recorder = &api.Recorder{Recording: r.Recording, Since: api.TimeOrNull(r.Since), Oldest: api.TimeOrNull(r.Oldest), EventsLost: r.Lost, Gaps: r.Gaps}
		if r.Err != nil {
			a.Recorder.Reason = r.Err.Error()
		}
	}
}

// later returns the later of two times. Null and the zero time are earlier than all others.
func later(a *time.Time, b time.Time) *time.Time {
	if a != nil && !b.After(*a) {
		return a
	}
	return api.TimeOrNull(b)
}

func notWatched(cluster string, all []watches.Watch) (list []api.NotWatched) {
	for _, w := range all {
		list = append(list, api.NotWatched{Cluster: cluster, Resource: w.Resource.String(), Since: api.TimeOrNull(w.Since), Reason: string(w.Reason)})
	}
	return list
}
