package advice

import (
	"regexp"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// deadline is the remedy if a pod ran for longer than it may. The kubelet ends it like one that it evicts.
const deadline = "The kubelet ended the pods, because they ran for longer than their activeDeadlineSeconds. Remove this limit from {name}, or do not let a Service select pods that are meant to end."

// saidRemedies holds the remedies for what the API says about the exit of a container or the eviction of a pod. The first
// expression that matches decides. The reasons come from pkg/kubelet, pkg/scheduler and the eviction controllers. An exit
// code above 128 is 128 plus the number of a signal.
var saidRemedies = []struct {
	cause  cause.Cause
	in     *regexp.Regexp
	remedy string
}{
	{
		cause.ContainerExit, regexp.MustCompile(`DeadlineExceeded`), deadline,
	},
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
		cause.ContainerExit, regexp.MustCompile(`not restarted`),
		"The log of the container shows what it wrote before it exited: kubectl -n {namespace} logs POD. The restartPolicy of {name} ends the pod with its container: a server needs Always.",
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
		cause.PodEvicted, regexp.MustCompile(`DeadlineExceeded`), deadline,
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
		cause.PodEvicted, regexp.MustCompile(`low on resource|had condition`),
		"The node ran out of what its kubelet names. Set the requests of {name} to what it uses, find the pods on the node that use more than they request, and give {name} replicas on several nodes.",
	},
	{
		cause.PodEvicted, regexp.MustCompile(`[Ss]hutdown`),
		"The node was shut down. Drain a node before you shut it down, and give {name} a PodDisruptionBudget and replicas on several nodes.",
	},
	{
		cause.PodEvicted, regexp.MustCompile(`rejected`),
		"The kubelet did not admit the pods to the node, for example after a reboot: compare what it names with the labels, the free resources and the devices of the node. Give {name} replicas on several nodes.",
	},
	{
		cause.PodEvicted, regexp.MustCompile(`exceed`),
		"The pods used more local storage than they may: make {name} write less, or raise its limit of ephemeral-storage or the sizeLimit of its volume.",
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

// notReadyRemedies holds the remedy for each kind of complaint with which a kubelet reports Ready=False. The variable
// {nodes} contains the names of the nodes.
var notReadyRemedies = [event.NumNotReadyKinds]string{
	event.NotReadyShutdown: "The machine of {nodes} was shut down in order, on somebody's command: journalctl -b -1 on the machine and the provider's events show whose. " +
		"Drain a node before it is shut down, so that kubeflap treats the shutdown as planned.",
	event.NotReadyClock: "Repair the time synchronization of {nodes} (chronyc tracking): by the node's clock, a certificate or token is not valid yet.",
	event.NotReadyCertificate: "Renew the certificate that the message is about, or its CA on {nodes}: kubeadm certs check-expiration and openssl x509 -enddate -noout -in FILE show the dates, " +
		"and kubectl get csr shows requests that nobody approved.",
	event.NotReadyDiskOrMemory: "Free disk space or memory on {nodes}: check df -h, df -i, free -m and the kernel log (dmesg). Remove unused images (crictl rmi --prune), " +
		"and set requests and limits for memory and ephemeral storage of the pods. If the file system is damaged, replace the disk. " +
		"If there are too many open files, raise their limits (sysctl fs.file-max, fs.inotify.max_user_instances).",
	event.NotReadyRuntime: "Check the container runtime on {nodes}: systemctl status containerd (or crio, docker), crictl info, and its log from the minutes before. " +
		"If it hangs or is down, restart it, and then the kubelet. A slow disk and too many containers delay it, too.",
	event.NotReadyPLEG: "The container runtime on {nodes} answers the kubelet too slowly, so check both: the runtime's log, the disk's latency (iostat -x), the number of containers (crictl ps -a), " +
		"and whether crictl inspect hangs for one of them. If so, restart the runtime.",
	event.NotReadyNetwork: "Check the network plug-in on {nodes}: the log and the restarts of its pod there (kubectl get pods -A -o wide --field-selector spec.nodeName={node}), and its configuration in /etc/cni/net.d.",
	// The first sentence is shown as what to do first, and a command is taken from it. So it must not quote anybody.
	event.NotReadyOther: "Check what the kubelet on {nodes} logged before it was not ready (journalctl -u kubelet). It says: {words}.",
}

// notReady returns the remedy for what the kubelets said.
func (n LostNodes) notReady() string {
	text := notReadyRemedies[n.Said.Kind()]
	if n.Said == (event.Words{}) {
		text = "The kubelet on {nodes} gave no reason that kubeflap saw. Its log (journalctl -u kubelet) has a line \"Node became not ready\" with the reason."
	}
	if len(n.Problems) > 0 {
		text += " Then check the conditions that turned True at the same time: " + strings.Join(n.Problems, ", ") + "."
	}
	node := n.Names
	if strings.Contains(node, " ") {
		node = "NODE" // one of several
	}
	return fill(text, "{nodes}", n.Names, "{node}", node, "{words}", n.Said.String())
}

func (n LostNodes) saidShutdown() bool {
	return n.Said != (event.Words{}) && n.Said.Kind() == event.NotReadyShutdown
}
