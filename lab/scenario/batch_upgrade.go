package scenario

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// takenOutFor is how long the pods of the batch are out of the load balancers before their images change.
const takenOutFor = 7 * time.Second

// replicas is the number of pods. All but two of them are upgraded.
const replicas = batchSize + 2

// stopDelays returns, by pod, how long the old container takes to stop. The first and the last stop are more than 5 s
// and less than 10 s apart. A client that batches updates for 10 s therefore sees all stops at once, but a client that
// batches updates for 2 s or 5 s does not. The kubelet notices a stop up to 1 s later. The first two stops are less
// than 4 s apart, so the kubelet always notices them less than 5 s apart.
func stopDelays() map[string]time.Duration {
	return map[string]time.Duration{
		podName(0): time.Second, podName(1): 4500 * time.Millisecond, podName(2): 8500 * time.Millisecond, podName(3): 9 * time.Second,
	}
}

// batchUpgrade reproduces an incident with clients that batch updates of Endpoints. A batch of pods is removed from the
// load balancers, and then all their images change. Each container stops after its own delay. When the first address
// becomes not ready, the clients set their load balancers to all ready addresses, and thereby put back pods that were
// removed.
func batchUpgrade() Scenario {
	return Scenario{
		Name:    "batch-upgrade",
		Summary: "a batch of pods is removed from the load balancers, and then their images change in place; clients that batch updates put addresses back",
		Reports: []Report{{
			"update_in_place", "workload", "inplace_update", "Service/web", "",
			"If you cannot add a gate, set --endpointslice-updates-batch-period and --endpoint-updates-batch-period of the kube-controller-manager to 10s",
		}},
		LossesBy: "inplace_update",
		Alerts: []Alert{{
			Name: "KubeflapInPlaceUpdateUnsafe", Object: "Service shop/web", Remedy: "set a readiness gate to False, and back to True when the new container is ready",
		}},
		ByRelease: true,
		Options:   cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare:   prepareBatchUpgrade,
		Run: func(l *Lab) {
			batch := takeOutBatch(l)
			l.Sleep(takenOutFor)
			upgrade(l, "example.com/app:2")
			l.waitForCountAtLeast(batchSize, flips, "service", "web", "to", "not_ready")
			l.waitForCountAtLeast(batchSize, flips, "service", "web", "to", "ready")
			clients := batch.settled(l, replicas)
			// Each address of the batch became not ready exactly once.
			l.waitForCount(batchSize, flips, "service", "web", "to", "not_ready")
			for _, x := range clients[:2] { // kubeflap exposes the two shortest windows
				window := fmt.Sprintf("%.0fs", x.window.Seconds())
				l.waitForReportedValue(float64(x.stale), "kubeflap_service_stale_readds_total", "service", "web", "window", window)
			}
			x := clients[1]
			l.Expect(x.stale > 0, "the client with the window %s put no address back, so there was nothing to count", x.window)
		},
	}
}

// prepareBatchUpgrade creates pods whose readiness probes start late. A new container is therefore not ready
// immediately.
func prepareBatchUpgrade(l *Lab) {
	probes := newProbes()
	probes.serve(l)
	spread(l, replicas, func(pod *corev1.Pod) {
		probes.ready(pod)
		pod.Spec.Containers[0].ReadinessProbe.InitialDelaySeconds = 5
	})
	l.waitForReadyAddresses("shop", "web", replicas)
}

// stopSlowly sets how long the containers of each pod take to stop.
func stopSlowly(l *Lab, delays map[string]time.Duration) {
	for _, runtime := range l.Cluster.Runtimes {
		runtime.StopSlowly(delays)
	}
}

// takeOutBatch delays the stop of each container in the batch, and removes the batch of pods from the load balancers of
// clients, as an upgrade tool does before it changes the images.
func takeOutBatch(l *Lab) *takenOut {
	stopSlowly(l, stopDelays())
	batch := &takenOut{pods: map[string]bool{}, at: time.Now()}
	for i := range batchSize {
		batch.pods[string(get(l, l.Client.CoreV1().Pods("shop"), podName(i)).UID)] = true
	}
	return batch
}
