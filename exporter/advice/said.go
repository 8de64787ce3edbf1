package advice

import (
	"regexp"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// saidRemedies holds the remedies for what the API says about the exit of a container or the eviction of a pod. The first
// expression that matches decides. The reasons come from pkg/kubelet, pkg/scheduler and the eviction controllers. An exit
// code above 128 is 128 plus the number of a signal.
var saidRemedies = []struct {
	cause  cause.Cause
	in     *regexp.Regexp
	remedy string
}{
	{
		cause.ContainerExit, regexp.MustCompile(`OOMKilled`),
		"Raise the memory limit of {name}, or find out what needs so much memory: the container was killed because its memory ran out.",
	},
	{
		cause.ContainerExit, regexp.MustCompile(`ContainerStatusUnknown`),
		"The container runtime no longer knew the container: check whether the machine or the runtime was restarted.",
	},
	{
		cause.ContainerExit, regexp.MustCompile(`exit code (137|143)\b`),
		"The container of {name} was told to stop by a signal. If its liveness or startup probe failed before, the events of the pod name the probe (kubectl -n {namespace} describe pod POD): " +
			"check what the probe reports, its timeout and its failureThreshold. Otherwise, find out who stopped the process, such as a script in the container or the node's memory killer (dmesg).",
	},
	{
		cause.ContainerExit, regexp.MustCompile(`exit code 12[67]\b|StartError|ContainerCannotRun`),
		"The command of the container cannot be run: check the image, the command and its arguments in {name}.",
	},
	{
		cause.ContainerExit, regexp.MustCompile(`exit code 13[0-9]\b`),
		"The process of {name} crashed on a signal: kubectl -n {namespace} logs --previous POD and a core dump show where.",
	},
	{
		cause.ContainerExit, regexp.MustCompile(`Completed`),
		"The process of {name} ended without an error. A server must keep running, in the foreground. If it is meant to end, use a Job, and do not let a Service select its pods.",
	},
	{
		cause.ContainerExit, regexp.MustCompile(`exit code|Error`),
		"Read what the process of {name} wrote before it exited: kubectl -n {namespace} logs --previous POD.",
	},

	{
		cause.PodEvicted, regexp.MustCompile(`Preempt`),
		"Give {name} a higher priority (priorityClassName), or add nodes: a pod with a higher priority took its place.",
	},
	{
		cause.PodEvicted, regexp.MustCompile(`TaintManager`),
		"Find out who set the taint with the effect NoExecute on the node (kubectl describe node), and whether {name} should tolerate it. Give {name} replicas on several nodes.",
	},
	{
		cause.PodEvicted, regexp.MustCompile(`exceed`),
		"The pods used more local storage than they may: make {name} write less, or raise its limit of ephemeral-storage or the sizeLimit of its volume.",
	},
	{
		cause.PodEvicted, regexp.MustCompile(`low on resource|had condition`),
		"The node ran out of what its kubelet names. Set the requests of {name} to what it uses, find the pods on the node that use more than they request, and give {name} replicas on several nodes.",
	},
	{
		cause.PodEvicted, regexp.MustCompile(`[Ss]hutdown`),
		"The node was shut down. Drain a node before you shut it down, and give {name} a PodDisruptionBudget and replicas on several nodes.",
	},
	{
		cause.PodEvicted, regexp.MustCompile(`PodGC`),
		"The Node of the pods no longer exists. Drain a node before you remove it, and give {name} replicas on several nodes.",
	},
}

// saidRemedy returns the remedy for what the API says about a loss with a cause, or nothing if that is no help.
func saidRemedy(is cause.Cause, said string) string {
	for _, x := range saidRemedies {
		if x.cause == is && x.in.MatchString(said) {
			return x.remedy
		}
	}
	return ""
}
