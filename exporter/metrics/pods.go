package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
)

type podMetrics struct {
	unready, transitions, inPlaceUpdates, ungatedUpdates, silentRestarts, stale *Metric
	misreported                                                                 *Metric
	stales                                                                      *prometheus.HistogramVec
}

func newPodMetrics() *podMetrics {
	m := &podMetrics{
		unready: counter("kubeflap_pods_unready_total",
			"Times that a pod's Ready left True, whatever the cause; counted at once, before the cause is known.", perNamespace, "namespace"),
		transitions: counter("kubeflap_pod_ready_transitions_total",
			"Changes of pods' Ready to the status, after a pod's first Ready, by cause; of one to true the cause of what the pod recovers from.",
			"each namespace, status and cause once it occurred", "namespace", "status", "cause"),
		stale: histogram("kubeflap_pod_stale_ready_seconds",
			"Time from an in-place change of a container's image, or from a container's end, to the pod's Ready turning from True.", always),
		inPlaceUpdates: counter("kubeflap_pod_inplace_updates_total",
			"Updates that changed a container's image in a running pod.", perNamespace, "namespace"),
		ungatedUpdates: counter("kubeflap_pod_inplace_updates_ungated_total",
			"In-place updates of pods without a readiness gate: nothing took them out of rotation first.", perNamespace, "namespace").experimental(),
		silentRestarts: counter("kubeflap_pod_silent_restarts_total",
			"Containers that restarted while their pod's Ready stayed True.", perNamespace, "namespace"),
	}
	m.misreported = gauge("kubeflap_pods_misreported",
		"Pods whose Ready says what is not so: unready_after_recovery (node Ready, containers ready, Ready False for more than 10 s) or ready_on_lost_node (the node's heartbeat is out for longer than the grace period).",
		"each namespace and kind that has such pods", "namespace", "kind")
	m.stales = m.stale.vec(durationBuckets())
	m.stales.WithLabelValues()
	return m
}

func (m *podMetrics) catalogue() Catalogue {
	return Catalogue{m.unready, m.transitions, m.inPlaceUpdates, m.ungatedUpdates, m.silentRestarts, m.stale, m.misreported}
}

func (m *podMetrics) collect(to *scrape, f *facts) {
	for i := range f.namespaces {
		m.collectNamespace(to, &f.namespaces[i])
	}
	for _, w := range f.wrong {
		to.about(time.Time{}, "namespace", w.Namespace)
		to.sample(m.misreported, float64(w.Pods), string(w.Kind))
	}
}

func (m *podMetrics) collectNamespace(to *scrape, n *pods.Namespace) {
	to.about(time.Time{}, "namespace", n.Name)
	to.sample(m.unready, float64(n.Unready))
	to.sample(m.inPlaceUpdates, float64(n.InPlaceUpdates))
	to.sample(m.ungatedUpdates, float64(n.UngatedUpdates))
	to.sample(m.silentRestarts, float64(n.SilentRestarts))
	for status, byCause := range n.Transitions {
		for why, count := range byCause {
			if count > 0 {
				to.sample(m.transitions, float64(count), event.Status(status).String(), cause.Cause(why).String())
			}
		}
	}
}
