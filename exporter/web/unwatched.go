package web

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/query"
)

// notListed is the reason for a resource whose first list has neither finished nor failed.
const notListed = "not listed yet"

// unwatched is a resource that is not watched in a cluster. Its changes cannot open incidents.
type unwatched struct {
	cluster  string
	resource string
	since    time.Time
	reason   string
}

// unwatchedOf returns the unwatched resources of the clusters that match a query.
func unwatchedOf(clusters []Cluster, q *query.Query) []unwatched {
	var all []unwatched
	for _, c := range clusters {
		if !q.MatchesCluster(c.Name) {
			continue
		}
		for _, w := range c.Unwatched() {
			all = append(all, unwatched{c.Name, w.Resource.String(), w.Since, reasonOf(&w)})
		}
	}
	return all
}

func reasonOf(w *watches.Watch) string {
	switch {
	case w.Reason != "":
		return string(w.Reason)
	case !w.Synced:
		return notListed
	}
	return "error"
}

// unwatchedRow groups resources of a cluster that have been unwatched since the same second for the same reason.
type unwatchedRow struct{ Resources, Cluster, Since, For, Reason string }

func unwatchedRows(all []unwatched, asOf time.Time) []unwatchedRow {
	var rows []unwatchedRow
	for _, u := range all {
		row := unwatchedRow{Resources: u.resource, Cluster: u.cluster, Reason: u.reason}
		if !u.since.IsZero() {
			row.Since, row.For = moment(u.since), length(asOf.Sub(u.since))
		}
		if n := len(rows) - 1; n >= 0 && rows[n].like(&row) {
			rows[n].Resources += ", " + row.Resources
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *unwatchedRow) like(other *unwatchedRow) bool {
	return r.Cluster == other.Cluster && r.Since == other.Since && r.Reason == other.Reason
}

// notReadyText explains why kubeflap is not ready.
func notReadyText(watches []watches.Watch) string {
	all := make([]string, 0, len(watches))
	for _, w := range watches {
		text := w.Resource.String() + " (" + reasonOf(&w)
		if !w.Since.IsZero() {
			text += ", since " + w.Since.UTC().Format(time.RFC3339)
		}
		all = append(all, text+")")
	}
	return "kubeflap is not ready: it does not watch " + strings.Join(all, ", ") + "."
}
