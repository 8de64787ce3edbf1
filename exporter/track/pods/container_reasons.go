package pods

import (
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// maxReason is the maximum length of a quoted reason, in bytes.
const maxReason = 240

// hasEnded reports whether a pod will not be Ready again, and need not be deleted first. A pod is leaving if the endpoints
// controllers remove its addresses permanently.
func hasEnded(o *event.Pod, leaving bool) bool {
	return leaving && (o.DeletionTimestamp.IsZero() || o.Phase == "Succeeded" || o.Phase == "Failed")
}

// waitOf returns what keeps a pod that has not ended from being Ready, with a reason. The kind is WaitAddress if the pod is
// Ready. It is empty if it is unknown.
func waitOf(o *event.Pod, leaving bool) (kind transition.WaitKind, reason string) {
	switch {
	case leaving:
		return transition.WaitDeletion, ""
	case o.Ready != nil && o.Ready.Status == event.StatusTrue:
		return transition.WaitAddress, ""
	case o.Node == "":
		return transition.WaitNode, Quote(conditionText(o.Unscheduled))
	case o.ContainersReady != event.StatusTrue:
		return waitOfContainers(o)
	case len(o.GatesNotReady) > 0:
		return transition.WaitGate, Quote(gateText(o))
	case o.Phase == "Running" && o.Ready != nil && o.Ready.Status == event.StatusFalse:
		return transition.WaitReady, ""
	}
	return "", ""
}

func conditionText(c *event.Condition) string {
	switch {
	case c == nil:
		return ""
	case c.Message == "":
		return c.Reason
	}
	text, _, _ := strings.Cut(c.Message, " preemption: ") // what the scheduler tried afterwards
	return strings.TrimSuffix(text, ".")
}

// gateText names the first readiness gate that is not True. The message of the Ready condition shows whether its condition
// exists (see GeneratePodReadyCondition in pkg/kubelet/status).
func gateText(o *event.Pod) string {
	gate := o.GatesNotReady[0]
	if o.Ready != nil && strings.Contains(o.Ready.Message, `"`+gate+`" does not exist`) {
		return gate + " has no condition"
	}
	return gate + " is not True"
}

// waitOfContainers returns what the containers wait for. Of several kinds, it returns the first one in transition.Waits.
func waitOfContainers(o *event.Pod) (kind transition.WaitKind, reason string) {
	for _, of := range transition.Waits() {
		for i := range o.Containers {
			c := &o.Containers[i]
			if !c.Ready && waitOfContainer(c) == of {
				return of, Quote(containerText(c))
			}
		}
	}
	return "", ""
}

func containerText(c *event.Container) string {
	text := "container " + c.Name
	switch exit := c.Exit(); {
	case c.State == "terminated" && exit != "":
		text += ": " + exit
	case c.Reason != "" && exit != "":
		text += ": " + c.Reason + " after " + exit
	case c.Reason != "":
		text += ": " + c.Reason
	case c.Starting:
		text += ": its startup probe has not succeeded"
	}
	if c.Message != "" && c.Message != c.Reason {
		text += ", " + c.Message
	}
	return text
}

// waitOfContainer classifies the state of a container that is not ready. The reasons come from
// pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go and pkg/kubelet/kubelet_pods.go.
func waitOfContainer(c *event.Container) transition.WaitKind {
	switch {
	case c.State == "running":
		return transition.WaitProbe
	case c.State == "terminated":
		return transition.WaitCrash
	}
	switch c.Reason {
	case "", "ContainerCreating":
		return transition.WaitStart
	case "PodInitializing":
		return transition.WaitInit
	case "CrashLoopBackOff":
		return transition.WaitCrash
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return transition.WaitImage
	}
	return transition.WaitCreate
}

// Quote limits the length of a text from the API.
func Quote(s string) string {
	if s = strings.ToValidUTF8(s, "?"); len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + " ..."
	}
	return strings.Clone(s)
}
