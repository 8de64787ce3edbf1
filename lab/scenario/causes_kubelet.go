package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// settleKubelet is longer than a started kubelet takes to probe each pod and to report it.
const settleKubelet = 3 * time.Second

// restarted is the Service of the case that is another on the oldest release.
const restarted = "restarted"

// kubeletCases are what happens to pods on their nodes.
func kubeletCases(p *probes) []causeCase {
	return []causeCase{
		{Loss: Loss{"probed", "probe_failed", 1, "a readiness probe fails once"}, pod: p.ready, lose: p.loseByProbe},
		{Loss: Loss{"crashed", "container_exit", 1, "a container exits with code 1 and is restarted"}, lose: exiting(1, "Error")},
		{Loss: Loss{"oom", "container_exit", 1, "a container is killed for its memory (137, OOMKilled) and is restarted"}, lose: exiting(137, "OOMKilled")},
		{
			Loss: Loss{"unalive", "container_exit", 1, "a liveness probe fails, and the kubelet restarts the container"},
			pod:  p.readyAndLive, lose: p.loseByLiveness,
		},
		{
			Loss: Loss{"completed", "pod_completed", 1, "a pod with restartPolicy Never completes successfully"},
			pod:  func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever }, lose: loseByCompletion,
		},
		{
			Loss: Loss{"preempted", "pod_evicted", 1, "the kubelet preempts a pod for a critical one"},
			pod:  greedy, lose: loseByPreemption,
		},
		{
			Loss: Loss{restarted, "", 0, "a kubelet restarts (v1.35 or later)"},
			pod:  p.ready, lose: restartKubelet,
		},
		{
			Loss: Loss{"networkless", "node_not_ready", 1, "a node's network is down: its kubelet reports NotReady, and probes fail"},
			pod:  p.ready, lose: p.loseByNetwork,
		},
	}
}

// loseByProbe lets a readiness probe fail until that was seen.
func (p *probes) loseByProbe(ctx context.Context, l *Lab, service string) error {
	pod := causePod(service, 0)
	return allOf(
		func() error { p.set(readiness, pod, true); return l.ready(ctx, service, 1) },
		func() error { p.set(readiness, pod, false); return l.ready(ctx, service, 2) },
	)
}

// loseByLiveness lets a liveness probe fail until the kubelet has killed the container.
func (p *probes) loseByLiveness(ctx context.Context, l *Lab, service string) error {
	pod := causePod(service, 0)
	p.set(liveness, pod, true)
	err := l.leaves(ctx, service) // for some milliseconds
	p.set(liveness, pod, false)
	if err != nil {
		return err
	}
	return l.ready(ctx, service, 2)
}

// exitShows is how long at most a kubelet needs to say that a container has exited, if it says it at all.
const exitShows = 30 * time.Second

// exiting ends a container; the kubelet restarts it. A kubelet that is short of time may have restarted it before it says
// anything, and then nothing was lost: so it is ended again.
func exiting(code int32, reason string) func(context.Context, *Lab, string) error {
	return func(ctx context.Context, l *Lab, service string) error {
		for {
			if err := l.exit(causePod(service, 0), 0, code, reason); err != nil {
				return err
			}
			patient, stop := context.WithTimeout(ctx, exitShows)
			err := l.leaves(patient, service)
			stop()
			switch {
			case err == nil:
				return l.ready(ctx, service, 2)
			case ctx.Err() != nil:
				return err
			}
			l.Log.Info("the kubelet restarted a container before it said that it had exited: once more", "service", service)
		}
	}
}

// exit ends a pod's container on the node of that number.
func (s *Steps) exit(pod string, node int, code int32, reason string) error {
	return s.Cluster.Runtimes[cluster.NodeName(node)].Exit(causesNamespace, pod, code, reason)
}

func loseByCompletion(ctx context.Context, l *Lab, service string) error {
	if err := l.exit(causePod(service, 0), 0, 0, "Completed"); err != nil {
		return err
	}
	return l.ready(ctx, service, 1)
}

// greedy pods ask for more than half of a hollow node, which has one CPU.
func greedy(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("600m")}
}

// loseByPreemption puts a critical pod on a node that is full.
func loseByPreemption(ctx context.Context, l *Lab, service string) error {
	critical := newPod(metav1.NamespaceSystem, "critical", cluster.NodeName(0), "critical")
	critical.Spec.PriorityClassName = "system-node-critical"
	greedy(critical)
	return allOf(
		func() error { return l.create(ctx, critical) },
		func() error { return l.ready(ctx, service, 1) },
	)
}

// restartKubelet restarts the first node's kubelet; its pods' containers run on.
func restartKubelet(ctx context.Context, l *Lab, service string) error {
	node := cluster.NodeName(0)
	counts, err := l.Truth.Counts()
	if err != nil {
		return err
	}
	const heartbeats = "kubeflap_node_heartbeats_total"
	before := counts.Sum(heartbeats, "node", node)
	return allOf(
		l.Cluster.Kubelets[node].Restart,
		func() error { return l.counted(ctx, before+1, heartbeats, "node", node) },
		// What it makes of its pods comes with the next sync.
		func() error { return poll.Sleep(ctx, settleKubelet) },
		func() error { return l.ready(ctx, service, 2) },
	)
}

// loseByNetwork takes the second node's network away: the kubelet says so, and what it probes does not answer.
func (p *probes) loseByNetwork(ctx context.Context, l *Lab, service string) error {
	node, pod := cluster.NodeName(1), causePod(service, 1)
	network := l.Cluster.Runtimes[node].Network
	turned := func(status string) error {
		return l.counted(ctx, 1, "kubeflap_node_ready_transitions_total", "node", node, "status", status)
	}
	network(false)
	defer network(true)
	return allOf(
		func() error { return turned("false") },
		func() error { p.set(readiness, pod, true); return l.ready(ctx, service, 1) },
		func() error { p.set(readiness, pod, false); return l.ready(ctx, service, 2) },
		func() error { network(true); return turned("true") },
	)
}

// podReady waits until a pod's Ready has the status.
func (c *Checks) podReady(ctx context.Context, namespace, name string, status corev1.ConditionStatus) error {
	return poll.Until(ctx, patience, fmt.Sprintf("Ready %s of pod %s", status, name), func(ctx context.Context) error {
		pod, err := c.cluster.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get pod: %w", err)
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == status {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", pod.Status.Conditions)
	})
}
