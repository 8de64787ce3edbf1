package scenario

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
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
func (p *probes) loseByProbe(l *Lab, service string) {
	pod := causePod(service, 0)
	p.set(readiness, pod, true)
	waitForRecordedReady(l, service, 1)
	p.set(readiness, pod, false)
	waitForRecordedReady(l, service, 2)
}

// loseByLiveness makes a liveness probe fail until the kubelet has killed the container.
func (p *probes) loseByLiveness(l *Lab, service string) {
	pod := causePod(service, 0)
	p.set(liveness, pod, true)
	waitForNotReadyFlip(l, service) // the address becomes ready again within milliseconds
	p.set(liveness, pod, false)
	waitForRecordedReady(l, service, 2)
}

// exitShows is how long to wait for a kubelet to report that a container exited. Sometimes the kubelet never reports
// it.
const exitShows = 30 * time.Second

// exiting returns a function that makes a container exit. The kubelet restarts the container. If the kubelet does so
// before it has reported the exit, no address becomes not ready. The function then tries again.
func exiting(code int32, reason string) func(*Lab, string) {
	return func(l *Lab, service string) {
		for {
			exit(l, service, code, reason)
			patient, stop := context.WithTimeout(l.Ctx, exitShows)
			err := l.Play(patient, func(l *Lab) { waitForNotReadyFlip(l, service) })
			stop()
			if err == nil {
				break
			}
			l.Must(l.Ctx.Err())
			l.Log.Info("the kubelet restarted a container before it reported the exit; trying again", "service", service)
		}
		waitForRecordedReady(l, service, 2)
	}
}

// exit ends the container of a Service's first pod.
func exit(l *Lab, service string, code int32, reason string) {
	l.Must(l.Cluster.Runtimes[cluster.NodeName(0)].Exit(causesNamespace, causePod(service, 0), code, reason))
}

func loseByCompletion(l *Lab, service string) {
	exit(l, service, 0, "Completed")
	waitForRecordedReady(l, service, 1)
}

// greedy makes a pod request more than half of the only CPU of a hollow node.
func greedy(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("600m")}
}

// loseByPreemption creates a critical pod on a node without enough CPU for it.
func loseByPreemption(l *Lab, service string) {
	critical := newPod(metav1.NamespaceSystem, "critical", cluster.NodeName(0), "critical")
	critical.Spec.PriorityClassName = "system-node-critical"
	greedy(critical)
	createPod(l, critical)
	waitForRecordedReady(l, service, 1)
}

// restartKubelet restarts the first node's kubelet. The containers continue to run.
func restartKubelet(l *Lab, service string) {
	node := cluster.NodeName(0)
	before := l.counts().Sum(heartbeats, "node", node)
	l.Cluster.Kubelets[node].Restart()
	l.waitForCountAtLeast(before+1, heartbeats, "node", node)
	l.Sleep(settleKubelet) // until the kubelet has synced the pods' statuses
	waitForRecordedReady(l, service, 2)
}

// loseByNetwork makes the network of the second node fail. The kubelet reports that the node is not ready, and the
// pod's probe fails.
func (p *probes) loseByNetwork(l *Lab, service string) {
	node, pod := cluster.NodeName(1), causePod(service, 1)
	network := l.Cluster.Runtimes[node].Network
	network(false)
	defer network(true)
	l.waitForNodeStatus("false", node)
	p.set(readiness, pod, true)
	waitForRecordedReady(l, service, 1)
	p.set(readiness, pod, false)
	waitForRecordedReady(l, service, 2)
	network(true)
	l.waitForNodeStatus("true", node)
}
