package metrics

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/pods"
)

// settingRows returns the metrics of kube-controller-manager flags and of tolerations.
func settingRows() []row {
	const perShort = "one per namespace in which a pod has a toleration of at most 60 s"
	namespace := kind[pods.ShortTolerations]{"tolerations", func(now *snapshot) []pods.ShortTolerations { return now.short }, func(to *Scrape, x *pods.ShortTolerations) {
		to.startObject(time.Time{}, x.Namespace)
	}}
	return []row{
		single(gauge("kubeflap_controller_manager_flag",
			"Value of a kube-controller-manager flag, with durations in seconds. If the value differs between pods, this is the smallest value.",
			"one per supported flag that is set in a kube-controller-manager pod", "flag"), func(to *Scrape, now *snapshot) {
			for _, f := range now.flags {
				to.sample(f.Value, f.Name)
			}
		}),
		namespace.row(gauge("kubeflap_pods_short_toleration",
			"Pods that tolerate the taint node.kubernetes.io/not-ready or node.kubernetes.io/unreachable for at most 60 s.", perShort, "namespace"),
			func(to *Scrape, x *pods.ShortTolerations) { to.sample(float64(x.Pods)) }),
		namespace.row(gauge("kubeflap_pods_toleration_min_seconds",
			"Shortest time after which a pod in the namespace is evicted from a node that is not Ready.", perShort, "namespace"),
			func(to *Scrape, x *pods.ShortTolerations) { to.sample(x.Shortest.Seconds()) }),
	}
}
