package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The functions in this file read objects only once, and do not wait. To wait for a state, call them in poll.Until.

// NodeReady returns nil if the Ready condition of a node has the given status.
func NodeReady(ctx context.Context, client kubernetes.Interface, name string, status corev1.ConditionStatus) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get node: %w", err)
	}
	if !hasReady(node, status) {
		return fmt.Errorf("got conditions %v", node.Status.Conditions)
	}
	return nil
}

// hasReady reports whether the Ready condition of a node has the given status.
func hasReady(node *corev1.Node, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == status
	})
}

// PodReady returns nil if the Ready condition of a pod has the given status.
func PodReady(ctx context.Context, client kubernetes.Interface, namespace, name string, status corev1.ConditionStatus) error {
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get pod: %w", err)
	}
	has := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == status
	})
	if !has {
		return fmt.Errorf("got conditions %v", pod.Status.Conditions)
	}
	return nil
}

// ReadyAddresses returns the number of ready addresses in a Service's EndpointSlices.
func ReadyAddresses(ctx context.Context, client kubernetes.Interface, namespace, service string) (int, error) {
	list, err := client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service,
	})
	if err != nil {
		return 0, fmt.Errorf("list slices: %w", err)
	}
	ready := map[string]bool{} // the two IPs of a dual-stack pod are one address, but are in two slices
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
				ready[identity(endpoint)] = true
			}
		}
	}
	return len(ready), nil
}

// identity returns the UID of the endpoint's pod, or its IP address if it has no pod.
func identity(endpoint discoveryv1.Endpoint) string {
	if endpoint.TargetRef != nil {
		return string(endpoint.TargetRef.UID)
	}
	return endpoint.Addresses[0]
}
