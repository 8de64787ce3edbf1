package contract

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
)

// In these tests, all events happen at once after 30 minutes. The dashboards show the last 30 minutes before end.
const (
	quiet = 30
	end   = 45 * time.Minute
)

var storyLine = regexp.MustCompile(`(?m)^(kubeflap_\w+)(?:\{(.*)\})? (\S+)$`)

// sparse matches counters whose series do not exist before their first event.
var sparse = regexp.MustCompile(`_losses_total{|^kubeflap_pod_ready_transitions_total{|_duration_seconds(_\w+)?{|_last_loss_|_total{.*class="(planned|rollout|scaled_to_zero)"`)

// timeline says when a story is scraped. first is the minute of the first scrape. after is the minute of the first
// scrape after the events.
type timeline struct {
	instances    []string
	first, after int
	// down means that at the end no node and no address is ready, and no outage and no silence has ended.
	down bool
	// native is the schema of native histograms. If it is set, Prometheus stores no classic histograms.
	native string
	// beside means that Prometheus also scrapes a target of another job.
	beside bool
}

// ofDown holds the values of a story in which everything is down.
var ofDown = map[string]string{
	"kubeflap_node_ready": "0", "kubeflap_service_addresses": "0",
	"kubeflap_service_outage_start_timestamp_seconds": "1800", "kubeflap_node_silence_start_timestamp_seconds": "1800",
}

// ofAnyTarget lists metrics that the dashboards show of kubeflap, but that other targets have, too.
var ofAnyTarget = []string{"up", "scrape_duration_seconds", "scrape_samples_scraped", "process_resident_memory_bytes", "process_cpu_seconds_total"}

// histogramForms maps the forms in which Prometheus can store histograms to the schema of their samples. Classic
// histograms have none.
var histogramForms = map[string]string{
	"classic histograms": "", "native histograms": "schema:0", "converted histograms": "schema:-53 custom_values:[10]",
}

// expositions returns the metrics in two golden files: those of a cluster, and those of a process with --data.dir.
func expositions(t *testing.T) string {
	t.Helper()
	return readFile(t, "exporter/metrics/testdata/story.prom") + readFile(t, "exporter/metrics/testdata/recorder.prom")
}

// story returns the series of the golden files, scraped from each instance once a minute. It adds 1 to each counter, so
// that no counter is 0.
func story(t *testing.T, x timeline) storage.Queryable {
	t.Helper()
	all := dictionary(t)
	var load strings.Builder
	load.WriteString("load 1m\n")
	series := func(name, of, instance, before, value string) {
		before = fmt.Sprintf("%sx%d", before, max(x.after-x.first-1, 0))
		if x.after <= x.first {
			before = ""
		}
		if x.first > 0 {
			before = fmt.Sprintf("_x%d %s", x.first-1, before)
		}
		of = strings.Trim(of+`,job="kubeflap",instance="`+instance+`"`, ",")
		fmt.Fprintf(&load, "  %s{%s} %s %sx%d\n", name, of, before, value, 60-x.after)
	}
	for _, instance := range x.instances {
		for _, match := range storyLine.FindAllStringSubmatch(expositions(t), -1) {
			name, of, value := match[1], match[2], match[3]
			before := value
			if isCounter(all, name) {
				v := try(strconv.ParseFloat(value, 64))(t)
				before, value = "0", fmt.Sprint(v+1)
			}
			if sparse.MatchString(name + "{" + of + "}") {
				before = "_"
			}
			if base, part := histogramOf(all, name); x.native != "" && base != "" {
				if part == "count" {
					series(base, of, instance, "_", fmt.Sprintf("{{%s sum:%s count:%s buckets:[%s]}}", x.native, value, value, value))
				}
				continue
			}
			if down, ok := ofDown[name]; ok && x.down {
				value = down
			}
			series(name, of, instance, before, value)
		}
		series("kubeflap_build_info", `version="1.0.0"`, instance, "1", "1")
		for name, m := range foreign {
			of := ""
			if slices.Contains(m.Labels, "le") {
				of = `le="+Inf"`
			}
			series(name, of, instance, "1", "1")
		}
	}
	if x.beside {
		for _, name := range ofAnyTarget {
			fmt.Fprintf(&load, "  %s{job=\"node\",instance=\"c\"} 1x60\n", name)
		}
	}
	data := promqltest.LoadedStorage(t, load.String())
	record(t, data)
	return data
}

// record evaluates the rules once a minute. Some dashboards read the recorded series and ALERTS.
func record(t *testing.T, data *teststorage.TestStorage) {
	t.Helper()
	e := evaluatorOf(t, data)
	for at := time.Unix(0, 0); at.Before(time.Unix(0, 0).Add(end + time.Minute)); at = at.Add(time.Minute) {
		e.evaluate(at)
	}
}

// histogramOf splits the name of a series of a classic histogram into the name of the metric and the suffix.
func histogramOf(all map[string]Metric, name string) (base, part string) {
	i := strings.LastIndexByte(name, '_')
	if all[name].Type != "histogram" || i < 0 {
		return "", ""
	}
	return name[:i], name[i+1:]
}

