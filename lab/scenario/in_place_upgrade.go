package scenario

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// gate is a readiness gate that the lab uses to change the readiness of pods at exact times. When the gate's condition
// changes, the kubelet updates the Ready condition immediately.
const gate corev1.PodConditionType = "example.com/in-rotation"

// stagger is the pause between two pods of a batch. It is long enough that the changes of four pods do not fit into a
// batching window of 2 s.
const stagger = 700 * time.Millisecond

const batchSize = 4

// slowStop is how long an old container takes to stop. It is far longer than the first address takes to become not ready.
const slowStop = 6 * time.Second

func inPlaceUpgrade() Scenario {
	return Scenario{
		Name:    "in-place-upgrade",
		Summary: "images change in place: first, containers restart without a change in Endpoints; then addresses leave, return and leave again",
		Reports: []Report{{"update_in_place", "workload", "inplace_update", "Service/web", "", "readiness gate"}},
		// The addresses become not ready twice. The image change is the cause both times.
		LossesBy: "inplace_update",
		Alerts: []Alert{{
			Name: "KubeflapInPlaceUpdateUnsafe", Object: "Service shop/web",
			Remedy: "set a readiness gate to False, and back to True when the new container is ready",
		}},
		ByRelease: true,
		Options:   cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare:   spreadGated,
		Run: func(l *Lab) {
			restartSilently(l)
			upgradeSlowly(l)
		},
	}
}

// spreadGated creates the Service "web" with a batch of pods that have a readiness gate.
func spreadGated(l *Lab) {
	spread(l, batchSize, gated)
	turnGates(l, true, 0)
	l.waitForReadyAddresses("shop", "web", batchSize)
}

// restartSilently changes images. The containers restart, and Ready stays True.
func restartSilently(l *Lab) {
	upgrade(l, "example.com/app:2")
	l.waitForCountAtLeast(batchSize, "kubeflap_pod_inplace_updates_total", "namespace", "shop")
	l.waitForCountAtLeast(batchSize, "kubeflap_pod_silent_restarts_total", "namespace", "shop")
}

// upgradeSlowly reproduces the original incident. The images change while the addresses are ready. After that, the
// addresses become not ready and ready again, twice. All old containers but the first take long to stop: when the first
// address becomes not ready, the others are still those of old containers, however busy the machine is.
func upgradeSlowly(l *Lab) {
	stopSlowly(l, map[string]time.Duration{podName(1): slowStop, podName(2): slowStop, podName(3): slowStop})
	upgrade(l, "example.com/app:3")
	for round := range 2 {
		for _, up := range []bool{false, true} {
			turnGates(l, up, stagger)
			l.waitForCountAtLeast(float64(batchSize*(round+1)), flips, "service", "web", "to", readyOr(up))
		}
	}
	l.waitForCountAtLeast(2*batchSize, "kubeflap_pod_inplace_updates_total", "namespace", "shop")
}

// upgrade changes the image of each pod of the batch in place.
func upgrade(l *Lab, image string) {
	for i := range batchSize {
		setImage(l, "shop", podName(i), image)
	}
}

// turnGates sets the readiness gate of each pod of the batch, and pauses after each of them.
func turnGates(l *Lab, up bool, pause time.Duration) {
	for i := range batchSize {
		setCondition(l, "shop", podName(i), string(gate), statusOf(up))
		l.Sleep(pause)
	}
}

func statusOf(up bool) corev1.ConditionStatus {
	if up {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// readyOr returns the state of an address in metrics.
func readyOr(up bool) string {
	if up {
		return "ready"
	}
	return "not_ready"
}
