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
	uses := usesOfMetrics(t, all)
	var b strings.Builder
	b.WriteString(referenceIntroduction)
	for _, m := range all {
		labels := ""
		if len(m.Labels) > 0 {
			labels = "{" + strings.Join(m.Labels, ",") + "}"
		}
		help := m.Help
		if m.Stability == Experimental {
			help = "Experimental. " + help
		}
		fmt.Fprintf(&b, "- `%s%s` (%s, %s): %s *%s*\n", m.Name, labels, typeText(m.Type), m.Series, help, uses[m.Name])
	}
	golden(t, "../../docs/metrics.md", b.String())
}

const referenceIntroduction = `# Metrics

This page is generated from the declarations in ` + "`exporter/metrics`" + ` (` + "`make docs`" + `).

- A counter starts at 0 when kubeflap first sees its object, and is removed when the object is deleted. The counters of a namespace are removed an hour
  after its last pod or Service is deleted.
- A series with a ` + "`cause`" + ` label starts at its first count instead of at 0, so ` + "`increase()`" + ` misses that count. To count losses,
  use ` + "`kubeflap_service_addresses_lost_total` and `kubeflap_pods_unready_total`" + `. With a ` + "`class`" + ` label, only ` + "`unplanned`" + ` starts at 0.
- Times are in seconds. Histograms are native and classic.
- All metrics are stable, unless marked as experimental: within a major version, they keep their name, labels and meaning.
- Replicas expose the same series. Merge counters and states with ` + "`max by`" + `, and start times with ` + "`min by`" + `.
- ` + "`/metrics` also has `kubeflap_build_info`, `go_*` and `process_*`" + `. Pods, IPs and UIDs are never labels.

Heartbeats are renewed Leases, or status reports in a cluster without Leases. Their age counts from when kubeflap saw them. In
the initial list, the age uses the Node's clock. If it exceeds the grace period, the metric is absent for 12 s. The optional Leases of the control plane have no ` + "`kubeflap_watch_*`" + ` series.

## Classes

A lost address and an outage of a Service (a period without a ready address) each have a class:

| class | meaning |
| --- | --- |
| ` + "`unplanned`" + ` | nothing below explains it. An outage begins as unplanned, unless kubeflap saw the explanation before |
| ` + "`planned`" + ` | one of these happened before: the [departure](verdicts.md#announced-departures) of the node was announced; the Eviction API evicted the pod from a cordoned node; its owner was scaled down in the last 10 minutes. A scale-down explains one pod per removed replica |
| ` + "`rollout`" + ` | the pods' owner deleted the pod during an update: pods with another ` + "`pod-template-hash` or `controller-revision-hash`" + ` appeared; or, in the 10 minutes before, the owner's template changed |
| ` + "`scaled_to_zero`" + ` | the pods' owners want no pods. Only known if kubeflap can watch Deployments and StatefulSets |
| ` + "`found`" + ` | the Service had no ready address when kubeflap started. Not counted as an outage |

A planned outage or a rollout becomes unplanned if the Service has no ready address for 5 minutes. A counter includes a loss or an outage once its class
is final: at the recovery, and at most 5 minutes after the beginning. Counters are never corrected. The time of an outage stops counting when the watches
have been broken for 90 s.

## Reference

In parentheses: the type, and which objects have a series. At the end: *the alerts, rules and dashboards that use it*.

`
