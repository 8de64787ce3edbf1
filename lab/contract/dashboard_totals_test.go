package contract

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
)

// telling holds the series of a Service in promqltest's notation, with one scrape per minute for 45 minutes. In most
// cases, the Service lost four addresses in two outages. Three of them have one cause, and one has another cause. The
// dashboards show the last 30 minutes.
type telling struct {
	four, three, one, two, lastLoss string
	// present has the value 1 in each successful scrape.
	present string
	want    float64 // lost addresses; there are half as many outages
}

// tellings lists the cases in which a dashboard could show a wrong count.
var tellings = map[string]telling{
	"between two scrapes": {
		four: "0x35 4x10", three: "_x35 3x10", one: "_x38 1x7", two: "0x36 2x9", lastLoss: "_x35 2100x10",
		present: "1x46", want: 4,
	},
	"before a fresh Prometheus": { // the process has run for months
		four: "_x35 4x10", three: "_x35 3x10", one: "_x35 1x10", two: "_x35 2x10", lastLoss: "_x35 -5000x10",
		present: "_x35 1x10", want: 0,
	},
	"after the first scrape of a fresh Prometheus": {
		four: "_x35 1x3 5x6", three: "_x35 1x3 4x6", one: "_x40 1x4", two: "_x35 7x2 9x7", lastLoss: "_x35 2300x10",
		present: "_x35 1x10", want: 4,
	},
	"while scrapes fail": {
		four: "1x30 stale _x4 5x10", three: "1x30 stale _x4 4x10", one: "_x36 1x9", two: "0x30 stale _x4 2x10", lastLoss: "1x30 stale _x4 2100x10",
		present: "1x30 stale _x4 1x10", want: 4,
	},
	"before and after a restart": {
		four: "0x20 2x9 stale _x2 0x5 2x10", three: "_x20 2x10 stale _x7 1x10", one: "_x39 1x9", two: "0x20 1x9 stale _x2 0x5 1x10", lastLoss: "_x20 1300x10 stale",
		present: "1x30 stale _x2 1x20", want: 4,
	},
	"never": {
		four: "7x45", three: "5x45", one: "2x45", two: "3x45", lastLoss: "-5000x45",
		present: "1x46", want: 0,
	},
}

func (x telling) load(t *testing.T) storage.Queryable {
	t.Helper()
	var all strings.Builder
	all.WriteString("load 1m\n")
	for _, series := range [][2]string{
		{`kubeflap_service_addresses_lost_total{service="web",class="unplanned"}`, x.four},
		{`kubeflap_service_address_losses_total{service="web",cause="pod_deleted"}`, x.three},
		{`kubeflap_service_address_losses_total{service="web",cause="probe_failed"}`, x.one},
		{`kubeflap_service_outages_total{service="web",class="unplanned"}`, x.two},
		{`kubeflap_service_last_loss_timestamp_seconds{service="web",cause="pod_deleted"}`, x.lastLoss},
		{`kubeflap_service_addresses{service="web",state="ready"}`, strings.ReplaceAll(x.present, "1x", "6x")},
		{`kubeflap_watch_working{resource="nodes"}`, x.present},
	} {
		name, of, _ := strings.Cut(strings.TrimSuffix(series[0], "}"), "{")
		if strings.HasPrefix(name, "kubeflap_service_") {
			of = `namespace="shop",` + of
		}
		// In a replay, kubeflap sets the label cluster. Otherwise, it is a label of the target.
		fmt.Fprintf(&all, "  %s{%s} %s\n", name, strings.TrimSuffix(`cluster="eu",job="kubeflap",instance="a",`+of, ","), series[1])
	}
	return promqltest.LoadedStorage(t, all.String())
}

