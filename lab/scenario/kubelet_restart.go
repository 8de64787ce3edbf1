package scenario

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

const (
	// renewal is the interval between two renewals of a Lease.
	renewal = 10 * time.Second
	// offBeat is the time from a renewal of the Lease to the restart of the kubelet. It is short, because kubeflap
	// recognizes the restart by a renewal that comes early, and a kubelet takes seconds to start on a slow machine.
	offBeat = time.Second
)

// probedPods is the number of pods. With 12 pods, there is at least one pod whose status the new kubelet writes before
// it probes that pod.
const probedPods = 12

func kubeletRestart() Scenario {
	p := newProbes()
	node := cluster.NodeName(0)
	return Scenario{
		Name:    "kubelet-restart",
		Summary: "a kubelet restarts on the oldest release: its pods are not ready until they are probed again",
		Reports: []Report{{"node", "node", "kubelet_restart", node, "", "v1.35"}},
		Causes:  []Loss{{"web", "kubelet_restart", 1, "a kubelet restarts (before v1.35)"}},
		Options: cluster.Options{Release: cluster.Oldest, Nodes: 2, ControllerManagerPod: true},
		Prepare: func(l *Lab) {
			p.serve(l)
			spread(l, probedPods, func(pod *corev1.Pod) {
				p.ready(pod)
				// A new kubelet starts each probe after a random part of the period (prober, worker.run).
				pod.Spec.Containers[0].ReadinessProbe.PeriodSeconds = 10
			})
			l.waitForReadyAddresses("shop", "web", probedPods)
		},
		Run: func(l *Lab) {
			// Restart right after a renewal, so that the next renewal comes earlier than a regular one.
			l.WaitForHeartbeats()
			l.waitForLeaseRenewal(node)
			l.Sleep(offBeat)
			l.Cluster.Kubelets[node].Restart()
			l.waitForCountAtLeast(1, flips, "service", "web", "to", "not_ready")
			// More pods become not ready, one by one. This phase ends when the kubelet has probed all pods again and has
			// reported the results.
			p.waitForProbes(l)
			l.Sleep(settleKubelet)
			l.webHas(probedPods, "ready")
		},
	}
}
