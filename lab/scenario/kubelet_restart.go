package scenario

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

const (
	// renewal is between two renewals of a Lease.
	renewal = 10 * time.Second
	// offBeat is how long after a renewal the kubelet restarts: soon, because only a renewal that is early tells of it,
	// and a slow machine takes seconds to start a kubelet.
	offBeat = time.Second
)

// probed is enough pods that one of the node's is not probed again before its status is written.
const probed = 12

func kubeletRestart() Scenario {
	p := newProbes()
	node := cluster.NodeName(0)
	return Scenario{
		Name:     "kubelet-restart",
		Summary:  "on the oldest release a kubelet restarts: its pods are not ready until they are probed again",
		Incident: Incident{"node", "kubelet_restart", "node", "v1.35"},
		Causes:   []Loss{{"web", "kubelet_restart", 1, "a kubelet restarts (before v1.35)"}},
		Options:  cluster.Options{Release: cluster.Oldest, Nodes: 2, ControllerManagerPod: true},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return p.serve(ctx) },
				func() error {
					return l.spread(ctx, probed, func(pod *corev1.Pod) {
						p.ready(pod)
						// A started kubelet begins to probe at some time within the period (prober, worker run).
						pod.Spec.Containers[0].ReadinessProbe.PeriodSeconds = 10
					})
				},
				func() error { return l.inRotation(ctx, "shop", "web", probed) },
			)
		},
		Run: func(ctx context.Context, l *Lab) error {
			return allOf(
				// A restart on the very beat of the Lease could not be told from it.
				func() error { return l.EveryNodeBeats(ctx) },
				func() error { return l.beatsAgain(ctx, node) },
				func() error { return poll.Sleep(ctx, offBeat) },
				l.Cluster.Kubelets[node].Restart,
				func() error {
					return l.counted(ctx, 1, "kubeflap_service_address_flips_total", "service", "web", "to", "not_ready")
				},
				// Others follow, one by one: it ends when all have been probed and that is reported.
				func() error { return p.askedAgain(ctx, readiness, podsOnFirst()...) },
				func() error { return poll.Sleep(ctx, settleKubelet) },
				func() error {
					return l.shows(ctx, probed, "kubeflap_service_addresses", "service", "web", "state", "ready")
				},
			)
		},
	}
}

// podsOnFirst are those of the first of two nodes.
func podsOnFirst() []string {
	var names []string
	for i := 0; i < probed; i += 2 {
		names = append(names, podName(i))
	}
	return names
}
