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
of each cause, use the counters with that label. Of the label ` + "`class`" + `, only the value ` + "`unplanned`" + ` has a series at 0 from the beginning.

Times are in seconds. Each histogram is exposed in the native and the classic format. A stable metric keeps its name, labels and meaning within a
major version. The ` + "`window`" + ` label is the time for which a client collects endpoint updates before it applies them.
[Incidents](incidents.md) explains scopes and verdicts. ` + "`/metrics` also has `kubeflap_build_info`, `go_*` and `process_*`" + `.

## Classes

A lost address and an outage of a Service each have a class, which says whether it was expected:

| class | meaning |
| --- | --- |
| ` + "`unplanned`" + ` | nothing below explains it. Every outage begins so, unless the explanation was seen before |
| ` + "`planned`" + ` | the departure of the node was announced before, or the pod was evicted through the Eviction API from a cordoned node ([details](verdicts.md)), or the replicas of its owner fell in the 10 minutes before. Only as many pods count as the replicas fell by |
| ` + "`rollout`" + ` | the pods' owner deleted the pod, and pods with another ` + "`pod-template-hash` or `controller-revision-hash`" + ` appeared, or the owner's template changed in the 10 minutes before |
| ` + "`scaled_to_zero`" + ` | the pods' owners want no pods. Only known if kubeflap can watch Deployments and StatefulSets |
| ` + "`found`" + ` | the Service had no ready address when kubeflap started. Not counted as an outage |

A planned outage or a rollout becomes unplanned if the Service has no ready address for 5 minutes. The class of an outage is final when the outage ends,
at the latest 5 minutes after it began. The class of a lost address is final once nothing can change it, at the latest 5 minutes after the loss. A counter
includes a loss or an outage once its class is final, and is never corrected. The time of an outage stops counting while the watches are broken for longer
than 90 s.

## Reference

| metric | type | labels | series | stability | meaning |
| --- | --- | --- | --- | --- | --- |
`
