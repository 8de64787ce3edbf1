package pods

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// lossEvidence is the loss of a pod's readiness, with the evidence for its cause.
type lossEvidence struct {
	before *Pod
	was    *past
	now    *event.Pod
	at     event.Moment
}

func (x *facts) evidence(p *Pod, o *event.Pod, t time.Time) *lossEvidence {
	return &lossEvidence{p, x.was(p), o, x.watches.Moment(t)}
}

// rule attributes a loss of a pod's readiness to a cause.
type rule struct {
	cause cause.Cause
	holds func(*lossEvidence) bool
}

// The first rule that holds determines the cause. Permanent causes come before temporary causes. Causes outside the pod
// come before causes inside the pod. For example, a deleted pod can also be Succeeded, because its containers exited
// normally.
var podRules = [...]rule{
	{cause.PodEvicted, evicted},
	{cause.PodDeleted, deleted},
	{cause.PodCompleted, completed},
	{cause.PodCompleted, jobCompletes},
	{cause.NodeHeartbeatLost, markedByNodeController},
	{cause.InPlaceUpdate, updatedInPlace},
	{cause.ReadinessGate, gateNotReady},
	{cause.ContainerExit, containerEnded},
	{cause.ProbeFailed, probeFailed},
}

func (c *lossEvidence) cause() cause.Cause {
	for i := range podRules {
		if podRules[i].holds(c) {
			return podRules[i].cause
		}
	}
	return cause.Unknown
}

// completed reports whether all containers ended successfully and will not be restarted (see
// GenerateContainersReadyCondition in pkg/kubelet/status).
func completed(c *lossEvidence) bool {
	return c.now.Phase == "Succeeded" || c.reason() == "PodCompleted"
}

// jobCompletes reports whether a Job's pod is not ready because some of its containers ended successfully. They are not
// restarted, because the pod's restartPolicy is Never or OnFailure. The pod is Running until its sidecars have ended, too.
func jobCompletes(c *lossEvidence) bool {
	all := slices.DeleteFunc(slices.Clone(c.now.Containers), func(x event.Container) bool { return x.Ready })
	return strings.HasPrefix(c.now.Owner, "Job/") && len(all) > 0 &&
		!slices.ContainsFunc(all, func(x event.Container) bool { return x.State != "terminated" || x.Reason != "Completed" })
}

// evicted reports whether the pod was evicted. The Eviction API, taint eviction, the scheduler and pod GC set the
// condition DisruptionTarget. The kubelet also sets status.reason in an eviction, a preemption or a node shutdown, and if
// it rejects the pod. It sets the condition and the reason only after the containers have ended. Until then, the pod is
// Running, and its Ready condition has the reason PodFailed (see mergePodStatus in pkg/kubelet/status). If no container
// runs, this condition means that the containers have failed and will not be restarted: the kubelet reports the phase after
// the cleanup of the pod.
func evicted(c *lossEvidence) bool {
	switch {
	case c.now.Disruption != "" && (deleted(c) || c.now.Phase == "Failed" || completed(c)):
		return true // the condition of a running pod can mean a rejected or a future eviction
	case c.now.Reason == "Evicted" || c.now.Reason == "Preempting" || c.now.Reason == "Terminated" || c.now.Reason == "NodeShutdown", rejected(c):
		return true
	}
	runs := slices.ContainsFunc(c.now.Containers, func(x event.Container) bool { return x.State == "running" })
	return c.reason() == "PodFailed" && c.now.Phase == "Running" && runs
}

// rejected reports whether the kubelet has not admitted the pod, for example after a reboot of the machine. The kubelet then
// reports a reason, such as NodeAffinity or OutOfcpu, and no containers (see rejectPod in pkg/kubelet).
func rejected(c *lossEvidence) bool {
	return c.now.Phase == "Failed" && c.now.Reason != "" && !slices.ContainsFunc(c.now.Containers, func(x event.Container) bool { return x.State != "" })
}

