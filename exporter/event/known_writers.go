package event

// IsSliceManager reports whether a controller is known to manage EndpointSlices of Services with a selector. The name
// is the value of the label endpointslice.kubernetes.io/managed-by. The first two controllers are part of Kubernetes.
// The others add addresses from other clusters or from machines outside the cluster: Cilium Cluster Mesh, Submariner
// Lighthouse, Karmada, Liqo and Linkerd's external workloads.
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

// IsControllerManager reports whether a field manager is the kube-controller-manager. k3s and MicroK8s (kubelite) run
// it inside a process with another name.
func IsControllerManager(name string) bool {
	switch name {
	case "kube-controller-manager", "k3s", "kubelite":
		return true
	}
	return false
}
