package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

const causesNamespace = "causes"

// taint drives the pods that do not tolerate it from a node.
const taint = "example.com/broken"

// causeCase is one way to lose an address, with a Service of its own.
type causeCase struct {
	service, cause string
	// change, if any, alters each pod before it is created.
	change func(*corev1.Pod)
	// lose makes the Service lose an address, and sees to what can come back.
	lose func(*Lab, context.Context, string) error
}

func causeCases() []causeCase {
	return []causeCase{
		{"deleted", "pod_deleted", tolerant, (*Lab).loseByDeletion},
		{"evicted", "pod_evicted", tolerant, (*Lab).loseByEviction},
		{"gated", "readiness_gate", gated, (*Lab).loseByGate},
		{"reselected", "service_changed", tolerant, (*Lab).loseBySelector},
		{"edited", "manual_write", tolerant, (*Lab).loseByEdit},
		{"tainted", "pod_evicted", nil, (*Lab).loseByTaint},
	}
}

func causes() Scenario {
	want := map[string]string{}
	for _, c := range causeCases() {
		want[c.service] = c.cause
	}
	return Scenario{
		Name:    "causes",
		Summary: "addresses leave by deletion, eviction, taint, readiness gate, selector and by hand, one Service each",
		Causes:  want,
		Options: cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare: prepareCauses,
		Run: func(ctx context.Context, l *Lab) error {
			for _, c := range causeCases() {
				if err := c.lose(l, ctx, c.service); err != nil {
					return fmt.Errorf("%s: %w", c.service, err)
				}
			}
			return nil
		},
	}
}

// prepareCauses gives each Service a pod on either node.
func prepareCauses(ctx context.Context, l *Lab) error {
	if err := l.namespace(ctx, causesNamespace); err != nil {
		return err
	}
	for _, c := range causeCases() {
		if _, err := l.service(ctx, causesNamespace, c.service, map[string]string{"app": c.service}); err != nil {
			return err
		}
		for i := range 2 {
			pod := newPod(causesNamespace, causePod(c.service, i), cluster.NodeName(i), c.service)
			if c.change != nil {
				c.change(pod)
			}
			if err := l.create(ctx, pod); err != nil {
				return err
			}
		}
	}
	for i := range 2 {
		if err := l.setCondition(ctx, causesNamespace, causePod("gated", i), string(gate), corev1.ConditionTrue); err != nil {
			return err
		}
	}
	for _, c := range causeCases() {
		if err := l.inRotation(ctx, causesNamespace, c.service, 2); err != nil {
			return err
		}
	}
	return nil
}

func causePod(service string, i int) string { return fmt.Sprintf("%s-%d", service, i+1) }

// tolerant pods stay on the tainted node.
func tolerant(pod *corev1.Pod) {
	pod.Spec.Tolerations = []corev1.Toleration{{Key: taint, Operator: corev1.TolerationOpExists}}
}

func gated(pod *corev1.Pod) {
	tolerant(pod)
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
}

func (l *Lab) ready(ctx context.Context, service string, n float64) error {
	return l.shows(ctx, n, "kubeflap_service_addresses", "namespace", causesNamespace, "service", service, "state", "ready")
}

// goes waits until one of two pods is gone for good, not only on its way.
func (l *Lab) goes(ctx context.Context, service, pod string) error {
	return allOf(
		func() error { return l.ready(ctx, service, 1) },
		func() error {
			return poll.Until(ctx, patience, "one pod of "+service, func(ctx context.Context) error {
				pods, err := l.Client.CoreV1().Pods(causesNamespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + pod})
				if err != nil {
					return fmt.Errorf("list pods: %w", err)
				}
				if len(pods.Items) > 0 {
					return fmt.Errorf("pod %s is still there", pod)
				}
				return nil
			})
		},
	)
}

func (l *Lab) loseByDeletion(ctx context.Context, service string) error {
	pod := causePod(service, 0)
	if err := l.Client.CoreV1().Pods(causesNamespace).Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete pod: %w", err)
	}
	return l.goes(ctx, service, pod)
}

// loseByEviction evicts a pod as kubectl drain does.
func (l *Lab) loseByEviction(ctx context.Context, service string) error {
	pod := causePod(service, 0)
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: causesNamespace, Name: pod}}
	if err := l.Client.PolicyV1().Evictions(causesNamespace).Evict(ctx, eviction); err != nil {
		return fmt.Errorf("evict pod: %w", err)
	}
	return l.goes(ctx, service, pod)
}

// loseByTaint lets the taint eviction controller evict a pod.
func (l *Lab) loseByTaint(ctx context.Context, service string) error {
	return allOf(
		func() error {
			return l.setTaints(ctx, cluster.NodeName(1), fmt.Sprintf(`[{"key":%q,"effect":"NoExecute"}]`, taint))
		},
		func() error { return l.goes(ctx, service, causePod(service, 1)) },
		func() error { return l.setTaints(ctx, cluster.NodeName(1), "null") },
	)
}

func (l *Lab) setTaints(ctx context.Context, node, taints string) error {
	patch := `{"spec":{"taints":` + taints + `}}`
	_, err := l.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("taint node: %w", err)
	}
	return nil
}

func (l *Lab) loseByGate(ctx context.Context, service string) error {
	turn := func(status corev1.ConditionStatus) error {
		return l.setCondition(ctx, causesNamespace, causePod(service, 0), string(gate), status)
	}
	return allOf(
		func() error { return turn(corev1.ConditionFalse) },
		func() error { return l.ready(ctx, service, 1) },
		func() error { return turn(corev1.ConditionTrue) },
		func() error { return l.ready(ctx, service, 2) },
	)
}

// loseBySelector lets the Service choose no pod, and then the same ones again.
func (l *Lab) loseBySelector(ctx context.Context, service string) error {
	choose := func(app string) error {
		return l.patchService(ctx, causesNamespace, service, fmt.Sprintf(`{"spec":{"selector":{"app":%q}}}`, app))
	}
	return allOf(
		func() error { return choose("nobody") },
		func() error { return l.ready(ctx, service, 0) },
		func() error { return choose(service) },
		func() error { return l.ready(ctx, service, 2) },
	)
}

// loseByEdit takes an endpoint out of the controller's slice, as kubectl edit
// does; the controller puts it back.
func (l *Lab) loseByEdit(ctx context.Context, service string) error {
	client := l.Client.DiscoveryV1().EndpointSlices(causesNamespace)
	all, err := client.List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return fmt.Errorf("list slices: %w", err)
	}
	if len(all.Items) != 1 || len(all.Items[0].Endpoints) != 2 {
		return fmt.Errorf("want one slice with two endpoints, got %v", all.Items)
	}
	slice := &all.Items[0]
	slice.Endpoints = slice.Endpoints[:1]
	if _, err := client.Update(ctx, slice, metav1.UpdateOptions{FieldManager: "kubectl-edit"}); err != nil {
		return fmt.Errorf("edit slice: %w", err)
	}
	// The controller may put it back sooner than a state can be seen, so count.
	const churn = "kubeflap_service_address_churn_total"
	return allOf(
		func() error {
			return l.counted(ctx, 1, churn, "namespace", causesNamespace, "service", service, "change", "removed")
		},
		func() error { return l.ready(ctx, service, 2) },
	)
}
