package web

import (
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// addCoverage adds the coverage of a cluster, in the query's period.
func addCoverage(a *api.Coverage, cluster string, s *State, q *api.Query) {
	a.IncidentsLostUntil.Time = incident.Later(a.IncidentsLostUntil.Time, s.LostUntil)
	a.Since.Time, a.Started.Time = incident.Later(a.Since.Time, s.Coverage.Since), incident.Later(a.Started.Time, s.Started)
	a.NotWatched = append(a.NotWatched, notWatched(cluster, s.Coverage.NotWatched)...)
	a.GapsLeftOut += s.Coverage.LeftOut
	for _, g := range s.Coverage.Within(q.From, q.To) {
		a.Gaps = append(a.Gaps, api.Gap{
			Cluster: cluster, Resources: g.Resources, From: g.From.UTC(), To: phrase.Time{Time: g.To}, Reason: string(g.Reason), MayMiss: g.Missed(),
		})
	}
	if r := s.Recorder; r != nil {
		a.Recorder = &api.Recorder{Recording: r.Recording, Since: phrase.Time{Time: r.Since}, Oldest: phrase.Time{Time: r.Oldest}, EventsLost: r.Lost, Gaps: r.Gaps}
		if r.Err != nil {
			a.Recorder.Reason = r.Err.Error()
		}
	}
}

func notWatched(cluster string, all []watches.Watch) (list []api.NotWatched) {
	for _, w := range all {
		list = append(list, api.NotWatched{Cluster: cluster, Resource: w.Resource.String(), Since: phrase.Time{Time: w.Since}, Reason: string(w.Reason)})
	}
	return list
}
