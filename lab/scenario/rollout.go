package scenario

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeflap/kubeflap/lab/cluster"
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
		Prepare: func(l *Lab) {
			createNamespace(l, rolloutNamespace)
			createServiceWith(l, rolloutNamespace, "web", nil)
			deploy(l, "web", rolloutReplicas, newPod(rolloutNamespace, "", cluster.NodeName(1), "web"))
			waitForRollout(l, rolloutReplicas)
			l.waitForReadyAddresses(rolloutNamespace, "web", rolloutReplicas)
		},
		Run: func(l *Lab) {
			changeDeployment(l, fmt.Sprintf(`{"template":{"spec":{"containers":[{"name":%q,"image":"example.com/app:2"}]}}}`, container), rolloutReplicas)
			changeDeployment(l, `{"replicas":6}`, 6)
			changeDeployment(l, `{"replicas":3}`, 3)
			// The rollout has removed all original pods, and scaling down has removed three of the six pods.
			l.waitForCountAtLeast(rolloutReplicas+3, lost, "service", "web")
		},
	}
}

// deploy creates a Deployment of the given pod with maxUnavailable 0.
func deploy(l *Lab, name string, replicas int32, pod *corev1.Pod) {
	create(l, l.Client.AppsV1().Deployments(pod.Namespace), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0))},
			},
		},
	})
}

// changeDeployment changes the spec, and waits for the rollout.
func changeDeployment(l *Lab, spec string, replicas int) {
	patch(l, l.Client.AppsV1().Deployments(rolloutNamespace), "web", `{"spec":`+spec+`}`)
	waitForRollout(l, replicas)
	l.waitForCount(float64(replicas), addresses, "namespace", rolloutNamespace, "service", "web", "state", "ready")
}

// waitForRollout waits until all pods are updated and available, and the old pods have been removed.
func waitForRollout(l *Lab, replicas int) {
	l.Until("the roll-out", func(l *Lab) {
		deployment := get(l, l.Client.AppsV1().Deployments(rolloutNamespace), "web")
		status, want := deployment.Status, int32(replicas)
		l.Expect(status.ObservedGeneration >= deployment.Generation && status.Replicas == want &&
			status.UpdatedReplicas == want && status.AvailableReplicas == want, "deployment status %+v", status)
		pods := len(list(l, l.Client.CoreV1().Pods(rolloutNamespace), metav1.ListOptions{}).Items)
		l.Expect(pods == replicas, "got %d pods", pods)
	})
}
