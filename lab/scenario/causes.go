package scenario

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

const causesNamespace = "causes"

// taint is a NoExecute taint that evicts pods without a toleration.
const taint = "example.com/broken"

// causeCase is a fault for one Service. Its Loss says whether the Service is expected to lose addresses, and why.
type causeCase struct {
	Loss
	// If pod is not nil, it changes each of the two pods before the pod is created. If spec is not nil, it changes the
	// spec of the Service.
	pod  func(*corev1.Pod)
	spec func(*corev1.ServiceSpec)
	// prepare creates the Service and its pods. If it is nil, the default is one pod on each of two nodes.
	prepare func(ctx context.Context, l *Lab, service string) error
	// lose causes the fault. If possible, it also makes the address ready again.
	lose func(ctx context.Context, l *Lab, service string) error
}

func causeCases(release cluster.Release, p *probes) []causeCase {
	all := slices.Concat(apiCases(), serviceCases(p), kubeletCases(p))
	if release == cluster.Oldest {
		// On this release, a kubelet restart would also remove the addresses of other cases. The scenario
		// kubelet-restart tests the restart instead.
		all = slices.DeleteFunc(all, func(c causeCase) bool { return c.Service == restarted })
	}
	return all
}

// apiCases returns the faults that are caused by requests to the API server.
func apiCases() []causeCase {
	return []causeCase{
		{Loss: Loss{"deleted", "pod_deleted", 1, "a pod is deleted"}, lose: loseByDeletion},
		{
			Loss:    Loss{"scaled", "pod_deleted", 2, "a Deployment is scaled to zero"},
			prepare: deployCase, lose: loseByScale,
		},
		{Loss: Loss{"evicted", "pod_evicted", 1, "a pod is evicted through the Eviction API, as with kubectl drain"}, lose: loseByEviction},
		{
			Loss: Loss{"tainted", "pod_evicted", 1, "a node gets a NoExecute taint, and the taint eviction controller deletes the pod"},
			pod:  intolerant, lose: loseByTaint,
		},
		{Loss: Loss{"gated", "readiness_gate", 1, "a readiness gate turns False"}, pod: gated, lose: loseByGate},
		{Loss: Loss{"reselected", "service_changed", 2, "the Service's selector briefly matches no pod"}, lose: loseBySelector},
		{Loss: Loss{"edited", "manual_write", 1, "someone removes an endpoint from the controller's EndpointSlice"}, lose: loseByEdit},
		{
			Loss: Loss{"stranger", "unknown", 1, "someone sets Ready to False in a pod's status, with a custom reason"},
			lose: loseByStranger,
		},
	}
}

func causes(release cluster.Release) Scenario {
	p := newProbes()
	cases := causeCases(release, p)
	var want []Loss
	for _, c := range cases {
		want = append(want, c.Loss)
	}
	return Scenario{
		Name:    "causes",
		Summary: "a Service for each cause loses addresses, and other Services keep theirs",
		Causes:  want,
		Options: cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare: func(ctx context.Context, l *Lab) error { return prepareCauses(ctx, l, p, cases) },
		Run: func(ctx context.Context, l *Lab) error {
			for _, c := range cases {
				if err := c.lose(ctx, l, c.Service); err != nil {
					return fmt.Errorf("%s: %w", c.Service, err)
				}
			}
			return nil
		},
	}
}

// prepareCauses creates, for each case, a Service with two addresses.
func prepareCauses(ctx context.Context, l *Lab, p *probes, cases []causeCase) error {
	if err := p.serve(ctx); err != nil {
		return err
	}
	if err := l.namespace(ctx, causesNamespace); err != nil {
		return err
	}
	for _, c := range cases {
		if err := prepareCase(ctx, l, c); err != nil {
			return fmt.Errorf("%s: %w", c.Service, err)
		}
	}
	for i := range 2 {
		if err := l.setCondition(ctx, causesNamespace, causePod("gated", i), string(gate), corev1.ConditionTrue); err != nil {
			return err
		}
	}
	for _, c := range cases {
		if err := l.waitForReadyAddresses(ctx, causesNamespace, c.Service, 2); err != nil {
			return err
		}
	}
	return nil
}

// prepareCase creates a Service with one pod on each node.
func prepareCase(ctx context.Context, l *Lab, c causeCase) error {
	if c.prepare != nil {
		return c.prepare(ctx, l, c.Service)
	}
	if _, err := l.serviceWith(ctx, causesNamespace, c.Service, c.spec); err != nil {
		return err
	}
	for i := range 2 {
		pod := newPod(causesNamespace, causePod(c.Service, i), cluster.NodeName(i), c.Service)
		tolerant(pod)
		if c.pod != nil {
			c.pod(pod)
		}
		if err := l.create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

func causePod(service string, i int) string { return fmt.Sprintf("%s-%d", service, i+1) }

// tolerant lets a pod stay on the tainted node.
func tolerant(pod *corev1.Pod) {
	pod.Spec.Tolerations = []corev1.Toleration{{Key: taint, Operator: corev1.TolerationOpExists}}
}

func intolerant(pod *corev1.Pod) { pod.Spec.Tolerations = nil }

func gated(pod *corev1.Pod) {
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
}

func (c *Checks) waitForRecordedReady(ctx context.Context, service string, n float64) error {
	return c.waitForCount(ctx, n, "kubeflap_service_addresses", "namespace", causesNamespace, "service", service, "state", "ready")
}

// waitForDeletion waits until one of the Service's two pods has been deleted completely.
func (c *Checks) waitForDeletion(ctx context.Context, service, pod string) error {
	return allOf(
		func() error { return c.waitForRecordedReady(ctx, service, 1) },
		func() error { return c.waitForPodGone(ctx, causesNamespace, pod) },
	)
}

func loseByDeletion(ctx context.Context, l *Lab, service string) error {
	pod := causePod(service, 0)
	if err := l.Client.CoreV1().Pods(causesNamespace).Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return l.waitForDeletion(ctx, service, pod)
}

// loseByEviction evicts a pod like kubectl drain.
func loseByEviction(ctx context.Context, l *Lab, service string) error {
	pod := causePod(service, 0)
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: causesNamespace, Name: pod}}
	if err := l.Client.PolicyV1().Evictions(causesNamespace).Evict(ctx, eviction); err != nil {
		return err
	}
	return l.waitForDeletion(ctx, service, pod)
}

