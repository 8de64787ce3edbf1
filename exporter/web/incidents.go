package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// Cluster gives access to the incidents of one cluster.
type Cluster struct {
	// Name is empty if there is only one cluster.
	Name string
	// Incidents returns the incidents and the time as of which they are.
	Incidents func() ([]incident.Incident, time.Time)
	// Unwatched returns the resources that are not watched now.
	Unwatched func() []watches.Watch
}

// found is an incident of a cluster as of a time.
type found struct {
	cluster string
	asOf    time.Time
	incident.Incident
}

// find returns the incidents of a query, ongoing ones first, then the newest. Another replica may have given an incident another ID,
// because it saw more or less. Such an incident is found by its subject and a time at which it was ongoing.
func find(clusters []Cluster, q *query) (all []found, asOf time.Time) {
	all, asOf = collect(clusters, q)
	if len(all) == 0 && q.ID != "" && q.Subject != "" && !q.At.IsZero() {
		other := *q
		other.ID = ""
		all, asOf = collect(clusters, &other)
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(order(a.State), order(b.State)), b.Start.Compare(a.Start), strings.Compare(a.ID, b.ID))
	})
	return all, asOf
}

func collect(clusters []Cluster, q *query) (all []found, asOf time.Time) {
	for _, c := range clusters {
		incidents, now := c.Incidents()
		if now.After(asOf) {
			asOf = now
		}
		for _, x := range incidents {
			if q.matches(c.Name, &x) {
				all = append(all, found{c.Name, now, x})
			}
		}
	}
	return all, asOf
}

func order(s incident.State) int {
	switch s {
	case incident.StateRunning:
		return 0
	case incident.StatePending:
		return 1
	}
	return 2
}
