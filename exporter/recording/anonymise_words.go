package recording

import (
	"regexp"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// kubernetesWords are the words that Kubernetes itself writes. They do not identify a cluster, so the anonymiser keeps them
// in every field. It replaces all other words, because any client can write names to a status.
var kubernetesWords = setOf(
	// Reasons: of conditions, from pkg/kubelet/nodestatus, pkg/kubelet/status, the scheduler, the node lifecycle controller
	// and DisruptionTarget; of a pod's status, from the kubelet and the controllers; and of the state of containers.
	"KubeletReady", "KubeletNotReady", "NodeStatusUnknown", "NodeStatusNeverUpdated",
	"ContainersNotReady", "ContainersNotInitialized", "ReadinessGatesNotReady",
	"PodCompleted", "PodFailed", "UnknownContainerStatuses", "RestartAllContainersStarted",
	"DeletionByPodGC", "DeletionByTaintManager", "EvictionByEvictionAPI",
	"PreemptionByScheduler", "PreemptionByKubeScheduler", "TerminationByKubelet",
	"Evicted", "NodeLost", "NodeShutdown", "Terminated", "Shutdown", "Preempting", "DeadlineExceeded",
	"NodeAffinity", "NodePorts", "HostPort", "UnexpectedAdmissionError", "UnexpectedPredicateFailureType",
	"OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods", "TopologyAffinityError",
	"AppArmor", "SysctlForbidden", "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch",
	"PodFeatureUnsupported", "PodLevelResourcesNotSupported", "InitContainerRestartPolicyForbidden",
	"SupplementalGroupsPolicyNotSupported", "VolumeAttachmentLimitExceeded", "InvalidNodeInfo",
	"KubeletHasInsufficientMemory", "KubeletHasDiskPressure", "KubeletHasInsufficientPID", "KubeletOutOfDisk",
	"Unschedulable", "SchedulingGated", "SchedulerError", "UnknownReason", "Unknown",
	"ContainerCreating", "PodInitializing", "CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull",
	"InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "ContainerCannotRun",
	"StartError", "OOMKilled", "Error", "Completed", "ContainerStatusUnknown", "DeletionByDeviceTaintManager",
	// Node conditions: of the kubelet, of the node controller and of the node-problem-detector.
	"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "OutOfDisk",
	"KernelDeadlock", "ReadonlyFilesystem", "CorruptDockerOverlay2", "XfsShutdown", "CperHardwareErrorFatal", "NTPProblem",
	"FrequentKubeletRestart", "FrequentDockerRestart", "FrequentContainerdRestart", "FrequentUnregisterNetDevice",
	"KubeletUnhealthy", "ContainerRuntimeUnhealthy", "KubeletProblem", "ContainerRuntimeProblem", "FilesystemCorruptionProblem",
	// Namespaces, and Services and Leases in them.
	"default", "kube-system", "kube-public", "kube-node-lease",
	"kubernetes", "kube-dns", "etcd", event.LeaseScheduler, event.LeaseControllerManager,
	// Field managers. A managed-by label can also name a controller: see event.IsSliceManager.
	"kubelet", "kube-apiserver", "k3s", "kubelite", "endpoint-controller",
	"kubectl", "kubectl-annotate", "kubectl-client-side-apply", "kubectl-create", "kubectl-edit",
	"kubectl-expose", "kubectl-label", "kubectl-last-applied", "kubectl-patch", "kubectl-replace",
	"kubectl-rollout", "kubectl-run", "kubectl-set", "kubectl-taint",
	// Taints: those of Kubernetes itself, and those with which an autoscaler, a cloud or a maintenance tool announces that a
	// node will leave the cluster. Replays need the latter: see also event.IsRemovalTaint. These are whole keys, because a
	// key such as node-role.kubernetes.io/NAME contains an arbitrary name.
	"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/unschedulable",
	"node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure",
	"node.kubernetes.io/network-unavailable", "node.kubernetes.io/out-of-service",
	"node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown",
	"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master",
	"DeletionCandidateOfClusterAutoscaler", "UpdateInProgress", "aws-node-termination-handler/rebalance-recommendation",
	"deployment.machine.sapcloud.io/prefer-no-schedule",
	// Labels that Kubernetes itself sets or recommends for pods.
	"pod-template-hash", "controller-revision-hash", "pod-template-generation",
	"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
	"job-name", "controller-uid", "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid",
	"batch.kubernetes.io/job-completion-index",
	"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version",
	"app.kubernetes.io/component", "app.kubernetes.io/part-of", "app.kubernetes.io/managed-by",
	// Constants: effects of taints, phases of pods, states of containers, types of Services, kinds of owners.
	"NoSchedule", "PreferNoSchedule", "NoExecute",
	"Pending", "Running", "Succeeded", "Failed",
	"running", "waiting", "terminated",
	"ClusterIP", "NodePort", "LoadBalancer", "ExternalName",
	"ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job", "Node",
)

// clouds are the prefixes of known clouds' provider IDs.
var clouds = setOf(
	"aws", "azure", "baremetalhost", "digitalocean", "equinixmetal", "gce", "hcloud", "ibm", "k3s", "kind", "linode",
	"nutanix", "oci", "openstack", "ovhcloud", "proxmox", "scaleway", "vsphere",
)

func setOf(words ...string) map[string]bool {
	set := map[string]bool{}
	for _, word := range words {
		set[word] = true
	}
	return set
}

// isKubernetes reports whether a word is not a name from a cluster.
func isKubernetes(word string) bool {
	return kubernetesWords[word] || event.IsRemovalTaint(word) || event.IsSliceManager(word) || event.LifecycleType(word).Known()
}

// messages are Kubernetes' own messages without the names in them: of the condition Ready of nodes and pods
// (pkg/kubelet/nodestatus, pkg/kubelet/status), and of evictions by the kubelet (pkg/kubelet/eviction, preemption and
// nodeshutdown), the scheduler, the Eviction API, and the controllers of taints and of garbage.
var messages = regexp.MustCompile(`Kubelet (?:stopped posting|never posted) node status\.|kubelet is posting ready status(?:\. AppArmor enabled)?|` +
	`containers with (?:unready|unknown) status|` +
	`The node (?:was low on resource|had condition): \[?(?:memory|ephemeral-storage|inodes|pids|(?:Memory|Disk|PID)Pressure| )+\]?\.|` +
	`Threshold quantity: [0-9.]+[kKMGTPEim]*, available: [0-9.]+[kKMGTPEim]*\.|exceeded its local ephemeral storage limit|` +
	`Pod ephemeral local storage usage exceeds the total limit of containers|Usage of EmptyDir volume|` +
	`preempting to accommodate a higher priority pod|Preempted in order to admit critical pod|Pod was preempted by Kubelet to accommodate a critical pod\.|` +
	`Pod was terminated in response to imminent node shutdown\.|Eviction API: evicting|(?:Device )?Taint manager: deleting due to NoExecute taint|PodGC: node no longer exists`)

// withoutNames returns only those parts of a message that contain no names: Kubernetes' own words, or else those by which
// event.Words.Kind recognises a kubelet's complaint.
func withoutNames(message string) string {
	if found := messages.FindAllString(message, -1); found != nil {
		return strings.Join(found, " ")
	}
	return event.KnownWords(message)
}

var releaseForm = regexp.MustCompile(`^v?[0-9]+(?:\.[0-9]+){0,2}(-eks-|-gke\.)?`)

// release keeps the first three numbers of a version, as in v1.36.3, and the vendor suffix of EKS and GKE. Replays need
// the vendor, because EKS and GKE do not let users set control-plane flags.
func release(version string) string {
	found := releaseForm.FindStringSubmatch(version)
	switch {
	case found == nil:
		return ""
	case found[1] != "":
		return found[0] + "0"
	}
	return found[0]
}
