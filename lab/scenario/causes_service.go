package scenario

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// serviceCases returns faults of Services with special rules for their addresses, such as dual-stack Services.
func serviceCases(p *probes) []causeCase {
	dual := corev1.IPFamilyPolicyRequireDualStack
	return []causeCase{
		{
			Loss: Loss{"headless", "pod_deleted", 1, "a pod of a headless Service is deleted"},
			spec: func(spec *corev1.ServiceSpec) { spec.ClusterIP = corev1.ClusterIPNone }, lose: loseByDeletion,
		},
		{
			Loss: Loss{"dual-stack", "pod_deleted", 1, "a pod of a dual-stack Service is deleted: its two IPs count as one address"},
			spec: func(spec *corev1.ServiceSpec) { spec.IPFamilyPolicy = &dual }, lose: loseByDeletion,
		},
		{
			Loss: Loss{"host-network", "pod_deleted", 1, "one of two pods with hostNetwork on the same node is deleted: they share an IP, but count as two addresses"},
			pod:  onHostNetwork, lose: loseByDeletion,
		},
		{
			Loss: Loss{"published", "", 0, "a readiness probe fails in a Service with publishNotReadyAddresses"},
			pod:  p.ready, spec: func(spec *corev1.ServiceSpec) { spec.PublishNotReadyAddresses = true }, lose: p.failPublished,
		},
		{
			Loss:    Loss{"mirrored", "manual_write", 1, "someone removes an address from the Endpoints of a Service without a selector; its slices mirror these Endpoints"},
			prepare: writeCase, lose: loseByEndpoints,
		},
	}
}

// onHostNetwork puts a pod on the first node, in the host network. Both pods of the Service then have the node's IP.
func onHostNetwork(pod *corev1.Pod) {
	pod.Spec.NodeName, pod.Spec.HostNetwork = cluster.NodeName(0), true
}

// failPublished makes a readiness probe fail. The Service publishes not-ready addresses, so it is expected to lose
// none.
func (p *probes) failPublished(l *Lab, service string) {
	pod := causePod(service, 0)
	for _, failing := range []bool{true, false} {
		p.set(readiness, pod, failing)
		status := statusOf(!failing)
		l.Until(fmt.Sprintf("Ready %s of pod %s", status, pod), func(l *Lab) {
			conditions := get(l, l.Client.CoreV1().Pods(causesNamespace), pod).Status.Conditions
			ready := slices.ContainsFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == status })
			l.Expect(ready, "got conditions %v", conditions)
		})
	}
}

// writeCase creates a Service without a selector, and manually managed Endpoints.
func writeCase(l *Lab, service string) {
	createService(l, causesNamespace, service, nil)
	writeEndpoints(l, causesNamespace, service, "192.0.2.21", "192.0.2.22")
}

func loseByEndpoints(l *Lab, service string) {
	writeEndpoints(l, causesNamespace, service, "192.0.2.21")
	waitForRecordedReady(l, service, 1)
}
