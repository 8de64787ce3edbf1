package scenario

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

const (
	rolloutNamespace = "rollout"
	rolloutReplicas  = 4
)

func healthyRollout() Scenario {
	return Scenario{
		Name:      "healthy-rollout",
		Summary:   "a Deployment rolls out a new image and scales up and down: addresses leave, but there is no incident",
		Reports:   []Report{},
		Causes:    []Loss{{"web", "pod_deleted", rolloutReplicas + 3, "a Deployment rolls out a new image, scales up and scales down"}},
		ByRelease: true,
		Options:   cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.namespace(ctx, rolloutNamespace) },
				func() error {
					_, err := l.service(ctx, rolloutNamespace, "web", map[string]string{"app": "web"})
					return err
				},
				func() error {
					return l.deploy(ctx, "web", rolloutReplicas, newPod(rolloutNamespace, "", cluster.NodeName(1), "web"))
				},
				func() error { return l.rolledOut(ctx, rolloutReplicas) },
				func() error { return l.waitForReadyAddresses(ctx, rolloutNamespace, "web", rolloutReplicas) },
			)
		},
		Run: func(ctx context.Context, l *Lab) error {
			image := fmt.Sprintf(`{"template":{"spec":{"containers":[{"name":%q,"image":"example.com/app:2"}]}}}`, container)
			return allOf(
				func() error { return l.changeDeployment(ctx, image, rolloutReplicas) },
				func() error { return l.changeDeployment(ctx, `{"replicas":6}`, 6) },
				func() error { return l.changeDeployment(ctx, `{"replicas":3}`, 3) },
				// The rollout has removed all original pods, and scaling down has removed three of the six pods.
				func() error {
					return l.waitForCountAtLeast(ctx, rolloutReplicas+3, "kubeflap_service_address_churn_total", "service", "web", "change", "removed")
				},
			)
		},
	}
}

// deploy creates a Deployment of the given pod with maxUnavailable 0.
func (s *Steps) deploy(ctx context.Context, name string, replicas int32, pod *corev1.Pod) error {
	surge, unavailable := intstr.FromInt32(1), intstr.FromInt32(0)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable},
			},
		},
	}
	_, err := s.Client.AppsV1().Deployments(pod.Namespace).Create(ctx, deployment, metav1.CreateOptions{})
	return err
}

// changeDeployment changes the spec, and waits for the rollout.
func (l *Lab) changeDeployment(ctx context.Context, spec string, replicas int) error {
	patch := []byte(`{"spec":` + spec + `}`)
	_, err := l.Client.AppsV1().Deployments(rolloutNamespace).Patch(ctx, "web", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	return allOf(
		func() error { return l.rolledOut(ctx, replicas) },
		func() error {
			return l.waitForCount(ctx, float64(replicas), "kubeflap_service_addresses", "namespace", rolloutNamespace, "service", "web", "state", "ready")
		},
	)
}

// rolledOut waits until all pods are updated and available, and the old pods have been removed.
func (c *Checks) rolledOut(ctx context.Context, replicas int) error {
	return poll.Until(ctx, patience, "the roll-out", func(ctx context.Context) error {
		deployment, err := c.cluster.Client.AppsV1().Deployments(rolloutNamespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		status, want := deployment.Status, int32(replicas)
		if status.ObservedGeneration < deployment.Generation || status.Replicas != want ||
			status.UpdatedReplicas != want || status.AvailableReplicas != want {
			return fmt.Errorf("deployment status %+v", status)
		}
		pods, err := c.cluster.Client.CoreV1().Pods(rolloutNamespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(pods.Items) != replicas {
			return fmt.Errorf("got %d pods", len(pods.Items))
		}
		return nil
	})
}
