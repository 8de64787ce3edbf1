package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// change is the loss of a pod's readiness, with the evidence for its cause.
type change struct {
	before *Pod
	now    *event.Pod
	nodes  nodeFacts
	at     time.Time
	// updated is when the pod was last updated in place.
	updated time.Time
}

// rule attributes a loss of a pod's readiness to a cause.
type rule struct {
	cause cause.Cause
	holds func(*change) bool
}

// The first rule that holds gives the cause: what ends a pod for good comes before
// what takes its readiness for a while, and what others did to it before what it did itself: a
// container that is told to stop and ends well makes its pod Succeeded, too.
var podRules = [...]rule{
	{cause.PodEvicted, evicted},
	{cause.PodDeleted, deleted},
	{cause.PodCompleted, completed},
	{cause.NodeHeartbeatLost, markedByNodeController},
	{cause.InPlaceUpdate, updatedInPlace},
	{cause.ReadinessGate, gateNotReady},
	{cause.ContainerExit, containerEnded},
	{cause.NodeNotReady, nodeNotReady},
	{cause.KubeletRestart, kubeletRestarted},
	{cause.ProbeFailed, probeFailed},
}

func (c *change) cause() cause.Cause {
	for i := range podRules {
		if podRules[i].holds(c) {
			return podRules[i].cause
		}
	}
	return cause.Unknown
}

// completed: all containers ended well and are not restarted (kubelet,
// pkg/kubelet/status GenerateContainersReadyCondition).
func completed(c *change) bool {
	return c.now.Phase == "Succeeded" || c.reason() == "PodCompleted"
}

// evicted: whoever evicts a pod says so in DisruptionTarget (Eviction API, taint
// eviction, scheduler, pod GC) or, the kubelet, in status.reason (eviction
// manager, preemption, node shutdown). A kubelet that kills a pod withholds both until its
// containers ended, but Ready says PodFailed in a pod that still runs (status manager, mergePodStatus).
func evicted(c *change) bool {
	switch {
	case c.now.Disruption != "" && (deleted(c) || c.now.Phase == "Failed" || completed(c)):
		return true // without these the eviction was refused, or is yet to come
	case c.now.Reason == "Evicted" || c.now.Reason == "Preempting" || c.now.Reason == "Terminated" || c.now.Reason == "NodeShutdown":
		return true
	}
	return c.reason() == "PodFailed" && c.now.Phase == "Running"
}

// deleted: the API server has accepted a deletion; the endpoints controllers take
// the address out at once (endpointslice, ShouldPodBeInEndpoints).
func deleted(c *change) bool { return !c.now.Deletion.IsZero() }

// markedByNodeController: MarkPodsNotReady sets Ready to False and leaves all else
// as it was: no reason, no message, the containers ready (node lifecycle controller,
// controller_utils.go). The writer's name says the same, but some distributions
// run controllers and kubelet under one name.
func markedByNodeController(c *change) bool {
	r := c.now.Ready
	return r != nil && r.Status == event.StatusFalse && r.Reason == "" && r.Message == "" &&
		c.now.ContainersReady == event.StatusTrue
}

// updateWindow is how long after a change of an image a loss may follow from it:
// the kubelet kills, pulls and starts in one go (kuberuntime_manager, SyncPod), and whoever
// rolls out in place may turn a readiness gate meanwhile.
const updateWindow = 2 * time.Minute

func updatedInPlace(c *change) bool {
	if c.before.updateDone && containerEnded(c) {
		return false // the new container served, and then it ended
	}
	return !c.updated.IsZero() && c.at.Sub(c.updated) <= updateWindow
}

// gateNotReady: the containers are ready, a gate is not (kubelet, GeneratePodReadyCondition).
func gateNotReady(c *change) bool { return c.reason() == "ReadinessGatesNotReady" }

// restartSettles is how long after its start a restarted container may be not ready only because it
// was restarted: somewhat more than the default period of a probe. Both times are the kubelet's.
const restartSettles = 15 * time.Second

// containerEnded: a container is not running, or another one runs in its place
// (kubelet, convertStatusToAPIStatus).
func containerEnded(c *change) bool {
	for i := range c.now.Containers {
		now := &c.now.Containers[i]
		if now.State == "terminated" || now.State == "waiting" {
			return true
		}
		before := c.before.container(now.Name, i)
		if before != nil && (before.restarts != now.Restarts || before.id != containerID(now.ID)) {
			return true
		}
		if c.justRestarted(now) {
			return true
		}
	}
	return c.now.Phase == "Failed"
}

// justRestarted: a probed container that was restarted can be called ready for a while, until at its next
// turn the probe begins anew with not ready (prober, worker doProbe: initialValue of a new container ID).
func (c *change) justRestarted(x *event.Container) bool {
	if x.Ready || x.Restarts == 0 || x.Started.IsZero() || c.now.Ready == nil {
		return false
	}
	after := c.now.Ready.Transition.Sub(x.Started)
	return after >= 0 && after <= restartSettles
}

// nodeNotReady: the pod's own change came from its kubelet, since the node controller marks no pods when the kubelet reports not ready.
func nodeNotReady(c *change) bool {
	return c.notReadyContainers() && c.nodes.NotReadyAt(c.now.Node, c.at, time.Time{})
}

// kubeletRestarted: up to v1.34 a kubelet that starts sets probed containers to not ready until their probes succeed again (prober manager).
func kubeletRestarted(c *change) bool {
	return c.notReadyContainers() && c.nodes.RestartedBefore(c.now.Node, c.at, time.Time{})
}

// probeFailed: the same container runs on, and the kubelet calls it not ready
// (prober, worker doProbe).
func probeFailed(c *change) bool { return c.notReadyContainers() }

func (c *change) reason() string {
	if c.now.Ready == nil {
		return ""
	}
	return c.now.Ready.Reason
}

func (c *change) notReadyContainers() bool { return c.reason() == "ContainersNotReady" }
