package advice

import (
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

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
	event.NotReadyOther:   "The kubelet on {nodes} says: {words}. Its log (journalctl -u kubelet) shows what happened before.",
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
	return strings.NewReplacer("{nodes}", n.Names, "{node}", node, "{words}", n.Said.String()).Replace(text)
}

func (n LostNodes) saidShutdown() bool {
	return n.Said != (event.Words{}) && n.Said.Kind() == event.NotReadyShutdown
}
