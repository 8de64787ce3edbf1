package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// serveOnEachNode creates a Service with a pod on each node, and a Service for each of these pods alone.
func serveOnEachNode(ctx context.Context, c *cluster.Cluster) error {
	err := createService(ctx, c, "web", map[string]string{"app": "web"})
	for i := range len(c.Kubelets) {
		if err != nil {
			return fmt.Errorf("create the Services and their pods: %w", err)
		}
		node := cluster.NodeName(i)
		err = errors.Join(
			createPod(ctx, c, fmt.Sprintf("web-%d", i+1), node, map[string]string{"app": "web", "on": node}),
			createService(ctx, c, onlyOn(node), map[string]string{"on": node}), setApart(ctx, c, node),
		)
	}
	return err
}

// createPod creates a pod that tolerates all taints, so that it is not evicted.
func createPod(ctx context.Context, c *cluster.Cluster, name, node string, labels map[string]string, gates ...corev1.PodReadinessGate) error {
	no := false
	_, err := c.Client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: node, AutomountServiceAccountToken: &no, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, ReadinessGates: gates,
			Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}},
		},
	}, metav1.CreateOptions{})
	return err
}

// gate is the readiness gate of the pods that setGate makes ready or not ready.
const gate = "example.com/gate"

// serveGated creates a Service whose only pod, of the same name, has a readiness gate.
func serveGated(ctx context.Context, c *cluster.Cluster, name, node string) error {
	return errors.Join(
		createPod(ctx, c, name, node, map[string]string{"app": name}, corev1.PodReadinessGate{ConditionType: gate}),
		createService(ctx, c, name, map[string]string{"app": name}),
	)
}

// setGate makes a pod with a readiness gate ready or not ready.
func setGate(ctx context.Context, c *cluster.Cluster, pod string, status corev1.ConditionStatus) error {
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q}]}}`, gate, status)
	_, err := c.Client.CoreV1().Pods(metav1.NamespaceDefault).Patch(ctx, pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

// onlyOn returns the name of the Service whose only pod is on a node.
func onlyOn(node string) string { return "only-on-" + node }

func createService(ctx context.Context, c *cluster.Cluster, name string, selector map[string]string) error {
	_, err := c.Client.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	return err
}

// setApart puts a node into a zone of its own. The controller then sets the taints of several silent nodes at once. In
// a common zone, it sets one taint in 10 s, so the result would depend on the silences of other nodes, which do not
// begin at exactly the same times in all clusters.
func setApart(ctx context.Context, c *cluster.Cluster, node string) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:"zone-of-%s"}}}`, corev1.LabelTopologyZone, node)
	_, err := c.Client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
