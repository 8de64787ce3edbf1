package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// Cluster is where the incidents of one cluster come from.
type Cluster struct {
	// Name is empty where there is only one cluster.
	Name string
	// Incidents are those as of now, and when that is.
	Incidents func() ([]incident.Incident, time.Time)
	// Unwatched is what is not watched now: incidents of it are not seen.
	Unwatched func() []watches.Watch
}

// found is an incident, where and as of when.
type found struct {
	cluster string
	asOf    time.Time
	incident.Incident
}

// find collects the incidents that are asked for: what goes on first, then the newest. One whose ID is not known, because a replica
// that saw less, or more, has given it, is found by its subject and a moment at which it went on.
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
