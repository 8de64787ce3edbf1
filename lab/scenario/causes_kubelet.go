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

// settleKubelet is enough time for a restarted kubelet to probe each pod and to report the results.
const settleKubelet = 3 * time.Second

// restarted is the name of the Service for the case of a kubelet restart. On the oldest release, the scenario
// kubelet-restart tests this case instead.
const restarted = "restarted"

// kubeletCases returns the faults that happen on a node.
func kubeletCases(p *probes) []causeCase {
	return []causeCase{
		{Loss: Loss{"probed", "probe_failed", 1, "a readiness probe fails once"}, pod: p.ready, lose: p.loseByProbe},
		{Loss: Loss{"crashed", "container_exit", 1, "a container exits with code 1 and is restarted"}, lose: exiting(1, "Error")},
		{Loss: Loss{"oom", "container_exit", 1, "a container exceeds its memory limit (137, OOMKilled) and is restarted"}, lose: exiting(137, "OOMKilled")},
		{
			Loss: Loss{"unalive", "container_exit", 1, "a liveness probe fails, and the kubelet restarts the container"},
			pod:  p.readyAndLive, lose: p.loseByLiveness,
		},
		{
			Loss: Loss{"completed", "pod_completed", 1, "a pod with restartPolicy Never completes successfully"},
			pod:  func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever }, lose: loseByCompletion,
		},
		{
			Loss: Loss{"preempted", "pod_evicted", 1, "the kubelet preempts a pod to make room for a critical pod"},
			pod:  greedy, lose: loseByPreemption,
		},
		{
			Loss: Loss{restarted, "", 0, "a kubelet restarts (v1.35 or later)"},
			pod:  p.ready, lose: restartKubelet,
		},
		{
			Loss: Loss{"networkless", "node_not_ready", 1, "the network plugin of a node is down: the kubelet reports NotReady, and probes fail"},
			pod:  p.ready, lose: p.loseByNetwork,
		},
	}
}

// loseByProbe makes a readiness probe fail until the pod's address is not ready.
func (p *probes) loseByProbe(ctx context.Context, l *Lab, service string) error {
	pod := causePod(service, 0)
	return allOf(
		func() error { p.set(readiness, pod, true); return l.waitForRecordedReady(ctx, service, 1) },
		func() error { p.set(readiness, pod, false); return l.waitForRecordedReady(ctx, service, 2) },
	)
}

// loseByLiveness makes a liveness probe fail until the kubelet has killed the container.
func (p *probes) loseByLiveness(ctx context.Context, l *Lab, service string) error {
	pod := causePod(service, 0)
	p.set(liveness, pod, true)
	err := l.waitForNotReadyFlip(ctx, service) // the address becomes ready again within milliseconds
	p.set(liveness, pod, false)
	if err != nil {
		return err
	}
	return l.waitForRecordedReady(ctx, service, 2)
}

// exitShows is how long to wait for a kubelet to report that a container exited. Sometimes the kubelet never reports
// it.
const exitShows = 30 * time.Second

// exiting returns a function that makes a container exit. The kubelet restarts the container. If the kubelet does so
// before it has reported the exit, no address becomes not ready. The function then tries again.
func exiting(code int32, reason string) func(context.Context, *Lab, string) error {
	return func(ctx context.Context, l *Lab, service string) error {
		for {
			if err := l.exit(causePod(service, 0), 0, code, reason); err != nil {
				return err
			}
			patient, stop := context.WithTimeout(ctx, exitShows)
			err := l.waitForNotReadyFlip(patient, service)
			stop()
			switch {
			case err == nil:
				return l.waitForRecordedReady(ctx, service, 2)
			case ctx.Err() != nil:
				return err
			}
			l.Log.Info("the kubelet restarted a container before it reported the exit; trying again", "service", service)
		}
	}
}

// exit ends a pod's container. The parameter node is the index of the pod's node.
func (s *Steps) exit(pod string, node int, code int32, reason string) error {
	return s.Cluster.Runtimes[cluster.NodeName(node)].Exit(causesNamespace, pod, code, reason)
}

func loseByCompletion(ctx context.Context, l *Lab, service string) error {
	if err := l.exit(causePod(service, 0), 0, 0, "Completed"); err != nil {
		return err
	}
	return l.waitForRecordedReady(ctx, service, 1)
}

// greedy makes a pod request more than half of the only CPU of a hollow node.
func greedy(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("600m")}
}

// loseByPreemption creates a critical pod on a node without enough CPU for it.
func loseByPreemption(ctx context.Context, l *Lab, service string) error {
	critical := newPod(metav1.NamespaceSystem, "critical", cluster.NodeName(0), "critical")
	critical.Spec.PriorityClassName = "system-node-critical"
	greedy(critical)
	return allOf(
		func() error { return l.create(ctx, critical) },
		func() error { return l.waitForRecordedReady(ctx, service, 1) },
	)
}

// restartKubelet restarts the first node's kubelet. The containers continue to run.
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
		func() error { return l.waitForCountAtLeast(ctx, before+1, heartbeats, "node", node) },
		// Wait until the kubelet has synced the pods' statuses.
		func() error { return poll.Sleep(ctx, settleKubelet) },
		func() error { return l.waitForRecordedReady(ctx, service, 2) },
	)
}

// loseByNetwork makes the network of the second node fail. The kubelet reports that the node is not ready, and the
// pod's probe fails.
func (p *probes) loseByNetwork(ctx context.Context, l *Lab, service string) error {
	node, pod := cluster.NodeName(1), causePod(service, 1)
	network := l.Cluster.Runtimes[node].Network
	turned := func(status string) error {
		return l.waitForNodeStatus(ctx, status, node)
	}
	network(false)
	defer network(true)
	return allOf(
		func() error { return turned("false") },
		func() error { p.set(readiness, pod, true); return l.waitForRecordedReady(ctx, service, 1) },
		func() error { p.set(readiness, pod, false); return l.waitForRecordedReady(ctx, service, 2) },
		func() error { network(true); return turned("true") },
	)
}

// podReady waits until the Ready condition of a pod has the given status.
func (c *Checks) podReady(ctx context.Context, namespace, name string, status corev1.ConditionStatus) error {
	return poll.Until(ctx, patience, fmt.Sprintf("Ready %s of pod %s", status, name), func(ctx context.Context) error {
		return cluster.PodReady(ctx, c.cluster.Client, namespace, name, status)
	})
}
