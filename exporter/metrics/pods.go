package metrics

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
)

// podRows returns the metrics of pods.
func (c *Collector) podRows() []row {
	namespace := kind[pods.Namespace]{"pods", func(now *snapshot) []pods.Namespace { return now.namespaces }, func(to *Scrape, x *pods.Namespace) {
		to.startObject(time.Time{}, x.Name)
	}}
	c.stale = observed(histogram("kubeflap_pod_stale_ready_seconds",
		"Time for which a pod's Ready condition stayed True after an in-place image change or a container exit.", always), durationBuckets())
	return []row{
		namespace.row(counter("kubeflap_pods_unready_total",
			"Number of times the Ready condition of a pod stopped being True. Counted immediately, before the cause is known.", perPodNamespace, "namespace"),
			func(to *Scrape, x *pods.Namespace) { to.sample(float64(x.Unready)) }),
		namespace.row(counter("kubeflap_pod_ready_transitions_total",
			"Readiness changes of pods after they first became Ready, by new status and cause. For a change to true, the cause label shows why the pod was not Ready before.",
			"per namespace, status and cause", "namespace", "status", "cause"), func(to *Scrape, x *pods.Namespace) {
			for status, byCause := range x.Transitions {
				for why, n := range byCause {
					if n > 0 {
						to.sample(float64(n), event.Status(status).String(), cause.Cause(why).String())
					}
				}
			}
		}),
		namespace.row(counter("kubeflap_pod_inplace_updates_total",
			"Updates that changed a container's image in a running pod.", perPodNamespace, "namespace"),
			func(to *Scrape, x *pods.Namespace) { to.sample(float64(x.InPlaceUpdates)) }),
		namespace.row(counter("kubeflap_pod_silent_restarts_total",
			"Number of container restarts during which the pod's Ready condition stayed True.", perPodNamespace, "namespace"),
			func(to *Scrape, x *pods.Namespace) { to.sample(float64(x.SilentRestarts)) }),
		c.stale,
		namespace.row(gauge("kubeflap_pods_misreported",
			"Pods whose Ready condition is wrong, by kind. unready_after_recovery: the condition has been False for more than 10 s although the node and all containers are ready. ready_on_lost_node: the condition is True although the node has sent no heartbeat for longer than the grace period.",
			"per namespace and kind with at least one misreported pod", "namespace", "kind"),
			func(to *Scrape, x *pods.Namespace) {
				if x.UnreadyAfterRecovery > 0 {
					to.sample(float64(x.UnreadyAfterRecovery), "unready_after_recovery")
				}
				if x.ReadyOnLostNode > 0 {
					to.sample(float64(x.ReadyOnLostNode), "ready_on_lost_node")
				}
			}),
	}
}
