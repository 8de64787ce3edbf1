package metrics

import (
	"fmt"
	"slices"
	"strings"
)

// Reference is the metric reference as Markdown: docs/metrics.md.
func (c Catalogue) Reference() string {
	var b strings.Builder
	b.WriteString(`# Metrics

This page is generated from the declarations in ` + "`exporter/metrics`" + ` (` + "`make docs`" + `); a test keeps it fresh.

Counters are at 0 when their object is first seen and go away with it; those of a namespace stay for an hour after its last pod or Service. A
series with the label ` + "`cause`" + ` appears with its first count and not at 0, so ` + "`increase()`" + ` misses that one: to count losses, use the counter
without a cause (` + "`kubeflap_service_addresses_lost_total`, `kubeflap_pods_unready_total`" + `); use the ones by cause to see the shares. Times are in seconds. Histograms are
native and classic. A stable metric keeps its name, labels and meaning within a major version.
Besides these there are ` + "`kubeflap_build_info`, `go_*`, `process_*` and `promhttp_*`" + `.

| metric | type | labels | a series for | stability | meaning |
| --- | --- | --- | --- | --- | --- |
`)
	for _, m := range append(slices.Clone(c), logLinesDropped()) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", m.Name, m.Type, labelList(m.Labels), m.Series, m.Stability, m.Help)
	}
	return b.String()
}

func labelList(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return "`" + strings.Join(labels, "`, `") + "`"
}
