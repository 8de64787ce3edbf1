package metrics

import "time"

// settingMetrics declares the metrics of kube-controller-manager flags and of tolerations.
type settingMetrics struct{ flag, short, shortest *Metric }

func newSettingMetrics() *settingMetrics {
	const perShort = "one per namespace in which a pod has a toleration of at most 60 s"
	return &settingMetrics{
		flag: gauge("kubeflap_controller_manager_flag",
			"Value of a kube-controller-manager flag, with durations in seconds. If the value differs between pods, this is the smallest value.",
			"one per supported flag that is set in a kube-controller-manager pod", "flag"),
		short: gauge("kubeflap_pods_short_toleration",
			"Pods that tolerate the taint node.kubernetes.io/not-ready or node.kubernetes.io/unreachable for at most 60 s.", perShort, "namespace"),
		shortest: gauge("kubeflap_pods_toleration_min_seconds",
			"Shortest time after which a pod in the namespace is evicted from a node that is not Ready.", perShort, "namespace"),
	}
}

func (m *settingMetrics) catalogue() Catalogue { return Catalogue{m.flag, m.short, m.shortest} }

func (m *settingMetrics) collect(to *scrape, now *snapshot) {
	to.startObject(time.Time{})
	for _, f := range now.flags {
		to.sample(m.flag, f.Value, f.Name)
	}
	for _, x := range now.short {
		to.startObject(time.Time{}, "namespace", x.Namespace)
		to.sample(m.short, float64(x.Pods))
		to.sample(m.shortest, x.Shortest.Seconds())
	}
}
