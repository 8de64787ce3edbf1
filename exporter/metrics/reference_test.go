package metrics

import (
	"fmt"
	"strings"
	"testing"
)

// TestMetricReferenceIsFresh compares docs/metrics.md with the declarations.
func TestMetricReferenceIsFresh(t *testing.T) {
	var all []*Metric
	for _, m := range NewCollector(nil, nil, nil).rows {
		all = append(all, m.Metric)
	}
	recording, lost := recorderMetrics()
	all = append(all, recording, lost)
	var b strings.Builder
	b.WriteString(referenceIntroduction)
	for _, m := range all {
		labels := ""
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", m.Name, typeText(m.Type), labels, m.Series, m.Stability, m.Help)
	}
	golden(t, "../../docs/metrics.md", b.String())
}

const referenceIntroduction = `# Metrics

This page is generated from the declarations in ` + "`exporter/metrics`" + ` (` + "`make docs`" + `). A test fails if this page is out of date.

A counter starts at 0 when kubeflap first sees the object it describes, and is removed when the object is deleted. The counters for a namespace are
removed an hour after its last pod or Service is deleted.

A series with a ` + "`cause`" + ` label starts at its first count instead of at 0, so ` + "`increase()`" + ` misses that count. To count losses,
use ` + "`kubeflap_service_addresses_lost_total` and `kubeflap_pods_unready_total`" + `, which have no ` + "`cause`" + ` label. To see the share
of each cause, use the counters with that label.

Times are in seconds. Each histogram is exposed in the native and the classic format. A stable metric keeps its name, labels and meaning within a
major version. The ` + "`window`" + ` label is the time for which a client collects endpoint updates before it applies them.
[Incidents](incidents.md) explains scopes and verdicts. ` + "`/metrics` also has `kubeflap_build_info`, `go_*` and `process_*`" + `.

| metric | type | labels | series | stability | meaning |
| --- | --- | --- | --- | --- | --- |
`
