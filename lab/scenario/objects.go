package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// container is the name of each pod's only container.
const container = "app"

func (s *Steps) namespace(ctx context.Context, name string) error {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := s.Client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{})
	return err
}

// newPod returns a pod that is already bound to a node. The lab has no scheduler.
func newPod(namespace, name, node, app string) *corev1.Pod {
	no, grace := false, int64(1)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeName:                      node,
			AutomountServiceAccountToken:  &no,
			TerminationGracePeriodSeconds: &grace,
			Containers:                    []corev1.Container{{Name: container, Image: "example.com/app:1"}},
		},
	}
}

func (s *Steps) create(ctx context.Context, pod *corev1.Pod) error {
	_, err := s.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// service creates a Service. If selector is nil, the Service has no selector.
func (s *Steps) service(ctx context.Context, namespace, name string, selector map[string]string) (*corev1.Service, error) {
	return s.serviceWith(ctx, namespace, name, func(spec *corev1.ServiceSpec) { spec.Selector = selector })
}

// serviceWith creates a Service whose selector is the label app with the Service's name. If change is not nil, it
// changes the spec first.
func (s *Steps) serviceWith(ctx context.Context, namespace, name string, change func(*corev1.ServiceSpec)) (*corev1.Service, error) {
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
	if change != nil {
		change(&object.Spec)
	}
	created, err := s.Client.CoreV1().Services(namespace).Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create service: %w", err)
	}
	return created, nil
}

// spread creates the namespace "shop", the Service "web", and its pods web-1, web-2 and so on. It distributes the pods
// over the hollow nodes. If change is not nil, it changes each pod before the pod is created.
func (s *Steps) spread(ctx context.Context, pods int, change func(*corev1.Pod)) error {
	if err := s.namespace(ctx, "shop"); err != nil {
		return err
	}
	if _, err := s.service(ctx, "shop", "web", map[string]string{"app": "web"}); err != nil {
		return err
	}
	for i := range pods {
		pod := newPod("shop", podName(i), cluster.NodeName(i%len(s.Cluster.Kubelets)), "web")
		if change != nil {
			change(pod)
		}
		if err := s.create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

func podName(i int) string { return fmt.Sprintf("web-%d", i+1) }

// waitForReadyAddresses waits until a Service has exactly n ready addresses.
func (c *Checks) waitForReadyAddresses(ctx context.Context, namespace, service string, n int) error {
	what := fmt.Sprintf("%d ready addresses of %s/%s", n, namespace, service)
	return poll.Until(ctx, patience, what, func(ctx context.Context) error {
		ready, err := cluster.ReadyAddresses(ctx, c.cluster.Client, namespace, service)
		if err != nil {
			return err
		}
		if ready != n {
			return fmt.Errorf("got %d", ready)
		}
		return nil
	})
}

// spreadReady creates the Service "web" like spread, and waits until all of its addresses are ready.
func (l *Lab) spreadReady(ctx context.Context, pods int) error {
	if err := l.spread(ctx, pods, nil); err != nil {
		return err
	}
	return l.waitForReadyAddresses(ctx, "shop", "web", pods)
}

// setImage changes the image of a pod in place.
func (s *Steps) setImage(ctx context.Context, namespace, name, image string) error {
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"image":%q}]}}`, container, image)
	return s.patchPod(ctx, namespace, name, patch)
}

// setCondition sets one condition in a pod's status.
func (s *Steps) setCondition(ctx context.Context, namespace, name, kind string, status corev1.ConditionStatus) error {
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q,"lastTransitionTime":%s}]}}`, kind, status, now())
	return s.patchPod(ctx, namespace, name, patch, "status")
}

func (s *Steps) patchPod(ctx context.Context, namespace, name, patch string, subresources ...string) error {
	_, err := s.Client.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

func (s *Steps) patchService(ctx context.Context, namespace, name, patch string) error {
	_, err := s.Client.CoreV1().Services(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// now returns the current time in the API's format, quoted.
func now() string {
	text, _ := metav1.Now().MarshalJSON() // an error is impossible for the current time
	return string(text)
}
