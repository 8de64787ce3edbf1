package scenario

import (
	"context"
	"fmt"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// drainedPods is the number of the Service's pods on the drained node.
const drainedPods = 3

func nodeDrain() Scenario {
	return Scenario{
		Name:    "node-drain",
		Summary: "a node is cordoned, drained pod by pod, shut down and deleted: no incident",
		Reports: []Report{},
		Causes:  []Loss{{"web", "pod_evicted", drainedPods, "a node is drained, with a new pod ready before each eviction"}},
		Options: cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare: func(ctx context.Context, l *Lab) error {
			if err := l.namespace(ctx, "shop"); err != nil {
				return err
			}
			if _, err := l.serviceWith(ctx, "shop", "web", nil); err != nil {
				return err
			}
			for i := range drainedPods {
				if err := l.create(ctx, newPod("shop", podName(i), cluster.NodeName(1), "web")); err != nil {
					return err
				}
			}
			return l.waitForReadyAddresses(ctx, "shop", "web", drainedPods)
		},
		Run: func(ctx context.Context, l *Lab) error { return l.replaceNode(ctx, cluster.NodeName(1)) },
	}
}

func (l *Lab) replaceNode(ctx context.Context, node string) error {
	if err := l.cordon(ctx, node); err != nil {
		return err
	}
	for i := range drainedPods {
		if err := l.moveAway(ctx, podName(i), podName(drainedPods+i)); err != nil {
			return err
		}
	}
	return allOf(
		// A running kubelet would register its node again.
		func() error { l.Cluster.Remove(node); return nil },
		func() error { return l.Client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}) },
		func() error {
			return l.waitForCountAtLeast(ctx, drainedPods, "kubeflap_service_address_churn_total", "service", "web", "change", "removed")
		},
	)
}

func (s *Steps) cordon(ctx context.Context, node string) error {
	_, err := s.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	return err
}

// moveAway starts a pod on the first node. When this pod is ready, it evicts the old pod.
func (l *Lab) moveAway(ctx context.Context, from, to string) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: from}}
	return allOf(
		func() error { return l.create(ctx, newPod("shop", to, cluster.NodeName(0), "web")) },
		func() error { return l.waitForReadyAddresses(ctx, "shop", "web", drainedPods+1) },
		func() error { return l.Client.PolicyV1().Evictions("shop").Evict(ctx, eviction) },
		func() error { return l.waitForReadyAddresses(ctx, "shop", "web", drainedPods) },
		func() error { return l.waitForPodGone(ctx, "shop", from) },
	)
}

// waitForPodGone waits until a pod has been deleted completely.
func (c *Checks) waitForPodGone(ctx context.Context, namespace, pod string) error {
	return poll.Until(ctx, patience, "pod "+pod+" to be deleted", func(ctx context.Context) error {
		pods, err := c.cluster.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + pod})
		if err != nil {
			return err
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("the pod still exists")
		}
		return nil
	})
}

// singleReplicaDrain drains two nodes one after the other. Each drain evicts the only pod of the Service "web". The
// Service then has no ready address for so long that an unplanned outage of that length would cause a page.
func singleReplicaDrain() Scenario {
	drained := []string{cluster.NodeName(1), cluster.NodeName(2)}
	return Scenario{
		Name:     "single-replica-drain",
		Extra:    true,
		Summary:  "two nodes are drained one after the other, each with the only pod of a Service: no page",
		LossesBy: "pod_evicted",
		Reports: []Report{
			{"planned", "workload", "pod_evicted", "Service/web", "announced by a cordon", "PodDisruptionBudget"},
		},
		Pages: []Page{},
		Options: cluster.Options{
			Nodes: 3, ControllerManagerPod: true,
			ControllerManagerFlags: []string{unhurried},
		},
		Prepare: func(ctx context.Context, l *Lab) error {
			if err := l.namespace(ctx, "shop"); err != nil {
				return err
			}
			if _, err := l.serviceWith(ctx, "shop", "web", nil); err != nil {
				return err
			}
			return allOf(
				func() error { return l.create(ctx, newPod("shop", podName(0), drained[0], "web")) },
				func() error { return l.waitForReadyAddresses(ctx, "shop", "web", 1) },
			)
		},
		Run: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.WaitForHeartbeats(ctx) },
				func() error { return l.drainOnly(ctx, drained[0], podName(0), podName(1), drained[1]) },
				func() error { return l.drainOnly(ctx, drained[1], podName(1), podName(2), cluster.NodeName(0)) },
			)
		},
	}
}

// drainOnly evicts the only pod of the Service. After the duration of an image pull, it starts a pod on another node.
func (l *Lab) drainOnly(ctx context.Context, node, from, to, elsewhere string) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: from}}
	return allOf(
		func() error { return l.cordon(ctx, node) },
		func() error { return l.Client.PolicyV1().Evictions("shop").Evict(ctx, eviction) },
		func() error { return l.waitForReadyAddresses(ctx, "shop", "web", 0) },
		func() error { return poll.Sleep(ctx, imagePull) },
		func() error { return l.create(ctx, newPod("shop", to, elsewhere, "web")) },
		func() error { return l.waitForReadyAddresses(ctx, "shop", "web", 1) },
	)
}

// imagePull is the simulated duration of an image pull. It exceeds one minute, so an unplanned outage of this length
// would cause a page.
const imagePull = 80 * time.Second
