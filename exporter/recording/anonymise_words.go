package recording

import (
	"regexp"
	"slices"
)

// An Anonymiser keeps the words in this file. Kubernetes itself writes these words, so they do not identify a cluster.
// The Anonymiser replaces all other words, because any client can write names to a status.

const other = "Other"

// words is a list of words.
type words []string

func (w words) contain(word string) bool { return slices.Contains(w, word) }

// orOther is a rule. It returns the word if the list contains it, and "Other" otherwise.
func (w words) orOther(_ *Anonymiser, _, word string) string {
	if w.contain(word) {
		return word
	}
	return other
}

var (
	// kubernetesReasons are the reasons that Kubernetes itself uses: in conditions, from pkg/kubelet/nodestatus,
	// pkg/kubelet/status, the scheduler, the node lifecycle controller and DisruptionTarget; in a pod's status, from the
	// kubelet and the controllers; and in the state of containers.
	kubernetesReasons = words{
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
	}
	// nodeMessages are messages of the node condition Ready.
	nodeMessages = words{
		"Kubelet stopped posting node status.", "Kubelet never posted node status.",
		"kubelet is posting ready status", "kubelet is posting ready status. AppArmor enabled",
		"container runtime is down", "container runtime status check may not have completed yet",
		"node is shutting down",
	}
	// nodeProblems are node conditions of the kubelet, of the node controller and of the node-problem-detector.
	nodeProblems = words{
		"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "OutOfDisk",
		"KernelDeadlock", "ReadonlyFilesystem", "CorruptDockerOverlay2", "XfsShutdown", "CperHardwareErrorFatal", "NTPProblem",
		"FrequentKubeletRestart", "FrequentDockerRestart", "FrequentContainerdRestart", "FrequentUnregisterNetDevice",
		"KubeletUnhealthy", "ContainerRuntimeUnhealthy", "KubeletProblem", "ContainerRuntimeProblem", "FilesystemCorruptionProblem",
	}
	kubernetesNamespaces = words{"default", "kube-system", "kube-public", "kube-node-lease"}
	kubernetesServices   = words{
		"kube-system/kube-scheduler", "kube-system/kube-controller-manager", "kube-system/etcd",
		"kube-system/kube-dns", "default/kubernetes",
	}
	ownerKinds = words{"ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"}
	// fieldManagers are known field managers. A managed-by label can also name a controller: see event.IsSliceManager.
	fieldManagers = words{
		"kubelet", "kube-controller-manager", "kube-scheduler", "kube-apiserver", "k3s", "kubelite",
		"kubectl", "kubectl-annotate", "kubectl-client-side-apply", "kubectl-create", "kubectl-edit",
		"kubectl-expose", "kubectl-label", "kubectl-last-applied", "kubectl-patch", "kubectl-replace",
		"kubectl-rollout", "kubectl-run", "kubectl-set", "kubectl-taint",
		"endpoint-controller",
	}
	// taintKeys are taints that Kubernetes itself sets, and taints with which an autoscaler, a cloud or a maintenance tool
	// announces that a node will leave the cluster. Replays need the latter: see also event.IsRemovalTaint. The list has
	// whole keys, because a key such as node-role.kubernetes.io/NAME contains an arbitrary name.
	taintKeys = words{
		"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/unschedulable",
		"node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure",
		"node.kubernetes.io/network-unavailable", "node.kubernetes.io/out-of-service",
		"node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown",
		"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master",
		"DeletionCandidateOfClusterAutoscaler", "UpdateInProgress", "aws-node-termination-handler/rebalance-recommendation",
		"deployment.machine.sapcloud.io/prefer-no-schedule",
	}
	// podLabels are labels that Kubernetes itself sets or recommends for pods.
	podLabels = words{
		"pod-template-hash", "controller-revision-hash", "pod-template-generation",
		"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
		"job-name", "controller-uid", "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid",
		"batch.kubernetes.io/job-completion-index",
		"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version",
		"app.kubernetes.io/component", "app.kubernetes.io/part-of", "app.kubernetes.io/managed-by",
	}
	// clouds are the prefixes of known clouds' provider IDs.
	clouds = words{
		"aws", "azure", "baremetalhost", "digitalocean", "equinixmetal", "gce", "hcloud", "ibm", "k3s", "kind", "linode",
		"nutanix", "oci", "openstack", "ovhcloud", "proxmox", "scaleway", "vsphere",
	}
	taintEffects    = words{"NoSchedule", "PreferNoSchedule", "NoExecute"}
	podPhases       = words{"Pending", "Running", "Succeeded", "Failed", "Unknown"}
	containerStates = words{"running", "waiting", "terminated"}
	serviceTypes    = words{"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}
)

// evictionWords are messages about evictions: of the kubelet (pkg/kubelet/eviction, preemption and nodeshutdown), the
// scheduler, the Eviction API, and the controllers of taints and of garbage. Names are left out.
var evictionWords = regexp.MustCompile(`The node (?:was low on resource|had condition): \[?(?:memory|ephemeral-storage|inodes|pids|(?:Memory|Disk|PID)Pressure| )+\]?\.|` +
	`Threshold quantity: [0-9.]+[kKMGTPEim]*, available: [0-9.]+[kKMGTPEim]*\.|exceeded its local ephemeral storage limit|` +
	`Pod ephemeral local storage usage exceeds the total limit of containers|Usage of EmptyDir volume|` +
	`preempting to accommodate a higher priority pod|Preempted in order to admit critical pod|Pod was preempted by Kubelet to accommodate a critical pod\.|` +
	`Pod was terminated in response to imminent node shutdown\.|Eviction API: evicting|(?:Device )?Taint manager: deleting due to NoExecute taint|PodGC: node no longer exists`)

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
