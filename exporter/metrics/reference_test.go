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
- A series with a ` + "`cause`" + ` label begins with its first count, not with 0, so ` + "`increase()`" + ` misses that count. To count losses,
  use ` + "`kubeflap_service_addresses_lost_total` and `kubeflap_pods_unready_total`" + `. Of the series with a ` + "`class`" + ` label,
  only those of ` + "`unplanned`" + ` begin with 0.
- Times are in seconds. Histograms are native and classic.
- All metrics are stable, unless marked as experimental: within a major version, they keep their name, labels and meaning.
- Replicas expose the same series. Merge counters and states with ` + "`max by`" + `, and start times with ` + "`min by`" + `.
- ` + "`/metrics` also has `kubeflap_build_info`, `go_*` and `process_*`" + `. Pods, IPs and UIDs are never labels.

A heartbeat is a renewed Lease, or a status report in a cluster without Leases. Its age is the time since kubeflap saw it. The age of a
heartbeat from before kubeflap started depends on the node's clock: for the first 12 s, kubeflap exposes no age above the grace period.
The Leases of the control plane are optional, and have no ` + "`kubeflap_watch_*`" + ` series.

## Classes

A lost address and an outage of a Service (a period without a ready address) each have a class:

| class | meaning |
| --- | --- |
| ` + "`unplanned`" + ` | nothing below explains it. An outage is unplanned at first, unless kubeflap saw the explanation before it |
| ` + "`planned`" + ` | the [departure](verdicts.md#announced-departures) of the node was announced, the Eviction API evicted the pod from a cordoned node, or the pod's owner was scaled down in the last 10 minutes (one pod per removed replica) |
| ` + "`rollout`" + ` | the pod's owner deleted it during an update: pods with another ` + "`pod-template-hash` or `controller-revision-hash`" + ` appeared, or the owner's template changed in the last 10 minutes |
| ` + "`scaled_to_zero`" + ` | the pods' owners want no pods. Only known if kubeflap can watch Deployments and StatefulSets |
| ` + "`found`" + ` | the Service had no ready address when kubeflap started. Not counted as an outage |

A planned outage or a rollout becomes unplanned if the Service has no ready address for 5 minutes. A counter includes a loss or an outage once its class
is final: at the recovery, or 5 minutes after the beginning. Counters are never corrected. The time of an outage stops counting when the watches
have been broken for 90 s.

## Reference

Each entry shows the type and which objects have a series, in parentheses. It ends with *the alerts, rules and dashboards that use the metric*.

`