// results runs all queries of a dashboard. It returns their results by panel and query. The parameter from is the
// minute at which the time range starts.
func results(t *testing.T, d dashboard, data storage.Queryable, from int) map[string]*promql.Result {
	t.Helper()
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	start := time.Unix(0, 0)
	all := map[string]*promql.Result{}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			// Replace each variable by its value All. The matcher then also accepts a missing label.
			expr := regexp.MustCompile(`=~"\$\w+\|?"`).ReplaceAllString(filled.Replace(q.Expr), `=~".*"`)
			query, err := engine.NewRangeQuery(context.Background(), data, nil, expr, start.Add(time.Duration(from)*time.Minute), start.Add(end), time.Minute)
			if q.Instant && err == nil {
				query, err = engine.NewInstantQuery(context.Background(), data, nil, expr, start.Add(end))
			}
			if err != nil {
				t.Fatalf("panel %q, query %s: %v", p.Title, q.RefID, err)
			}
			result := query.Exec(context.Background())
			if result.Err != nil {
				t.Errorf("panel %q, query %s: %v", p.Title, q.RefID, result.Err)
			}
			all[p.Title+", query "+q.RefID] = result
		}
	}
	return all
}

// answers returns the results as text.
func answers(t *testing.T, d dashboard, data storage.Queryable) map[string]string {
	t.Helper()
	all := map[string]string{}
	for query, result := range results(t, d, data, 15) {
		all[query] = text(result)
	}
	return all
}

// text sorts the lines of a result, because the order of an instant vector is random.
func text(r *promql.Result) string {
	if r.Value == nil {
		return ""
	}
	lines := strings.Split(r.Value.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Two replicas that see the same events must give the same results as one. No number may be doubled, no row repeated,
// and no join ambiguous.
func TestReplicasChangeNothing(t *testing.T) {
	for name, native := range histogramForms {
		one := timeline{instances: []string{"a"}, after: quiet, native: native}
		two := one
		two.instances = []string{"a", "b"}
		of, and := story(t, one), story(t, two)
		for _, d := range dashboards(t) {
			if d.UID == "kubeflap-self" {
				continue // this dashboard shows the replicas
			}
			t.Run(d.File+", "+name, func(t *testing.T) {
				sameAnswers(t, answers(t, d, and), answers(t, d, of))
			})
		}
	}
}

// Prometheus also scrapes targets that are no kubeflap. The variable job has a value for these targets, too: All.
func TestOtherTargetsChangeNothing(t *testing.T) {
	with := timeline{instances: []string{"a", "b"}, after: quiet, beside: true}
	without := with
	without.beside = false
	is, want := story(t, with), story(t, without)
	for _, d := range dashboards(t) {
		sameAnswers(t, answers(t, d, is), answers(t, d, want))
	}
}

// A link in an alert selects the cluster in external_labels. A cluster's own Prometheus has no such label in its series, so
// the dashboard must show them as if no cluster were selected.
func TestLinksOfAlertsSelectSeriesWithoutCluster(t *testing.T) {
	data := story(t, timeline{instances: []string{"a", "b"}, after: quiet})
	selected := dashboards(t)
	for i, d := range dashboards(t) {
		for _, p := range selected[i].Panels {
			for j := range p.Targets {
				p.Targets[j].Expr = strings.ReplaceAll(p.Targets[j].Expr, "$cluster", "eu")
			}
		}
		if d.UID == fleetUID {
			continue // recorded series of a cluster have its label
		}
		sameAnswers(t, answers(t, selected[i], data), answers(t, d, data))
		if text := readFile(t, "dashboards/"+d.File); strings.Contains(text, `cluster=~\"$cluster\"`) {
			t.Errorf("%s: a variable or an annotation selects no series without cluster", d.File)
		}
	}
}

func sameAnswers(t *testing.T, is, want map[string]string) {
	t.Helper()
	for query, answer := range want {
		if is[query] != answer {
			t.Errorf("%s:\n%s\nwant\n%s", query, is[query], answer)
		}
	}
}

// The stories contain all kinds of events. So each query must return a result in at least one of them. If Prometheus
// stores native histograms, there are no series _bucket, _count and _sum, so a panel may need a query for each form.
func TestEveryQueryAnswers(t *testing.T) {
	stories := map[string][]storage.Queryable{}
	for name, native := range histogramForms {
		one := timeline{instances: []string{"a", "b"}, after: quiet, native: native}
		down := one
		down.down = true
		stories[name] = []storage.Queryable{story(t, one), story(t, down)}
	}
	for _, d := range dashboards(t) {
		t.Run(d.File, func(t *testing.T) {
			queries := map[string]bool{}
			for name, form := range stories {
				panels := map[string]bool{}
				for _, data := range form {
					for query, answer := range answers(t, d, data) {
						panel, _, _ := strings.Cut(query, ", query ")
						queries[query], panels[panel] = queries[query] || answer != "", panels[panel] || answer != ""
					}
				}
				for panel, ok := range panels {
					if !ok {
						t.Errorf("panel %q is empty with %s", panel, name)
					}
				}
			}
			for query, ok := range queries {
				if !ok {
					t.Errorf("%s returns no result in any story", query)
				}
			}
		})
	}
}
