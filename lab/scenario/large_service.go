package scenario

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
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
		Prepare: func(l *Lab) {
			createNode(l, crowd)
			createNamespace(l, "shop")
			steps.Each(l.Ctx, large, 8, func(ctx context.Context, i int) { l.Must(l.Play(ctx, func(l *Lab) { gather(l, i) })) })
			// Create the Service last, so that the controllers write all addresses at once.
			createServiceWith(l, "shop", "web", nil)
			l.waitForReadyAddresses("shop", "web", large)
			// Renew the Lease before the recording begins. Otherwise, the node would already be silent at that time. The
			// recorder would count that silence immediately, but the replay would not.
			renewLease(l, crowd, time.Now())
		},
		Run: func(l *Lab) {
			for _, i := range []int{0, large / 2, large - 1} {
				deletePod(l, "shop", podName(i), 0) // the node has no kubelet that could complete a graceful deletion
			}
			l.webHas(large-3, "ready")
		},
	}
}

// gather creates a pod of the Service "web" and sets it Ready.
func gather(l *Lab, i int) {
	pod := newPod("shop", podName(i), crowd, "web")
	createPod(l, pod)
	patchPod(l, "shop", pod.Name, fmt.Sprintf(`{"status":{"phase":"Running","podIP":%[1]q,"podIPs":[{"ip":%[1]q}],"conditions":[{"type":"Ready","status":"True"}]}}`,
		fmt.Sprintf("10.200.%d.%d", i/250, 1+i%250)), "status")
}

func deletePod(l *Lab, namespace, name string, grace int64) {
	l.Must(l.Client.CoreV1().Pods(namespace).Delete(l.Ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
}
