package web

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track"
)

// notListed is why a resource is not watched whose first list is still to come, if nothing went wrong with it.
const notListed = "not listed yet"

// gap is a resource of a cluster that is not watched: what happens to it makes no incident.
type gap struct {
	cluster  string
	resource string
	since    time.Time
	reason   string
}

// gapsOf collects what is not watched in the clusters that are asked for.
func gapsOf(clusters []Cluster, q *query) []gap {
	var all []gap
	for _, c := range clusters {
		if q.Cluster != "" && q.Cluster != c.Name {
			continue
		}
		for _, w := range c.Unwatched() {
			all = append(all, gap{c.Name, w.Resource.String(), w.Since, reasonOf(&w)})
		}
	}
	return all
}

func reasonOf(w *track.Watch) string {
	switch {
	case w.Reason != "":
		return string(w.Reason)
	case !w.Synced:
		return notListed
	}
	return "error"
}

// gapRow is what has not been watched since the same time and for the same reason, as the page shows it.
type gapRow struct{ Resources, Cluster, Since, For, Reason string }

func gapRows(gaps []gap, asOf time.Time) []gapRow {
	var rows []gapRow
	for _, g := range gaps {
		row := gapRow{Resources: g.resource, Cluster: g.cluster, Reason: g.reason}
		if !g.since.IsZero() {
			row.Since, row.For = moment(g.since), length(asOf.Sub(g.since))
		}
		if n := len(rows) - 1; n >= 0 && rows[n].alike(&row) {
			rows[n].Resources += ", " + row.Resources
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// alike: what broke at the same second is one row.
func (r *gapRow) alike(other *gapRow) bool {
	return r.Cluster == other.Cluster && r.Since == other.Since && r.Reason == other.Reason
}

// unfit says in a sentence what makes kubeflap not ready.
func unfit(watches []track.Watch) string {
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
