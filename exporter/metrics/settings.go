package metrics

import "time"

// settingMetrics are settings of the cluster that decide what becomes of a flap.
type settingMetrics struct{ flag, short, shortest *Metric }

func newSettingMetrics() *settingMetrics {
	const perShort = "each namespace with a toleration of at most 60 s"
	return &settingMetrics{
		flag: gauge("kubeflap_controller_manager_flag",
			"Value of a flag of the kube-controller-manager, with durations in seconds. The smallest value, if it differs between pods.",
			"each flag that is read and set in a kube-controller-manager pod", "flag"),
		short: gauge("kubeflap_pods_short_toleration",
			"Pods that tolerate a node that is not Ready (node.kubernetes.io/not-ready, node.kubernetes.io/unreachable) for at most 60 s.", perShort, "namespace"),
		shortest: gauge("kubeflap_pods_toleration_min_seconds",
			"Shortest time that a pod of the namespace tolerates a node that is not Ready. After that, it is evicted.", perShort, "namespace"),
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
