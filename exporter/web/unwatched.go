package web

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// unwatchedRow groups resources of a cluster that have been unwatched since the same second for the same reason.
type unwatchedRow struct{ Resources, Cluster, Since, For, Reason string }

func unwatchedRows(all []api.NotWatched, asOf time.Time) (rows []unwatchedRow) {
	for _, u := range all {
		row := unwatchedRow{Resources: u.Resource, Cluster: u.Cluster, Reason: u.Reason}
		if u.Since != nil {
			row.Since, row.For = moment(*u.Since), length(asOf.Sub(*u.Since))
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
		text := w.Resource.String() + " (" + string(w.Reason)
		if !w.Since.IsZero() {
			text += ", since " + w.Since.UTC().Format(time.RFC3339)
		}
		all = append(all, text+")")
	}
	return "kubeflap is not ready: it does not watch " + strings.Join(all, ", ") + "."
}
