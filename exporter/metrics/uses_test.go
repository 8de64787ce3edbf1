package metrics

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// onlyQueries are the metrics that no rule and no dashboard reads. They are for queries of your own.
var onlyQueries = []string{"kubeflap_node_ready_transitions_total", "kubeflap_pods_unready_total"}

// usesOfMetrics returns the alerts, recording rules and dashboards that read each metric, by the name of the metric.
func usesOfMetrics(t *testing.T, all []*Metric) map[string]string {
	t.Helper()
	alerts, dashboards := map[string][]string{}, map[string][]string{}
	note := func(to map[string][]string, reader, text string) {
		for _, name := range regexp.MustCompile(`kubeflap_\w+`).FindAllString(text, -1) {
			if !slices.Contains(to[name], reader) {
				to[name] = append(to[name], reader)
			}
		}
	}
	comment := regexp.MustCompile(`(?m)^ *#.*$`)
	rule := regexp.MustCompile(`(?m)^ +- (alert|record): (\S+)$`)
	for _, path := range glob(t, "../../rules/*.yaml") {
		text := fileText(t, path)
		starts := rule.FindAllStringSubmatchIndex(text, -1)
		for i, at := range starts {
			reader, end := text[at[4]:at[5]], len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			if text[at[2]:at[3]] == "record" {
				reader = "`rules/" + filepath.Base(path) + "`"
			}
			note(alerts, reader, comment.ReplaceAllString(text[at[1]:end], ""))
		}
	}
	for _, path := range glob(t, "../../dashboards/*.json") {
		var dashboard map[string]any
		if err := json.Unmarshal([]byte(fileText(t, path)), &dashboard); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_, title, _ := strings.Cut(dashboard["title"].(string), "/ ")
		note(dashboards, title, queriesIn(dashboard))
	}
	uses := map[string]string{}
	for _, m := range all {
		names := []string{m.Name}
		if typeText(m.Type) == "histogram" {
			names = append(names, m.Name+"_bucket", m.Name+"_count", m.Name+"_sum")
		}
		uses[m.Name] = readers(names, alerts, dashboards)
		if (uses[m.Name] == "") != slices.Contains(onlyQueries, m.Name) {
			t.Errorf("%s is read by %q, and onlyQueries has %v", m.Name, uses[m.Name], onlyQueries)
		}
		if uses[m.Name] == "" {
			uses[m.Name] = "your own queries"
		}
	}
	return uses
}

// readers returns the alerts and dashboards that read one of these series.
func readers(names []string, alerts, dashboards map[string][]string) string {
	var found, shown []string
	for _, name := range names {
		found, shown = append(found, alerts[name]...), append(shown, dashboards[name]...)
	}
	if len(shown) > 0 {
		slices.Sort(shown)
		found = append(found, "dashboard "+strings.Join(slices.Compact(shown), ", "))
	}
	return strings.Join(found, ", ")
}

// queriesIn returns all queries in a part of a dashboard.
func queriesIn(part any) string {
	var all strings.Builder
	switch part := part.(type) {
	case []any:
		for _, x := range part {
			all.WriteString(queriesIn(x))
		}
	case map[string]any:
		for key, x := range part {
			if text, ok := x.(string); ok && slices.Contains([]string{"expr", "query", "definition"}, key) {
				all.WriteString(text + "\n")
			}
			all.WriteString(queriesIn(x))
		}
	}
	return all.String()
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return paths
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
