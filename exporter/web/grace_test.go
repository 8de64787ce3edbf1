package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// TestGracePeriodsOnThePageAndInTheAPI checks that the page shows the same table as the API, for each cluster.
func TestGracePeriodsOnThePageAndInTheAPI(t *testing.T) {
	s := serverOf(t, clusterOf("one", lostNode("web"), at(60)), clusterOf("two", lostNode("api"), at(60)))
	_, body := get(t, s, "/api/v1/incidents?cluster=two", nil)
	var answer api.Answer
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.GracePeriods) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	table := answer.GracePeriods[0]
	if table.Cluster != "two" || len(table.Rows) != 8 || table.Rows[2].Silences != (controlplane.Range{AtLeast: 1, AtMost: 1}) || table.Rows[3].Silences != (controlplane.Range{}) {
		t.Errorf("%+v", table)
	}
	_, page := get(t, s, "/flaps", nil)
	for _, want := range append(table.Notes,
		`<section id="graces-one">`, "<h2>Grace periods in two</h2>", "all silences since 2026-03-01 12:00:00 UTC",
		`<tr><th scope="row">40s</th><td>1</td><td>1</td><td>45s</td></tr>`, `<tr><th scope="row">50s</th><td>0</td><td>0</td><td>55s</td></tr>`,
	) {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q in\n%s", want, page)
		}
	}
	if _, page := get(t, s, "/flaps?id="+answer.Incidents[0].ID, nil); strings.Contains(page, "Grace periods") {
		t.Error("the page of an incident shows the table")
	}
	c := but(clusterOf("", lostNode("web"), at(60)), func(s *State) {
		s.GracePeriods = controlplane.Table{Rows: []controlplane.Row{}, Notes: advice.NotesOn(&controlplane.Table{}, advice.GracePeriod{Period: time.Minute})}
	})
	_, page = get(t, serverOf(t, c), "/flaps", nil)
	if !strings.Contains(page, "kubeflap cannot see the heartbeats of nodes") || strings.Contains(page, "Dead node") {
		t.Errorf("without heartbeats:\n%s", page)
	}
}
