package scenario

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
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
	prepare func(l *Lab, service string)
	// lose causes the fault. If possible, it also makes the address ready again.
	lose func(l *Lab, service string)
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
		Prepare: func(l *Lab) { prepareCauses(l, p, cases) },
		Run: func(l *Lab) {
			for _, c := range cases {
				l.Part(c.What, func(l *Lab) { c.lose(l, c.Service) })
			}
		},
	}
}

// prepareCauses creates, for each case, a Service with two addresses.
func prepareCauses(l *Lab, p *probes, cases []causeCase) {
	p.serve(l)
	createNamespace(l, causesNamespace)
	for _, c := range cases {
		l.Part(c.Service, func(l *Lab) { prepareCase(l, c) })
	}
	for i := range 2 {
		setCondition(l, causesNamespace, causePod("gated", i), string(gate), corev1.ConditionTrue)
	}
	for _, c := range cases {
		l.waitForReadyAddresses(causesNamespace, c.Service, 2)
	}
}

// prepareCase creates a Service with one pod on each node.
func prepareCase(l *Lab, c causeCase) {
	if c.prepare != nil {
		c.prepare(l, c.Service)
		return
	}
	createServiceWith(l, causesNamespace, c.Service, c.spec)
	for i := range 2 {
		pod := newPod(causesNamespace, causePod(c.Service, i), cluster.NodeName(i), c.Service)
		pod.Spec.Tolerations = []corev1.Toleration{{Key: taint, Operator: corev1.TolerationOpExists}}
		if c.pod != nil {
			c.pod(pod)
		}
		createPod(l, pod)
	}
}

func causePod(service string, i int) string { return fmt.Sprintf("%s-%d", service, i+1) }

// intolerant makes a pod leave the tainted node.
func intolerant(pod *corev1.Pod) { pod.Spec.Tolerations = nil }

func gated(pod *corev1.Pod) {
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
}

func waitForRecordedReady(l *Lab, service string, n float64) {
	l.waitForCount(n, addresses, "namespace", causesNamespace, "service", service, "state", "ready")
}

// waitForDeletion waits until one of the Service's two pods has been deleted completely.
func waitForDeletion(l *Lab, service, pod string) {
	waitForRecordedReady(l, service, 1)
	l.waitForPodGone(causesNamespace, pod)
}

func loseByDeletion(l *Lab, service string) {
	pod := causePod(service, 0)
	remove(l, l.Client.CoreV1().Pods(causesNamespace), pod)
	waitForDeletion(l, service, pod)
}

func loseByEviction(l *Lab, service string) {
	pod := causePod(service, 0)
	evict(l, causesNamespace, pod)
	waitForDeletion(l, service, pod)
}

// loseByTaint taints a node, so that the taint eviction controller evicts a pod.
func loseByTaint(l *Lab, service string) {
	setTaints(l, cluster.NodeName(1), fmt.Sprintf(`[{"key":%q,"effect":"NoExecute"}]`, taint))
	waitForDeletion(l, service, causePod(service, 1))
	setTaints(l, cluster.NodeName(1), "null")
}

// deployCase creates a Deployment with two pods on the first node.
func deployCase(l *Lab, service string) {
	createServiceWith(l, causesNamespace, service, nil)
	deploy(l, service, 2, newPod(causesNamespace, "", cluster.NodeName(0), service))
}

func loseByScale(l *Lab, service string) {
	patch(l, l.Client.AppsV1().Deployments(causesNamespace), service, `{"spec":{"replicas":0}}`)
	waitForRecordedReady(l, service, 0)
}

// loseByStranger writes a Ready condition with a reason that no component of Kubernetes uses. The kubelet corrects it.
func loseByStranger(l *Lab, service string) {
	status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Suspended","lastTransitionTime":%s}]}}`, now())
	patchPod(l, causesNamespace, causePod(service, 0), status, "status")
	waitForNotReadyFlip(l, service)
	waitForRecordedReady(l, service, 2)
}

// waitForNotReadyFlip waits until the recorder has counted that an address became not ready. The address may be ready
// again by then.
func waitForNotReadyFlip(l *Lab, service string) {
	l.waitForCountAtLeast(1, flips, "namespace", causesNamespace, "service", service, "to", "not_ready")
}

func loseByGate(l *Lab, service string) {
	pod := causePod(service, 0)
	setCondition(l, causesNamespace, pod, string(gate), corev1.ConditionFalse)
	waitForRecordedReady(l, service, 1)
	setCondition(l, causesNamespace, pod, string(gate), corev1.ConditionTrue)
	waitForRecordedReady(l, service, 2)
}

// loseBySelector changes the Service's selector so that it matches no pod, and then changes it back.
func loseBySelector(l *Lab, service string) {
	const selector = `{"spec":{"selector":{"app":%q}}}`
	patchService(l, causesNamespace, service, fmt.Sprintf(selector, "nobody"))
	waitForRecordedReady(l, service, 0)
	patchService(l, causesNamespace, service, fmt.Sprintf(selector, service))
	waitForRecordedReady(l, service, 2)
}

// loseByEdit removes an endpoint from the controller's slice, like kubectl edit. The controller puts it back.
func loseByEdit(l *Lab, service string) {
	all := slicesOf(l, causesNamespace, service)
	l.Expect(len(all) == 1 && len(all[0].Endpoints) == 2, "got slices %v, want one slice with two endpoints", all)
	slice := &all[0]
	slice.Endpoints = slice.Endpoints[:1]
	steps.Value(l.Client.DiscoveryV1().EndpointSlices(causesNamespace).Update(l.Ctx, slice, metav1.UpdateOptions{FieldManager: "kubectl-edit"}))
	// The controller may restore the endpoint before a poll can see the change, so wait for the recorder's count.
	l.waitForCountAtLeast(1, lost, "namespace", causesNamespace, "service", service)
	waitForRecordedReady(l, service, 2)
}