// loseByTaint taints a node, so that the taint eviction controller evicts a pod.
func loseByTaint(ctx context.Context, l *Lab, service string) error {
	return allOf(
		func() error {
			return l.setTaints(ctx, cluster.NodeName(1), fmt.Sprintf(`[{"key":%q,"effect":"NoExecute"}]`, taint))
		},
		func() error { return l.waitForDeletion(ctx, service, causePod(service, 1)) },
		func() error { return l.setTaints(ctx, cluster.NodeName(1), "null") },
	)
}

func (s *Steps) setTaints(ctx context.Context, node, taints string) error {
	patch := `{"spec":{"taints":` + taints + `}}`
	_, err := s.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// deployCase creates a Deployment with two pods on the first node.
func deployCase(ctx context.Context, l *Lab, service string) error {
	if _, err := l.serviceWith(ctx, causesNamespace, service, nil); err != nil {
		return err
	}
	pod := newPod(causesNamespace, "", cluster.NodeName(0), service)
	return l.deploy(ctx, service, 2, pod)
}

func loseByScale(ctx context.Context, l *Lab, service string) error {
	patch := []byte(`{"spec":{"replicas":0}}`)
	_, err := l.Client.AppsV1().Deployments(causesNamespace).Patch(ctx, service, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	return l.waitForRecordedReady(ctx, service, 0)
}

// loseByStranger writes a Ready condition with a reason that no component of Kubernetes uses. The kubelet corrects it.
func loseByStranger(ctx context.Context, l *Lab, service string) error {
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Suspended","lastTransitionTime":%s}]}}`, now())
	return allOf(
		func() error { return l.patchPod(ctx, causesNamespace, causePod(service, 0), patch, "status") },
		func() error { return l.waitForFlipAndRecovery(ctx, service) },
	)
}

// waitForNotReadyFlip waits until the recorder has counted that an address became not ready. The address may be ready
// again by then.
func (c *Checks) waitForNotReadyFlip(ctx context.Context, service string) error {
	return c.waitForCountAtLeast(ctx, 1, "kubeflap_service_address_flips_total", "namespace", causesNamespace, "service", service, "to", "not_ready")
}

func (c *Checks) waitForFlipAndRecovery(ctx context.Context, service string) error {
	return allOf(
		func() error { return c.waitForNotReadyFlip(ctx, service) },
		func() error { return c.waitForRecordedReady(ctx, service, 2) },
	)
}

func loseByGate(ctx context.Context, l *Lab, service string) error {
	turn := func(status corev1.ConditionStatus) error {
		return l.setCondition(ctx, causesNamespace, causePod(service, 0), string(gate), status)
	}
	return allOf(
		func() error { return turn(corev1.ConditionFalse) },
		func() error { return l.waitForRecordedReady(ctx, service, 1) },
		func() error { return turn(corev1.ConditionTrue) },
		func() error { return l.waitForRecordedReady(ctx, service, 2) },
	)
}

// loseBySelector changes the Service's selector so that it matches no pod, and then changes it back.
func loseBySelector(ctx context.Context, l *Lab, service string) error {
	choose := func(app string) error {
		return l.patchService(ctx, causesNamespace, service, fmt.Sprintf(`{"spec":{"selector":{"app":%q}}}`, app))
	}
	return allOf(
		func() error { return choose("nobody") },
		func() error { return l.waitForRecordedReady(ctx, service, 0) },
		func() error { return choose(service) },
		func() error { return l.waitForRecordedReady(ctx, service, 2) },
	)
}

// loseByEdit removes an endpoint from the controller's slice, like kubectl edit. The controller puts it back.
func loseByEdit(ctx context.Context, l *Lab, service string) error {
	client := l.Client.DiscoveryV1().EndpointSlices(causesNamespace)
	all, err := client.List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return err
	}
	if len(all.Items) != 1 || len(all.Items[0].Endpoints) != 2 {
		return fmt.Errorf("got slices %v, want one slice with two endpoints", all.Items)
	}
	slice := &all.Items[0]
	slice.Endpoints = slice.Endpoints[:1]
	if _, err := client.Update(ctx, slice, metav1.UpdateOptions{FieldManager: "kubectl-edit"}); err != nil {
		return err
	}
	// The controller may restore the endpoint before a poll can see the change, so wait for the recorder's count.
	const churn = "kubeflap_service_address_churn_total"
	return allOf(
		func() error {
			return l.waitForCountAtLeast(ctx, 1, churn, "namespace", causesNamespace, "service", service, "change", "removed")
		},
		func() error { return l.waitForRecordedReady(ctx, service, 2) },
	)
}
