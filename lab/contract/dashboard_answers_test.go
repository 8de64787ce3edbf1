package contract

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
)

// Half an hour is quiet, then everything happens at once. The dashboards are looked at from $__range before the end.
const (
	quiet = 30
	end   = 45 * time.Minute
)

var storyLine = regexp.MustCompile(`(?m)^(kubeflap_\w+)(?:\{(.*)\})? (\S+)$`)

// sparse are the counters that are born with their first count.
var sparse = regexp.MustCompile(`_losses_total$|^kubeflap_pod_ready_transitions_total$|^kubeflap_service_outage_duration_seconds|_last_loss_`)

// told is how the story is scraped, in minutes: from the first scrape on, and from which one on everything has happened.
type told struct {
	instances      []string
	first, happens int
	started        float64 // the start of the process, as a Unix time
	// down: nothing is ready in the end, and all incidents are over.
	down bool
}

// story lets the golden exposition happen, as scraped once a minute from each instance. Every counter
// counts one more, so that what did not happen in it happens, too.
func story(t *testing.T, x told) storage.Queryable {
	t.Helper()
	all := dictionary(t)
	var load strings.Builder
	load.WriteString("load 1m\n")
	series := func(name, of, instance, before, value string) {
		before = fmt.Sprintf("%sx%d", before, max(x.happens-x.first-1, 0))
		if x.happens <= x.first {
			before = ""
		}
		if x.first > 0 {
			before = fmt.Sprintf("_x%d %s", x.first-1, before)
		}
		of = strings.Trim(of+`,job="kubeflap",instance="`+instance+`"`, ",")
		fmt.Fprintf(&load, "  %s{%s} %s %sx%d\n", name, of, before, value, 60-x.happens)
	}
	for _, instance := range x.instances {
		for _, match := range storyLine.FindAllStringSubmatch(string(read(t, filepath.Join(Root, "exporter/metrics/testdata/story.prom"))), -1) {
			name, of, value := match[1], match[2], match[3]
			before := value
			if isCounter(all, name) {
				v, err := strconv.ParseFloat(value, 64)
				if err != nil {
					t.Fatal(err)
				}
				before, value = "0", fmt.Sprint(v+1)
			}
			if sparse.MatchString(name) {
				before = "_"
			}
			if x.down && (name == "kubeflap_node_ready" || name == "kubeflap_service_addresses") {
				value = "0"
			}
			if x.down && name == "kubeflap_incident_start_timestamp_seconds" {
				series("kubeflap_incident_end_timestamp_seconds", regexp.MustCompile(`id="\w+"`).FindString(of), instance, "_", value)
			}
			if !x.down || name != "kubeflap_incident_end_timestamp_seconds" {
				series(name, of, instance, before, value)
			}
		}
		series("kubeflap_build_info", `version="1.0.0"`, instance, "1", "1")
		for name := range foreign {
			value := "1"
			if name == "process_start_time_seconds" {
				value = fmt.Sprint(x.started)
			}
			series(name, "", instance, value, value)
		}
	}
	return promqltest.LoadedStorage(t, load.String())
}

// results are those of every query of a dashboard at the end of the story, or from a minute of it on.
func results(t *testing.T, d dashboard, data storage.Queryable, from int) map[string]*promql.Result {
	t.Helper()
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	start := time.Unix(0, 0)
	all := map[string]*promql.Result{}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			// Every variable is All, which is what matches a missing label, too.
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

// answers are the results as text.
func answers(t *testing.T, d dashboard, data storage.Queryable) map[string]string {
	t.Helper()
	all := map[string]string{}
	for query, result := range results(t, d, data, 15) {
		all[query] = text(result)
	}
	return all
}

// text has no order of its own: that of an instant vector is left to chance.
func text(r *promql.Result) string {
	if r.Value == nil {
		return ""
	}
	lines := strings.Split(r.Value.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Two kubeflaps that see the same, as they do for high availability, must not double a number, page a
// row twice or make a join ambiguous.
func TestReplicasChangeNothing(t *testing.T) {
	one, two := story(t, told{instances: []string{"a"}, happens: quiet}), story(t, told{instances: []string{"a", "b"}, happens: quiet})
	for _, d := range dashboards(t) {
		if d.UID == "kubeflap-self" {
			continue // It shows the replicas.
		}
		t.Run(d.File, func(t *testing.T) {
			is, want := answers(t, d, two), answers(t, d, one)
			for query, answer := range want {
				if is[query] != answer {
					t.Errorf("%s:\n%s\nwith two replicas:\n%s", query, answer, is[query])
				}
			}
		})
	}
}

// The story has everything that can happen, so that no picture may stay empty.
func TestEveryQueryAnswers(t *testing.T) {
	one := told{instances: []string{"a", "b"}, happens: quiet}
	other := one
	other.down = true
	up, down := story(t, one), story(t, other)
	for _, d := range dashboards(t) {
		t.Run(d.File, func(t *testing.T) {
			is, or := answers(t, d, up), answers(t, d, down)
			for query := range maps.Keys(is) {
				if is[query] == "" && or[query] == "" {
					t.Errorf("%s has no answer", query)
				}
			}
		})
	}
}
