package postmortem

import (
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kubeflap/kubeflap/exporter/web/api"
)

func moments(all ...int) (times []*time.Time) {
	for _, s := range all {
		t := at(s)
		times = append(times, &t)
	}
	return times
}

// TestTheReportSaysWhetherItLooked checks that "no incidents" and "not watching" never look the same.
func TestTheReportSaysWhetherItLooked(t *testing.T) {
	m := moments(0, 20, 50)
	gap := api.Gap{Resources: []string{"nodes", "pods"}, From: at(10), To: m[1], Reason: "timeout", MayMiss: "nodes turned Unknown"}
	for _, c := range []struct {
		name     string
		from, to time.Time
		coverage api.Coverage
		want     string
	}{
		{"whole", at(0), at(60), api.Coverage{Since: m[0]}, "kubeflap watched all resources for the whole period."},
		{"begins too early", at(-100), at(60), api.Coverage{Since: m[0]}, "kubeflap began to watch at 2026-03-01 12:00:00.0 UTC and saw nothing before. Incidents may be missing."},
		{"ends too late", at(0), at(100), api.Coverage{Since: m[0]}, "kubeflap saw nothing after 2026-03-01 12:01:00.0 UTC"},
		{"blind", at(0), at(60), api.Coverage{Since: m[0], Gaps: []api.Gap{gap}}, "1 gap in which kubeflap did not watch some resources (listed below). Incidents may be missing."},
		{"blind at another time", at(30), at(60), api.Coverage{Since: m[0], Gaps: []api.Gap{gap}}, "kubeflap watched all resources for the whole period."},
		{"gaps were dropped", at(0), at(60), api.Coverage{Since: m[0], GapsLeftOut: 3}, "3 older gaps were not kept"},
		{
			"incidents were dropped", at(0), at(60),
			api.Coverage{Since: m[0], IncidentsDropped: 3, IncidentsDroppedUntil: m[1]},
			"3 older incidents that lasted until 2026-03-01 12:00:20.0 UTC at the latest were dropped (--incidents.size). Incidents may be missing.",
		},
		{"incidents of another time were dropped", at(30), at(60), api.Coverage{Since: m[0], IncidentsDropped: 3, IncidentsDroppedUntil: m[1]}, "for the whole period."},
		{
			"incidents were lost", at(0), at(60),
			api.Coverage{Since: m[0], IncidentsLostUntil: m[1]},
			"kubeflap has kept no incidents of this period. kubeflap did not see everything",
		},
		{
			"why incidents were lost", at(0), at(60),
			api.Coverage{Since: m[0], IncidentsLostUntil: m[1]},
			"incidents until 2026-03-01 12:00:20.0 UTC were lost, because incidents.jsonl was damaged, deleted or unreadable (kubeflap report --recording on the --data.dir directory may show them). Incidents may be missing.",
		},
		{"incidents of another time were lost", at(30), at(60), api.Coverage{Since: m[0], IncidentsLostUntil: m[1]}, "kubeflap saw no incidents in this period, apart from expected rollouts and drains. kubeflap watched all resources for the whole period."},
		{"all that it remembers", time.Time{}, at(60), api.Coverage{Since: m[0]}, "kubeflap has watched all resources since 2026-03-01 12:00:00.0 UTC."},
		{"before the first event of a replay", at(0), at(60), api.Coverage{}, "It is unknown whether kubeflap watched for the whole period, so incidents may be missing."},
		{
			"what is not watched now is one gap", at(0), at(60),
			api.Coverage{Since: m[0], NotWatched: []api.NotWatched{{Resource: "pods", Since: m[2]}}, Gaps: []api.Gap{{Resources: []string{"pods"}, From: at(50)}}},
			"1 gap in which kubeflap did not watch",
		},
		{"it became blind afterwards", at(0), at(40), api.Coverage{Since: m[0], Gaps: []api.Gap{{Resources: []string{"pods"}, From: at(50)}}}, "for the whole period."},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := Input{From: c.from, To: c.to, Answer: api.Answer{AsOf: at(60), Coverage: c.coverage}}
			if got := strings.Join(documentOf(&in).Summary, " "); !strings.Contains(got, c.want) {
				t.Errorf("%s\nhas no: %s", got, c.want)
			}
		})
	}
}

// TestTheTitleDoesNotSoundTheAllClear checks that the title only says "no incidents" if kubeflap watched everything.
func TestTheTitleDoesNotSoundTheAllClear(t *testing.T) {
	since := moments(0)[0]
	for _, c := range []struct {
		from, to int
		coverage api.Coverage
		want     string
	}{
		{0, 60, api.Coverage{Since: since}, "no incidents"},
		{-60, -30, api.Coverage{Since: since}, "not watched"},
		{70, 90, api.Coverage{Since: since}, "not watched"},
		{-60, 60, api.Coverage{Since: since}, "no known incidents"},
		{0, 60, api.Coverage{Since: since, IncidentsLostUntil: moments(20)[0]}, "no known incidents"},
		{0, 60, api.Coverage{Since: since, Gaps: []api.Gap{{Resources: []string{"pods"}, From: at(10), To: moments(20)[0]}}}, "no known incidents"},
		{0, 60, api.Coverage{}, "no known incidents"},
	} {
		in := Input{From: at(c.from), To: at(c.to), Answer: api.Answer{AsOf: at(60), Coverage: c.coverage}}
		if got := documentOf(&in).Title; got != "Post-mortem: "+c.want+", 2026-03-01" {
			t.Errorf("from %d to %d: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

func TestMetricsOfARunningKubeflap(t *testing.T) {
	const text = `kubeflap_build_info{cluster="a",version="1.2.3"} 1
kubeflap_service_addresses{cluster="a",namespace="shop",service="web"} 1
kubeflap_node_ready{cluster="b",node="node-1"} 1
`
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var families []*dto.MetricFamily
	for _, family := range byName {
		families = append(families, family)
	}
	for filter, want := range map[Filter]bool{
		{Cluster: "a", Namespace: "shop", Service: "web"}: true, {Cluster: "a", Namespace: "shop"}: true, {Cluster: "a", Namespace: "else"}: false, {Cluster: "a", Namespace: "else", Service: "web"}: false, {Cluster: "a", Node: "node-1"}: false, {Node: "node-1"}: true,
	} {
		if version, found := VersionFromMetrics(families, filter); version != "1.2.3" || found != want {
			t.Errorf("%+v: version %q, found %t", filter, version, found)
		}
	}
}
