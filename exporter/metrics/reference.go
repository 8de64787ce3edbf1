package metrics

import (
	"fmt"
	"slices"
	"strings"
)

// Reference returns the metric reference, docs/metrics.md, in Markdown.
func (c Catalogue) Reference() string {
	var b strings.Builder
	b.WriteString(`# Metrics

This page is generated from the declarations in ` + "`exporter/metrics`" + ` (` + "`make docs`" + `). A test fails if this page is out of date.

A counter starts at 0 when kubeflap first sees the object it describes, and is removed when the object is deleted. The counters for a namespace are
removed an hour after its last pod or Service is deleted.

A series with a ` + "`cause`" + ` label starts at its first count instead of at 0, so ` + "`increase()`" + ` misses that count. To count losses,
use ` + "`kubeflap_service_addresses_lost_total` and `kubeflap_pods_unready_total`" + `, which have no ` + "`cause`" + ` label. To see the share
of each cause, use the counters with that label.

Times are in seconds. Each histogram is exposed in the native and the classic format. A stable metric keeps its name, labels and meaning within a
major version. The ` + "`window`" + ` label is the time for which a client collects endpoint updates before it applies them.
[Incidents](incidents.md) explains scopes and verdicts. ` + "`/metrics` also has `kubeflap_build_info`, `go_*`, `process_*` and `promhttp_*`" + `.

| metric | type | labels | series | stability | meaning |
| --- | --- | --- | --- | --- | --- |
`)
	for _, m := range slices.Concat(c, Catalogue{logLinesDropped()}, recorderMetrics()) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", m.Name, typeText(m.Type), labelList(m.Labels), m.Series, m.Stability, m.Help)
	}
	return b.String()
}

func labelList(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return "`" + strings.Join(labels, "`, `") + "`"
}
