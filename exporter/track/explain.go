package track

import (
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// podChange is the loss of a pod's readiness with the evidence for its cause.
type podChange struct {
	before *pod
	now    *event.Pod
	// node is the pod's node, nil if it was not seen.
	node *node
	at   time.Time
	// updated is when it was updated in place last.
	updated time.Time
}

// rule attributes a loss of a pod's readiness to a cause.
type rule struct {
	cause Cause
	holds func(*podChange) bool
}

// The first rule that holds gives the cause: what ends a pod for good comes before
// what takes its readiness for a while, and what others did to it before what it did itself: a
// container that is told to stop and ends well makes its pod Succeeded, too.
var podRules = [...]rule{
	{CausePodEvicted, evicted},
	{CausePodDeleted, deleted},
	{CausePodCompleted, completed},
	{CauseNodeHeartbeatLost, markedByNodeController},
	{CauseInPlaceUpdate, updatedInPlace},
	{CauseReadinessGate, gateNotReady},
	{CauseContainerExit, containerEnded},
	{CauseNodeNotReady, nodeNotReady},
	{CauseKubeletRestart, kubeletRestarted},
	{CauseProbeFailed, probeFailed},
}

func (c *podChange) cause() Cause {
	for i := range podRules {
		if podRules[i].holds(c) {
			return podRules[i].cause
		}
	}
	return CauseUnknown
}

// completed: all containers ended well and are not restarted (kubelet,
// pkg/kubelet/status GenerateContainersReadyCondition).
func completed(c *podChange) bool {
	return c.now.Phase == "Succeeded" || c.reason() == "PodCompleted"
}

// evicted: whoever evicts a pod says so in DisruptionTarget (Eviction API, taint
// eviction, scheduler, pod GC) or, the kubelet, in status.reason (eviction
// manager, preemption, node shutdown). A kubelet that kills a pod withholds both until its
// containers ended, but Ready says PodFailed in a pod that still runs (status manager, mergePodStatus).
func evicted(c *podChange) bool {
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
func deleted(c *podChange) bool { return !c.now.Deletion.IsZero() }

// markedByNodeController: MarkPodsNotReady sets Ready to False and leaves all else
// as it was: no reason, no message, the containers ready (node lifecycle controller,
// controller_utils.go). The writer's name says the same, but some distributions
// run controllers and kubelet under one name.
func markedByNodeController(c *podChange) bool {
	r := c.now.Ready
	return r != nil && r.Status == event.StatusFalse && r.Reason == "" && r.Message == "" &&
		c.now.ContainersReady == event.StatusTrue
}

// updateWindow is how long after a change of an image a loss may follow from it:
// the kubelet kills, pulls and starts in one go (kuberuntime_manager, SyncPod), and whoever
// rolls out in place may turn a readiness gate meanwhile.
const updateWindow = 2 * time.Minute

func updatedInPlace(c *podChange) bool {
	if c.before.updateDone && containerEnded(c) {
		return false // the new container served, and then it ended
	}
	return !c.updated.IsZero() && c.at.Sub(c.updated) <= updateWindow
}

// gateNotReady: the containers are ready, a gate is not (kubelet, GeneratePodReadyCondition).
func gateNotReady(c *podChange) bool { return c.reason() == "ReadinessGatesNotReady" }

// restartSettles is how long after its start a restarted container may be not ready only because it
// was restarted: somewhat more than the default period of a probe. Both times are the kubelet's.
const restartSettles = 15 * time.Second

// containerEnded: a container is not running, or another one runs in its place
// (kubelet, convertStatusToAPIStatus).
func containerEnded(c *podChange) bool {
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
func (c *podChange) justRestarted(x *event.Container) bool {
	if x.Ready || x.Restarts == 0 || x.Started.IsZero() || c.now.Ready == nil {
		return false
	}
	after := c.now.Ready.Transition.Sub(x.Started)
	return after >= 0 && after <= restartSettles
}

// notReadyWindow is how long after its node a pod may follow: what it is probed for fails soon, or works.
const notReadyWindow = 5 * time.Minute

// nodeNotReady: the kubelet has posted Ready=False of itself (kubelet, nodestatus
// ReadyCondition). The node controller marks no pods for that, so the pod's own change came from the kubelet.
func nodeNotReady(c *podChange) bool {
	return c.notReadyContainers() && c.node.notReadyAt(c.at)
}

func (n *node) notReadyAt(t time.Time) bool {
	return n != nil && n.exists && n.ready == event.StatusFalse && t.Sub(n.since) <= notReadyWindow
}

// restartWindow is how long after its start a kubelet that probes anew has its pods not ready.
const restartWindow = 30 * time.Second

// kubeletRestarted: up to v1.34 a kubelet that starts takes probed containers for
// not ready until their probes succeed again (prober manager; gate
// ChangeContainerStatusOnKubeletRestart from v1.35).
func kubeletRestarted(c *podChange) bool {
	return c.notReadyContainers() && c.node.restartedBefore(c.at)
}

// restartedBefore: a kubelet that was only out of reach renews and reports at once, too, when it is back.
func (n *node) restartedBefore(t time.Time) bool {
	return n != nil && n.restartsFlap && !n.kubeletStarted.IsZero() && t.Sub(n.kubeletStarted) <= restartWindow &&
		(n.returned.IsZero() || n.returned.Sub(n.kubeletStarted).Abs() > startedWithin)
}

// probeFailed: the same container runs on, and the kubelet calls it not ready
// (prober, worker doProbe).
func probeFailed(c *podChange) bool { return c.notReadyContainers() }

func (c *podChange) reason() string {
	if c.now.Ready == nil {
		return ""
	}
	return c.now.Ready.Reason
}

func (c *podChange) notReadyContainers() bool { return c.reason() == "ContainersNotReady" }

// restartsFlap reports whether a kubelet of this version flaps its pods when it restarts.
func restartsFlap(version string) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && parts[0] == "1" && minor < 35
}

// hashOf shortens a text that is only ever compared (FNV-1a).
func hashOf(s string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(s) {
		hash = (hash ^ uint64(s[i])) * 1099511628211
	}
	return hash
}
