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

// Cluster provides the incidents of one cluster.
type Cluster struct {
	// Name identifies the cluster. It is empty if there is only one cluster.
	Name string
	// Incidents returns the incidents, and the current time in the cluster.
	Incidents func() ([]incident.Incident, time.Time)
	// Overview is like Incidents, but omits the evidence, timeline, numbers, summary and remedy.
	Overview func() ([]incident.Incident, time.Time)
	// Incident returns the incident with the given ID. ok reports whether it exists.
	Incident func(id string) (x incident.Incident, ok bool)
	// Recorded is set for a replay, whose times differ from the user's clock.
	Recorded bool
	// Finished reports whether a replay has reached the end of its recording. The function is nil for a live cluster.
	Finished func() bool
	// Started is the start time of this process. It is zero in a replay.
	Started time.Time
	// Coverage returns when the resources were watched.
	Coverage func() watches.Coverage
	// Displaced returns the number of incidents that were dropped to make room for newer ones.
	Displaced func() incident.Displaced
	// LostUntil returns the time until which incidents of earlier processes may be missing because a file was damaged.
	// It returns zero if none is missing. The function is nil if incidents are not kept in a file.
	LostUntil func() time.Time
	// Recorder returns the state of the flight recorder. The function is nil if there is no flight recorder.
	Recorder func() flightrecorder.Status
	// GracePeriods compares grace periods.
	GracePeriods func() controlplane.Table
	// Advice returns the report of `kubeflap advise`, or an error if the cluster is not listed yet.
	Advice func() (report.Report, error)
	// downloads is set if the page links to recordings of incidents.
	downloads bool
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

// reader is one of the functions Incidents and Overview of a Cluster.
type reader = func() ([]incident.Incident, time.Time)

// readAll returns the incidents of all clusters, and the latest current time of any cluster.
func readAll(clusters []Cluster, readerOf func(*Cluster) reader) (every []clusterIncident, asOf time.Time) {
	for i := range clusters {
		c := &clusters[i]
		finished := c.Finished != nil && c.Finished()
		incidents, now := readerOf(c)()
		if now.After(asOf) {
			asOf = now
		}
		for j := range incidents {
			x := api.Of(c.Name, now, &incidents[j])
			every = append(every, clusterIncident{&x, c, i, now, finished})
		}
	}
	return every, asOf
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
