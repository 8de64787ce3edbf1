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
			"Number of times the Ready condition of a pod stopped being True. Counted immediately, before the cause is known.", perPodNamespace, "namespace"),
		transitions: counter("kubeflap_pod_ready_transitions_total",
			"Readiness changes of pods after they first became Ready, by new status and cause. For a change to true, the cause label shows why the pod was not Ready before.",
			"one per namespace, status and cause, after the first occurrence", "namespace", "status", "cause"),
		stale: histogram("kubeflap_pod_stale_ready_seconds",
			"Time for which a pod's Ready condition stayed True after an in-place image change or a container exit.", always),
		inPlaceUpdates: counter("kubeflap_pod_inplace_updates_total",
			"Updates that changed a container's image in a running pod.", perPodNamespace, "namespace"),
		ungatedUpdates: counter("kubeflap_pod_inplace_updates_ungated_total",
			"In-place updates of pods without a readiness gate. Nothing takes such a pod out of rotation before the update.", perPodNamespace, "namespace").experimental(),
		silentRestarts: counter("kubeflap_pod_silent_restarts_total",
			"Number of container restarts during which the pod's Ready condition stayed True.", perPodNamespace, "namespace"),
	}
	m.misreported = gauge("kubeflap_pods_misreported",
		"Pods whose Ready condition is wrong, by kind. unready_after_recovery: the condition has been False for more than 10 s although the node and all containers are ready. ready_on_lost_node: the condition is True although the node has sent no heartbeat for longer than the grace period.",
		"one per namespace and kind with at least one misreported pod", "namespace", "kind")
	m.stales = m.stale.vec(durationBuckets())
	m.stales.WithLabelValues()
	return m
}

func (m *podMetrics) catalogue() Catalogue {
	return Catalogue{m.unready, m.transitions, m.inPlaceUpdates, m.ungatedUpdates, m.silentRestarts, m.stale, m.misreported}
}

func (m *podMetrics) collect(to *scrape, now *snapshot) {
	for i := range now.namespaces {
		m.collectNamespace(to, &now.namespaces[i])
	}
	for _, w := range now.misreported {
		to.startObject(time.Time{}, "namespace", w.Namespace)
		to.sample(m.misreported, float64(w.Pods), string(w.Kind))
	}
}

func (m *podMetrics) collectNamespace(to *scrape, n *pods.Namespace) {
	to.startObject(time.Time{}, "namespace", n.Name)
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
