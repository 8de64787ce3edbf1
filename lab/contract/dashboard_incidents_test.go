package contract

import (
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// There is one scrape per minute for 45 minutes. The table must show the incidents of the last 30 minutes, each once.
func TestTableOfIncidents(t *testing.T) {
	of := func(id, verdict string) string {
		return `  kubeflap_incident_start_timestamp_seconds{job="kubeflap",instance="a",id="` + id + `",scope="node",subject="node-` + id + `",verdict="` + verdict + `"} `
	}
	data := promqltest.LoadedStorage(t, "load 1m\n"+strings.Join([]string{
		// Incident 1 began before the time range and is ongoing.
		of("1", "node") + "600x45",
		// kubeflap revised the verdict of incident 2. The incident was resolved, and kubeflap removed it ten minutes later.
		of("2", "undecided") + "_x16 960x3 stale", of("2", "node") + "_x20 960x15 stale",
		// kubeflap revised the verdict of incident 3 a moment ago.
		of("3", "undecided") + "_x16 960x28 stale", of("3", "node") + "_x45 960x0",
		// Incident 4 ended before the time range. Incident 5 began half a minute before the end.
		of("4", "node") + "300x9 stale", of("5", "undecided") + "_x45 2670x0",
	}, "\n")+"\n")
	is := results(t, dashboardNamed(t, "overview.json"), data, 15)
	rows := map[string]string{}
	for _, query := range []string{"A", "B"} {
		for _, s := range is["Incidents in the range, query "+query].Value.(promql.Vector) {
			rows[s.Metric.Get("id")] += map[string]string{"A": s.Metric.Get("verdict"), "B": ", ongoing"}[query]
		}
	}
	want := map[string]string{"1": "node, ongoing", "2": "node", "3": "node, ongoing", "5": "undecided, ongoing"}
	if !maps.Equal(rows, want) {
		t.Errorf("got %v, want %v", rows, want)
	}
}
