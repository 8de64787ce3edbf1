package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// Cluster is a cluster that the pages show.
type Cluster struct {
	// Name identifies the cluster. It is empty if there is only one cluster.
	Name string
	// Recorded is set for a replay, whose times differ from the user's clock.
	Recorded bool
	// Read returns the current state.
	Read func() State
	// Incident returns the incident with the given ID. ok reports whether it exists.
	Incident func(id string) (x incident.Incident, ok bool)
	// Advice returns the report of `kubeflap advise`, or an error if the cluster is not listed yet.
	Advice func() (report.Report, error)
	// downloads is set if the page links to recordings of incidents.
	downloads bool
}

// State is what the pages show about a cluster.
type State struct {
	// AsOf is the current time in the cluster.
	AsOf time.Time
	// Incidents lacks evidence, timelines, numbers, summaries and remedies. Cluster.Incident returns them.
	Incidents []incident.Incident
	// Displaced counts the incidents that were dropped to make room for newer ones.
	Displaced incident.Displaced
	// Finished is set when a replay has reached the end of its recording.
	Finished bool
	// Started is the start time of this process. It is zero in a replay.
	Started time.Time
	// Coverage says when the resources were watched.
	Coverage watches.Coverage
	// LostUntil is the time until which incidents of earlier processes may be missing because a file was damaged. It is
	// zero if none is missing.
	LostUntil time.Time
	// Recorder is the state of the flight recorder. It is nil if there is no flight recorder.
	Recorder *flightrecorder.Status
	// GracePeriods compares grace periods.
	GracePeriods controlplane.Table
}

// clusterIncident is an incident with its cluster and the current time in that cluster.
type clusterIncident struct {
	*api.Incident
	cluster *Cluster
	// number is the index of the cluster. It distinguishes two replays of the same recording, whose incidents have the
	// same IDs.
	number int
	asOf   time.Time
	// finished is set if the incident comes from a recording that has ended. The incident can then no longer change.
	finished bool
}

// read returns the outlines of all incidents, and the API document without incidents. The document's current time is the
// latest of any cluster.
func read(clusters []Cluster, q *api.Query) (answer api.Answer, every []clusterIncident) {
	answer.Coverage, answer.Incidents = api.Coverage{NotWatched: []api.NotWatched{}, Gaps: []api.Gap{}}, []api.Incident{}
	var displaced incident.Displaced
	for i := range clusters {
		c := &clusters[i]
		s := c.Read()
		if s.AsOf.After(answer.AsOf) {
			answer.AsOf = s.AsOf.UTC()
		}
		for j := range s.Incidents {
			x := api.Of(c.Name, s.AsOf, &s.Incidents[j])
			every = append(every, clusterIncident{&x, c, i, s.AsOf, s.Finished})
		}
		if q.MatchesCluster(c.Name) {
			addCoverage(&answer.Coverage, c.Name, &s, q)
			displaced.Add(s.Displaced)
			answer.GracePeriods = append(answer.GracePeriods, s.GracePeriods)
		}
	}
	answer.Coverage.IncidentsDropped, answer.Coverage.IncidentsDroppedUntil = displaced.Count, api.TimeOrNull(displaced.Until)
	return answer, every
}

// complete returns the incident with all details. If the incident was dropped after the state was read, there are no
// details.
func (x clusterIncident) complete() clusterIncident {
	if full, ok := x.cluster.Incident(x.ID); ok {
		details := api.Of(x.Cluster, x.asOf, &full)
		x.Incident = &details
	}
	return x
}

// runningIn returns the number of running incidents in the clusters that a query selects, regardless of its other
// filters.
func runningIn(every []clusterIncident, q *api.Query) (n int) {
	for i := range every {
		if x := &every[i]; q.MatchesCluster(x.Cluster) && x.State == running && !x.isOpen() {
			n++
		}
	}
	return n
}

// find returns the incidents that match a query, regardless of state and verdict. They are sorted by State.Rank, newest
// first. If no incident has the query's ID, find uses the query's subject and time instead, because a link from another
// replica may contain an ID that this replica does not know.
func find(every []clusterIncident, q *api.Query) []clusterIncident {
	all := selected(every, q)
	if other, ok := q.WithoutID(); ok && len(all) == 0 {
		all = selected(every, &other)
	}
	rank := func(x clusterIncident) int { return incident.State(x.State).Rank() }
	slices.SortStableFunc(all, func(a, b clusterIncident) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.Start.Compare(a.Start), strings.Compare(a.ID, b.ID))
	})
	return all
}

func selected(every []clusterIncident, q *api.Query) (all []clusterIncident) {
	for _, x := range every {
		if q.MatchesSubject(x.Incident) {
			all = append(all, x)
		}
	}
	return all
}
