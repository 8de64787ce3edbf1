package scenario

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

const (
	// large is the number of pods of the Service. It exceeds the 1,000 addresses that fit into an Endpoints object, so
	// the endpoints controller omits some addresses. After pods are deleted, the omitted addresses are not the same as
	// before.
	large = 1005
	// crowd is the name of a node without a kubelet. A hollow kubelet does not support so many pods.
	crowd = "crowd"
)

func largeService() Scenario {
	return Scenario{
		Name:    "large-service",
		Summary: "pods of a Service with more than 1,000 addresses are deleted: Endpoints are truncated, slices are rearranged",
		Causes:  []Loss{{"web", "pod_deleted", 3, "pods of a Service with 1,005 addresses are deleted: its Endpoints are truncated"}},
		// On the oldest release, kubeflap lists objects in pages. This scenario has enough pods for several pages.
		ByRelease: true,
		// The node without a kubelet must stay Ready although it sends no heartbeats.
		Options: cluster.Options{Nodes: 1, ControllerManagerFlags: []string{"--node-monitor-grace-period=10m"}},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.createNode(ctx, crowd) },
				func() error { return l.namespace(ctx, "shop") },
				func() error { return l.gather(ctx, large) },
				// Create the Service last, so that the controllers write all addresses at once.
				func() error { _, err := l.serviceWith(ctx, "shop", "web", nil); return err },
				func() error { return l.waitForReadyAddresses(ctx, "shop", "web", large) },
				// Renew the Lease before the recording begins. Otherwise, the node would already be silent at that
				// time. The recorder would count that silence immediately, but the replay would not.
				func() error { return l.renewLease(ctx, crowd, time.Now()) },
			)
		},
		Run: func(ctx context.Context, l *Lab) error {
			for _, i := range []int{0, large / 2, large - 1} {
				now := int64(0) // the node has no kubelet that could complete a graceful deletion
				err := l.Client.CoreV1().Pods("shop").Delete(ctx, podName(i), metav1.DeleteOptions{GracePeriodSeconds: &now})
				if err != nil {
					return err
				}
			}
			return l.webHas(ctx, large-3, "ready")
		},
	}
}

// gather creates n pods of the Service "web" and sets them Ready.
func (l *Lab) gather(ctx context.Context, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range n {
		group.Go(func() error {
			pod := newPod("shop", podName(i), crowd, "web")
			if err := l.create(ctx, pod); err != nil {
				return err
			}
			status := fmt.Sprintf(`{"status":{"phase":"Running","podIP":%[1]q,"podIPs":[{"ip":%[1]q}],"conditions":[{"type":"Ready","status":%[2]q}]}}`,
				fmt.Sprintf("10.200.%d.%d", i/250, 1+i%250), corev1.ConditionTrue)
			return l.patchPod(ctx, "shop", pod.Name, status, "status")
		})
	}
	return group.Wait()
}
