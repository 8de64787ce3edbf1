package contract

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// There is one scrape per minute for 45 minutes. The table must show the incidents of the last 30 minutes.
func TestTableOfIncidents(t *testing.T) {
	const start, end = "  kubeflap_incident_start_timestamp_seconds", "  kubeflap_incident_end_timestamp_seconds"
	of := func(id, verdict string) string {
		return `{job="kubeflap",instance="a",id="` + id + `",scope="node",subject="node-` + id + `",cause="node_heartbeat_lost",verdict="` + verdict + `"} `
	}
	id := func(id string) string { return `{job="kubeflap",instance="a",id="` + id + `"} ` }
	data := promqltest.LoadedStorage(t, "load 1m\n"+strings.Join([]string{
		// Incident 1 began before the time range and is ongoing.
		start + of("1", "node") + "600x45",
		// kubeflap revised the verdict of incident 2. The incident recovered, and kubeflap removed it ten minutes
		// later.
		start + of("2", "undecided") + "_x16 960x3 stale", start + of("2", "node") + "_x20 960x15 stale", end + id("2") + "_x25 1500x10 stale",
		// Incident 3 recovered, but is ongoing again.
		start + of("3", "node") + "_x20 1200x25", end + id("3") + "_x25 1500x5 stale",
		// kubeflap restarted during incident 4.
		start + of("4", "node") + "_x20 1200x10 stale",
		// Incident 5 ended before the time range. Incident 6 began half a minute before the end.
		start + of("5", "node") + "300x9 stale", start + of("6", "undecided") + "_x45 2670x0",
	}, "\n")+"\n")
	is := results(t, dashboardNamed(t, "overview.json"), data, 15)
	rows := map[string]string{}
	add := func(query string, cell func(verdict string, value float64) string) {
		for _, s := range is["Incidents in the range, query "+query].Value.(promql.Vector) {
			rows[s.Metric.Get("id")] += cell(s.Metric.Get("verdict"), s.F)
		}
	}
	add("A", func(verdict string, _ float64) string { return verdict })
	add("B", func(_ string, ended float64) string {
		if ended != 1_500_000 {
			t.Errorf("unexpected time of recovery: %g ms", ended)
		}
		return ", recovered"
	})
	add("C", func(_ string, state float64) string {
		return []string{", no longer seen", ", over", ", ongoing"}[int(state)]
	})
	want := map[string]string{"1": "node, ongoing", "2": "node, recovered, over", "3": "node, ongoing", "4": "node, no longer seen", "6": "undecided, ongoing"}
	for id := range rows {
		if rows[id] != want[id] {
			t.Errorf("%s: %q, want %q", id, rows[id], want[id])
		}
	}
	if len(rows) != len(want) {
		t.Errorf("got %d rows, want %d: %v", len(rows), len(want), rows)
	}
}
