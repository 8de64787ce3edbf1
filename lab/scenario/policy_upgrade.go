package scenario

import (
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// recipes is the directory of the recipes, relative to the lab's directory.
const recipes = "../docs/recipes"

// policyUpgrade is the batch upgrade with the admission policies of docs/recipes. With these policies, the controllers
// remove all pods of the batch in one update, so no client puts an address back.
func policyUpgrade() Scenario {
	return Scenario{
		Name:    "policy-upgrade",
		Summary: "the same batch upgrade, with admission policies that edit slices and Endpoints before they are stored: no address is put back",
		Reports: []Report{},
		// The API does not support these policies before v1.36.
		Options: cluster.Options{Release: cluster.Newest, Nodes: 2, ControllerManagerPod: true},
		Prepare: func(l *Lab) {
			prepareBatchUpgrade(l)
			applyRecipes(l, "drained-slices.yaml", "drained-endpoints.yaml")
		},
		Run: func(l *Lab) {
			batch := takeOutBatch(l)
			drainPods(l)
			l.Sleep(takenOutFor)
			upgrade(l, "example.com/app:2")
			l.waitForCount(batchSize, flips, "service", "web", "to", "not_ready")
			l.Until("Endpoints without the batch", func(l *Lab) {
				checkBatchIsOut(l, get(l, l.Client.CoreV1().Endpoints("shop"), "web"))
			})
			waitForNewContainers(l)
			undrainPods(l)
			l.waitForCount(batchSize, flips, "service", "web", "to", "ready")
			for _, x := range batch.settled(l, replicas) {
				l.Expect(x.stale == 0, "the client with the window %s put %d addresses back", x.window, x.stale)
			}
			l.waitForReportedValue(0, "kubeflap_service_stale_readds_total", "service", "web")
		},
	}
}

// applyRecipes applies files of docs/recipes without changes.
func applyRecipes(l *Lab, files ...string) {
	for _, file := range files {
		l.Cluster.Apply(l.Ctx, string(steps.Value(os.ReadFile(filepath.Join(recipes, file)))))
	}
}

// drainPods creates the ConfigMap that lists the drained pods, and waits until the policies apply to them.
func drainPods(l *Lab) {
	drained := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "drained"}, Data: map[string]string{}}
	for i := range batchSize {
		drained.Data[podName(i)] = ""
	}
	create(l, l.Client.CoreV1().ConfigMaps("shop"), drained)
	options := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	touch := []byte(`{"metadata":{"annotations":{"touched":"x"}}}`)
	l.Until("the policies to take effect", func(l *Lab) {
		for _, slice := range slicesOf(l, "shop", "web") {
			would := steps.Value(l.Client.DiscoveryV1().EndpointSlices("shop").Patch(l.Ctx, slice.Name, types.MergePatchType, touch, options))
			checkReady(l, would, replicas-batchSize)
		}
		would := steps.Value(l.Client.CoreV1().Endpoints("shop").Patch(l.Ctx, "web", types.MergePatchType, touch, options))
		checkBatchIsOut(l, would)
	})
}

func checkBatchIsOut(l *Lab, o *corev1.Endpoints) {
	ready, notReady := 0, 0
	for _, subset := range o.Subsets {
		ready, notReady = ready+len(subset.Addresses), notReady+len(subset.NotReadyAddresses)
	}
	l.Expect(ready == replicas-batchSize && notReady == batchSize, "got %d ready addresses and %d others in Endpoints", ready, notReady)
}

func checkReady(l *Lab, slice *discoveryv1.EndpointSlice, want int) {
	n := 0
	for _, endpoint := range slice.Endpoints {
		if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
			n++
		}
	}
	l.Expect(n == want, "slice %s has %d ready addresses", slice.Name, n)
}

// waitForNewContainers waits until each pod of the batch is Ready with a new container.
func waitForNewContainers(l *Lab) {
	l.Until("new containers", func(l *Lab) {
		for i := range batchSize {
			pod := get(l, l.Client.CoreV1().Pods("shop"), podName(i))
			statuses := pod.Status.ContainerStatuses
			l.Expect(len(statuses) == 1 && statuses[0].Ready && statuses[0].RestartCount > 0, "%s still has its old container, or is not ready", pod.Name)
		}
	})
}

// undrainPods deletes the ConfigMap that lists the drained pods. No controller watches this ConfigMap. undrainPods
// therefore also changes the Service.
func undrainPods(l *Lab) {
	remove(l, l.Client.CoreV1().ConfigMaps("shop"), "drained")
	l.Until("the addresses to be back", func(l *Lab) {
		touchService(l, "shop", "web")
		for _, slice := range slicesOf(l, "shop", "web") {
			checkReady(l, &slice, replicas)
		}
	})
}
