package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
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
		Pages: []Page{{
			Alert: "KubeflapStaleReadds", Object: "Service shop/web",
			Says: []string{
				"would have put back 3,", "set a readiness gate of the pod to False before its image changes",
				"set --endpointslice-updates-batch-period and --endpoint-updates-batch-period",
			},
			Remedy: "Set a readiness gate to False before the image changes",
		}},
		ByRelease: true,
		Options:   cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare:   prepareBatchUpgrade,
		Run:       runBatchUpgrade,
	}
}

// prepareBatchUpgrade creates pods whose readiness probes start late. A new container is therefore not ready
// immediately.
func prepareBatchUpgrade(ctx context.Context, l *Lab) error {
	probes := newProbes()
	return allOf(
		func() error { return probes.serve(ctx) },
		func() error {
			return l.spread(ctx, replicas, func(pod *corev1.Pod) {
				probes.ready(pod)
				pod.Spec.Containers[0].ReadinessProbe.InitialDelaySeconds = 5
			})
		},
		func() error { return l.waitForReadyAddresses(ctx, "shop", "web", replicas) },
	)
}

func runBatchUpgrade(ctx context.Context, l *Lab) error {
	stopSlowly(l.Steps)
	clients := newBatchingClients()
	if err := clients.follow(ctx, l.Client, "shop", "web"); err != nil {
		return err
	}
	return allOf(
		clients.takeOut,
		func() error { return poll.Sleep(ctx, takenOutFor) },
		func() error { return l.upgrade(ctx, "example.com/app:2") },
		func() error {
			return l.waitForCountAtLeast(ctx, batchSize, "kubeflap_service_address_flips_total", "service", "web", "to", "not_ready")
		},
		func() error {
			return l.waitForCountAtLeast(ctx, batchSize, "kubeflap_service_address_flips_total", "service", "web", "to", "ready")
		},
		func() error { return clients.settled(ctx, replicas) },
		// Each address of the batch became not ready exactly once.
		func() error {
			return l.waitForCount(ctx, batchSize, "kubeflap_service_address_flips_total", "service", "web", "to", "not_ready")
		},
		func() error { return l.reportsReadds(ctx, clients) },
	)
}

// stopSlowly delays the stop of each container in the batch.
func stopSlowly(s *Steps) {
	for _, runtime := range s.Cluster.Runtimes {
		runtime.StopSlowly(func(pod string) time.Duration { return stopDelays()[pod] })
	}
}

// reportsReadds compares kubeflap_service_stale_readds_total with the number of addresses that the clients put back.
func (c *Checks) reportsReadds(ctx context.Context, clients *batchingClients) error {
	for _, made := range clients.readds() {
		window := fmt.Sprintf("%.0fs", made.window.Seconds())
		if err := c.waitForReportedValue(ctx, float64(made.stale), "kubeflap_service_stale_readds_total", "service", "web", "window", window); err != nil {
			return err
		}
	}
	if made := clients.readds()[1]; made.stale == 0 {
		return fmt.Errorf("the client with the window %s put no address back, so there was nothing to count", made.window)
	}
	return nil
}