// The number, the charts and the table must show the same count.
func TestPanelsAgreeOnWhatWasLost(t *testing.T) {
	overview, service := dashboardNamed(t, "overview.json"), dashboardNamed(t, "service.json")
	panels := map[string]struct {
		dashboard dashboard
		query     string
		outages   bool
	}{
		"number of the overview":  {overview, "Addresses lost in the range, query A", false},
		"classes of the overview": {overview, "Addresses lost, by class, query A", false},
		"causes of the overview":  {overview, "Addresses lost, by cause, query A", false},
		"table of the overview":   {overview, "Services with unplanned losses, query C", false},
		"outages of the overview": {overview, "Outages in the range, query A", true},
		"outages in its table":    {overview, "Services with unplanned losses, query B", true},
		"number of the Service":   {service, "Addresses lost, query A", false},
		"classes of the Service":  {service, "Addresses lost, by class, query A", false},
		"causes of the Service":   {service, "Addresses lost, by cause, query A", false},
		"outages of the Service":  {service, "Outages, query A", true},
	}
	for name, x := range tellings {
		t.Run(name, func(t *testing.T) {
			data := x.load(t)
			is := map[string]map[string]*promql.Result{overview.File: results(t, overview, data, 15), service.File: results(t, service, data, 15)}
			for name, p := range panels {
				want := x.want
				if p.outages {
					want /= 2
				}
				if got := sumOf(is[p.dashboard.File][p.query]); math.Abs(got-want) > 0.25 {
					t.Errorf("%s: %g, want %g: %s", name, got, want, text(is[p.dashboard.File][p.query]))
				}
			}
			// The panel shows no state for times without scrapes.
			if worst := highest(is[overview.File]["Services, query A"]); name != "while scrapes fail" && (worst > 0) != (x.want > 0) {
				t.Errorf("unexpected worst state in the timeline: %g", worst)
			}
		})
	}
}

// If Prometheus is new, the panels must not show old events of kubeflap as new ones.
func TestPanelsLeaveOutWhatIsOlderThanPrometheus(t *testing.T) {
	for name, native := range histogramForms {
		always := story(t, timeline{instances: []string{"a"}, native: native})
		fresh := story(t, timeline{instances: []string{"a"}, first: 35, after: 35, native: native})
		for _, d := range dashboards(t) {
			t.Run(d.File+", "+name, func(t *testing.T) {
				// Start at the second scrape after the first, because a rate needs two samples.
				want, is := results(t, d, always, 37), results(t, d, fresh, 37)
				for query := range maps.Keys(want) {
					if text(is[query]) != text(want[query]) {
						t.Errorf("%s: %q, want %q", query, text(is[query]), text(want[query]))
					}
				}
			})
		}
	}
}

// Node 1 is not Ready in the middle of the range, node 2 between two scrapes, and node 3 leaves. Their heartbeats are on time.
func TestTimelinesOfNodes(t *testing.T) {
	of := func(metric, node, values string) string {
		return "  kubeflap_node_" + metric + `{job="kubeflap",instance="a",node="` + node + `"} ` + values + "\n"
	}
	load := "load 1m\n" + of("ready", "1", "1x20 0x5 1x18") + of("ready", "2", "1x45") + of("ready", "3", "1x30 stale") + of("ready", "4", "1x45") +
		of("departing", "3", "_x20 1x9 stale")
	for node, seconds := range map[string]string{"1": "0x20 0+60x5 300x18", "2": "0x30 10x14", "3": "0x30 stale", "4": "7x45"} {
		load += of("unready_seconds_total", node, seconds) + of("heartbeats_late_total", node, "0x45")
	}
	data := promqltest.LoadedStorage(t, load)
	for file, query := range map[string]string{"overview.json": "Nodes, query B", "node.json": "State, per node, query A"} {
		shown := setOf()
		for _, s := range results(t, dashboardNamed(t, file), data, 15)[query].Value.(promql.Matrix) {
			shown[s.Metric.Get("node")] = true
		}
		if want := setOf("1", "2", "3"); !maps.Equal(shown, want) {
			t.Errorf("%s shows the nodes %v, want %v", file, shown, want)
		}
	}
}

func dashboardNamed(t *testing.T, file string) dashboard {
	t.Helper()
	all := dashboards(t)
	i := slices.IndexFunc(all, func(d dashboard) bool { return d.File == file })
	if i < 0 {
		t.Fatalf("dashboard %s not found", file)
	}
	return all[i]
}

// sumOf returns the sum of all values of a result, like the legend of a chart.
func sumOf(r *promql.Result) float64 {
	sum := 0.0
	for _, v := range values(r) {
		sum += v
	}
	return sum
}

func highest(r *promql.Result) float64 { return slices.Max(append(values(r), math.Inf(-1))) }

func values(r *promql.Result) []float64 {
	var all []float64
	switch v := r.Value.(type) {
	case promql.Vector:
		for _, s := range v {
			all = append(all, s.F)
			if s.H != nil {
				all = append(all, s.H.Count)
			}
		}
	case promql.Matrix:
		for _, s := range v {
			for _, f := range s.Floats {
				all = append(all, f.F)
			}
			for _, h := range s.Histograms {
				all = append(all, h.H.Count)
			}
		}
	}
	return all
}

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