// deleted reports whether the API server has accepted a deletion of the pod. The endpoints controllers then remove its
// addresses immediately (see ShouldPodBeInEndpoints in k8s.io/endpointslice).
func deleted(c *lossEvidence) bool { return !c.now.DeletionTimestamp.IsZero() }

// markedByNodeController reports whether the node controller set Ready to False. This controller sets no reason and no
// message, and the containers stay ready (see MarkPodsNotReady in pkg/controller/util/node). The field manager is not
// checked, because some distributions use one name for the controllers and the kubelet.
func markedByNodeController(c *lossEvidence) bool {
	r := c.now.Ready
	return r != nil && r.Status == event.StatusFalse && r.Reason == "" && r.Message == "" &&
		c.now.ContainersReady == event.StatusTrue
}

// UpdateWindow is the time for which an image change can explain a readiness loss, if the pod has not been Ready with the
// new container since. In this time, the kubelet kills the container, pulls the image and starts the new container (see
// SyncPod in pkg/kubelet/kuberuntime). A tool for in-place updates can change a readiness gate during the update.
const UpdateWindow = 2 * time.Minute

func updatedInPlace(c *lossEvidence) bool {
	switch {
	case c.was.updateDone && containerEnded(c):
		return false // the update was complete before the container ended
	case c.was.readyAgain && (!c.was.inRotation || !gateNotReady(c)):
		return false // only a tool that changes images in rotation may still be changing the gates
	}
	return c.was.updatedAt != 0 && c.at-c.was.updatedAt <= event.Moment(UpdateWindow)
}

// gateNotReady reports whether the containers are ready but a readiness gate is not (see GeneratePodReadyCondition in
// pkg/kubelet/status).
func gateNotReady(c *lossEvidence) bool { return c.reason() == "ReadinessGatesNotReady" }

// restartSettles is the time for which the restart of a container can explain a readiness loss. It is a little longer
// than the default period of a probe. It is measured with the kubelet's timestamps.
const restartSettles = 15 * time.Second

// containerEnded reports whether a container has ended or was replaced, now or shortly before.
func containerEnded(c *lossEvidence) bool { return endsNow(c) || justRestarted(c) }

// endsNow reports whether the pod's newest status is the first to show that a container has ended or was replaced.
func endsNow(c *lossEvidence) bool {
	for i := range c.now.Containers {
		if c.ended(i) {
			return true
		}
	}
	return c.now.Phase == "Failed"
}

// ended reports whether a container has ended, or was replaced since the previous status (see convertStatusToAPIStatus in
// pkg/kubelet).
func (c *lossEvidence) ended(i int) bool {
	now, place := &c.now.Containers[i], i%len(runs{})
	replaced := c.before.runs != runs{} && c.before.runs[place] != runsOf(c.now)[place]
	if len(c.now.Containers) > len(runs{}) {
		replaced = replaced && c.settles(*now) // several containers share a hash
	}
	return now.State == "terminated" || now.State == "waiting" || replaced
}

func justRestarted(c *lossEvidence) bool {
	return slices.ContainsFunc(c.now.Containers, c.settles)
}

// settles reports whether a restarted container became not ready soon after its start. At first, the kubelet can report
// the restarted container as ready. Its probe worker then sets the container to not ready (see doProbe in
// pkg/kubelet/prober).
func (c *lossEvidence) settles(x event.Container) bool {
	if x.Ready || x.Restarts == 0 || x.Started.IsZero() || c.now.Ready == nil {
		return false
	}
	after := c.now.Ready.LastTransitionTime.Sub(x.Started)
	return after >= 0 && after <= restartSettles
}

// probeFailed reports whether the kubelet reports a container as not ready (see doProbe in pkg/kubelet/prober). Earlier
// rules cover stopped and replaced containers. The node can show another cause (see causeByNode).
func probeFailed(c *lossEvidence) bool { return c.reason() == "ContainersNotReady" }

func (c *lossEvidence) reason() string {
	if c.now.Ready == nil {
		return ""
	}
	return c.now.Ready.Reason
}
