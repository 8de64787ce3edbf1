package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/query"
)

// Cluster gives access to the incidents of one cluster.
type Cluster struct {
	// Name is empty if there is only one cluster.
	Name string
	// Incidents returns the incidents and the time as of which they are.
	Incidents func() ([]incident.Incident, time.Time)
	// Overview returns the same without what only a description of an incident needs: evidence, timeline, numbers, summary and remedy.
	Overview func() ([]incident.Incident, time.Time)
	// Incident returns the incident with an ID; ok reports whether there is one.
	Incident func(id string) (x incident.Incident, ok bool)
	// Recorded: it is replayed, so its times are not those of the reader's clock.
	Recorded bool
	// Unwatched returns the resources that are not watched now.
	Unwatched func() []watches.Watch
}

// found is an incident of a cluster as of a time.
type found struct {
	cluster *Cluster
	// number is the position of the cluster: two replays of one recording have incidents with the same IDs.
	number int
	asOf   time.Time
	*incident.Incident
}

// find returns the incidents of a query in any state and with any verdict, ongoing ones first, then the newest. Another replica may
// have given an incident another ID, because it saw more or less. Such an incident is found by its subject and a time at which it was
// ongoing.
func find(clusters []Cluster, q *query.Query, read func(*Cluster) ([]incident.Incident, time.Time)) (all []found, asOf time.Time) {
	var every []found
	for i := range clusters {
		c := &clusters[i]
		incidents, now := read(c)
		if now.After(asOf) {
			asOf = now
		}
		for j := range incidents {
			every = append(every, found{c, i, now, &incidents[j]})
		}
	}
	all = selected(every, q)
	if other, ok := q.WithoutID(); ok && len(all) == 0 {
		all = selected(every, &other)
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(order(a.State), order(b.State)), b.Start.Compare(a.Start), strings.Compare(a.ID, b.ID))
	})
	return all, asOf
}

func selected(every []found, q *query.Query) (all []found) {
	for _, x := range every {
		if q.MatchesSubject(x.cluster.Name, x.Incident) {
			all = append(all, x)
		}
	}
	return all
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
