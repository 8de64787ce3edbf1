package web

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// coverageOf returns the coverage of the clusters that a query selects, in the query's period.
func coverageOf(clusters []Cluster, q *api.Query) api.Coverage {
	a := api.Coverage{NotWatched: []api.NotWatched{}, Gaps: []api.Gap{}}
	var dropped incident.Displaced
	for _, c := range clusters {
		if !q.MatchesCluster(c.Name) {
			continue
		}
		dropped.Add(c.Displaced())
		if c.LostUntil != nil {
			a.IncidentsLostUntil = later(a.IncidentsLostUntil, c.LostUntil())
		}
		s := c.Coverage()
		a.Since, a.Started = later(a.Since, s.Since), later(a.Started, c.Started)
		a.NotWatched = append(a.NotWatched, notWatched(c.Name, s.NotWatched)...)
		a.GapsLeftOut += s.LeftOut
		for _, g := range s.Within(q.From, q.To) {
			a.Gaps = append(a.Gaps, api.Gap{
				Cluster: c.Name, Resources: g.Resources, From: g.From.UTC(), To: api.TimeOrNull(g.To), Reason: string(g.Reason), MayMiss: g.Missed(),
			})
		}
		if c.Recorder != nil {
			a.Recorder = recorderOf(c.Recorder())
		}
	}
	a.IncidentsDropped, a.IncidentsDroppedUntil = dropped.Count, api.TimeOrNull(dropped.Until)
	return a
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

// gracePeriodsOf returns the tables of the clusters that a query selects.
func gracePeriodsOf(clusters []Cluster, q *api.Query) (all []controlplane.Table) {
	for _, c := range clusters {
		if q.MatchesCluster(c.Name) {
			all = append(all, c.GracePeriods())
		}
	}
	return all
}

func recorderOf(s flightrecorder.Status) *api.Recorder {
	r := &api.Recorder{Recording: s.Recording, Since: api.TimeOrNull(s.Since), Oldest: api.TimeOrNull(s.Oldest), EventsLost: s.Lost, Gaps: s.Gaps}
	if s.Err != nil {
		r.Reason = s.Err.Error()
	}
	return r
}
