// Package contract checks that rules, dashboards and documentation match what kubeflap exposes.
package contract

import (
	"regexp"
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
		// docs/metrics.md does not list this metric, because prometheus/common declares it.
		"kubeflap_build_info": {"gauge", []string{"branch", "goarch", "goos", "goversion", "revision", "tags", "version"}},
	}
	entry := regexp.MustCompile("(?m)^- `(kubeflap_\\w+)(?:{([\\w,]+)})?` \\((\\w+), ")
	for _, found := range entry.FindAllStringSubmatch(readFile(t, "docs/metrics.md"), -1) {
		name, m := found[1], Metric{Type: found[3]}
		if found[2] != "" {
			m.Labels = strings.Split(found[2], ",")
		}
		all[name] = m
		if m.Type == "histogram" {
			all[name+"_count"], all[name+"_sum"] = m, m
			all[name+"_bucket"] = Metric{m.Type, append([]string{"le"}, m.Labels...)}
		}
	}
	if len(all) < 50 {
		t.Fatalf("docs/metrics.md lists only %d metrics", len(all))
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

// try returns x, unless err fails the test.
func try[T any](x T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return x
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
