// Package contract checks that rules, dashboards and documentation match what kubeflap exposes.
package contract

import (
	"strings"
	"testing"
)

// Root is the path of the repository, relative to this package.
const Root = "../.."

// Metric holds the type and the labels of a metric name in PromQL. A histogram has several metric names.
type Metric struct {
	Type   string
	Labels []string
}

// declared returns every metric name that kubeflap exposes. It reads the names from docs/metrics.md, which is generated
// from the code.
func declared(t testing.TB) map[string]Metric {
	t.Helper()
	all := map[string]Metric{
		// The table in docs/metrics.md does not contain this metric, because prometheus/common declares it.
		"kubeflap_build_info": {"gauge", []string{"branch", "goarch", "goos", "goversion", "revision", "tags", "version"}},
	}
	for line := range strings.Lines(readFile(t, "docs/metrics.md")) {
		if !strings.HasPrefix(line, "| `kubeflap_") {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 7 {
			t.Fatalf("docs/metrics.md: unexpected number of cells (%d) in the row %q", len(cells), line)
		}
		name, labels, _ := strings.Cut(strings.Trim(cells[1], " `}"), "{")
		m := Metric{Type: strings.TrimSpace(cells[2])}
		if labels != "" {
			m.Labels = strings.Split(labels, ",")
		}
		all[name] = m
		if m.Type == "histogram" {
			all[name+"_count"], all[name+"_sum"] = m, m
			all[name+"_bucket"] = Metric{m.Type, append([]string{"le"}, m.Labels...)}
		}
	}
	return all
}

// dictionary returns kubeflap's metrics, and the series of the recording rules.
func dictionary(t testing.TB) map[string]Metric {
	t.Helper()
	all := declared(t)
	for _, r := range rules(t) {
		if r.Record != "" {
			all[r.Record] = Metric{"gauge", r.Labels}
		}
	}
	return all
}

// quoted returns the strings between backquotes.
func quoted(cell string) []string {
	var all []string
	for i, s := range strings.Split(cell, "`") {
		if i%2 == 1 {
			all = append(all, s)
		}
	}
	return all
}
