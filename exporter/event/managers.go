package event

// IsSliceManager knows the controllers that keep EndpointSlices of Services with a selector, by the label
// endpointslice.kubernetes.io/managed-by. The first two are Kubernetes' own. The others add addresses of other clusters, or of
// machines outside the cluster: Cilium Cluster Mesh, Submariner Lighthouse, Karmada, Liqo, Linkerd's external workloads.
func IsSliceManager(name string) bool {
	switch name {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io",
		"endpointslice-mesh-controller.cilium.io",
		"lighthouse-agent.submariner.io",
		"endpointslice-dispatch-controller.karmada.io",
		"endpointslice.reflection.liqo.io",
		"linkerd-external-workloads-controller":
		return true
	}
	return false
}

// IsControllerManager knows the field managers of the kube-controller-manager, also in distributions that run it in a process of
// another name.
func IsControllerManager(name string) bool {
	switch name {
	case "kube-controller-manager", "k3s", "kubelite":
		return true
	}
	return false
}
