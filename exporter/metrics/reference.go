package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/metrics/exposition"
)

// Reference returns the metric reference, docs/metrics.md, in Markdown.
func (c Catalogue) Reference() string {
	var b strings.Builder
	b.WriteString(`# Metrics

This page is generated from the declarations in ` + "`exporter/metrics`" + ` (` + "`make docs`" + `). A test fails when it is out of date.

A counter starts at 0 when its object is first seen, and ends when the object is deleted. Namespace counters are kept for an hour after the last pod or Service is gone.

A series with the label ` + "`cause`" + ` starts with its first count instead of 0, so ` + "`increase()`" + ` misses that count. Count losses with the
counters without a cause: ` + "`kubeflap_service_addresses_lost_total` and `kubeflap_pods_unready_total`" + `. Use the counters with a cause for the share of each cause.

Times are in seconds. Each histogram is exposed in the native and the classic format. A stable metric keeps its name, labels and meaning within a major version.
` + "`/metrics` also has `kubeflap_build_info`, `go_*`, `process_*` and `promhttp_*`" + `.

| metric | type | labels | series | stability | meaning |
| --- | --- | --- | --- | --- | --- |
`)
	for _, m := range slices.Concat(c, Catalogue{logLinesDropped()}, recorderMetrics()) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", m.Name, exposition.TypeText(m.Type), labelList(m.Labels), m.Series, m.Stability, m.Help)
	}
	return b.String()
}

func labelList(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return "`" + strings.Join(labels, "`, `") + "`"
}
