package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// gate is a readiness gate that the lab uses to change the readiness of pods at exact times. When the gate's condition
// changes, the kubelet updates the Ready condition immediately.
const gate corev1.PodConditionType = "example.com/in-rotation"

// stagger is the pause between two pods of a batch. It is long enough that the changes of four pods do not fit into a
// batching window of 2 s.
const stagger = 700 * time.Millisecond

const batchSize = 4

func inPlaceUpgrade() Scenario {
	return Scenario{
		Name:    "in-place-upgrade",
		Summary: "images change in place: first, containers restart without a change in Endpoints; then addresses leave, return and leave again",
		Reports: []Report{{"update_in_place", "workload", "inplace_update", "Service/web", "", "readiness gate"}},
		// The addresses become not ready twice. The image change is the cause both times.
		LossesBy: "inplace_update",
		Pages: []Page{
			{
				Alert: "KubeflapTrafficBouncing", Object: "namespace shop",
				Remedy: "Set a readiness gate to False before the image changes",
				Says:   []string{"after an in-place image change, a pod stays Ready", "take addresses out of rotation first. Set a readiness gate to False"},
			},
			{
				Alert: "KubeflapSilentRestarts", Object: "namespace shop",
				Says:   []string{"while their pods stayed Ready", "an image changed in place", "readiness gate"},
				Remedy: "Set a readiness gate to False before the image changes",
			},
		},
		Quiet:     []string{"KubeflapServiceFlapping"},
		ByRelease: true,
		Options:   cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare:   func(ctx context.Context, l *Lab) error { return l.spreadGated(ctx) },
		Run: func(ctx context.Context, l *Lab) error {
			if err := l.restartSilently(ctx); err != nil {
				return err
			}
			return l.upgradeSlowly(ctx)
		},
	}
}

// spreadGated creates the Service "web" with a batch of pods that have a readiness gate.
func (l *Lab) spreadGated(ctx context.Context) error {
	return allOf(
		func() error {
			return l.spread(ctx, batchSize, func(pod *corev1.Pod) {
				pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
			})
		},
		func() error { return l.eachPod(ctx, 0, func(pod string) error { return l.turnGate(ctx, pod, true) }) },
		func() error { return l.waitForReadyAddresses(ctx, "shop", "web", batchSize) },
	)
}

// restartSilently changes images. The containers restart, and Ready stays True.
func (l *Lab) restartSilently(ctx context.Context) error {
	return allOf(
		func() error { return l.upgrade(ctx, "example.com/app:2") },
		func() error {
			return l.waitForCountAtLeast(ctx, batchSize, "kubeflap_pod_inplace_updates_total", "namespace", "shop")
		},
		func() error {
			return l.waitForCountAtLeast(ctx, batchSize, "kubeflap_pod_silent_restarts_total", "namespace", "shop")
		},
	)
}

// upgradeSlowly reproduces the original incident. The images change while the addresses are ready. After that, the
// addresses become not ready and ready again, twice.
func (l *Lab) upgradeSlowly(ctx context.Context) error {
	if err := l.upgrade(ctx, "example.com/app:3"); err != nil {
		return err
	}
	for round := range 2 {
		for _, up := range []bool{false, true} {
			turn := func(pod string) error { return l.turnGate(ctx, pod, up) }
			if err := l.eachPod(ctx, stagger, turn); err != nil {
				return err
			}
			to, flips := "not_ready", float64(batchSize*(round+1))
			if up {
				to = "ready"
			}
			if err := l.waitForCountAtLeast(ctx, flips, "kubeflap_service_address_flips_total", "service", "web", "to", to); err != nil {
				return err
			}
		}
	}
	return allOf(
		func() error {
			return l.waitForCountAtLeast(ctx, 2*batchSize, "kubeflap_pod_inplace_updates_total", "namespace", "shop")
		},
		func() error {
			return l.waitForCountAtLeast(ctx, 2*batchSize, "kubeflap_service_address_bounces_total", "service", "web")
		},
	)
}

func (s *Steps) upgrade(ctx context.Context, image string) error {
	return s.eachPod(ctx, 0, func(pod string) error { return s.setImage(ctx, "shop", pod, image) })
}

func (s *Steps) turnGate(ctx context.Context, pod string, up bool) error {
	status := corev1.ConditionFalse
	if up {
		status = corev1.ConditionTrue
	}
	return s.setCondition(ctx, "shop", pod, string(gate), status)
}

// eachPod calls the function do for each pod of the batch, and pauses after each call.
func (s *Steps) eachPod(ctx context.Context, pause time.Duration, do func(pod string) error) error {
	for i := range batchSize {
		if err := do(podName(i)); err != nil {
			return fmt.Errorf("pod %d of the batch: %w", i+1, err)
		}
		if err := poll.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}
