package recording

import (
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// An Anonymiser keeps the words in this file. Kubernetes itself writes these words, so they do not identify a cluster.
// The Anonymiser replaces all other words, because any client can write names to a status.

const other = "Other"

func knownOr(isKnown func(string) bool, word string) string {
	if word == "" || isKnown(word) {
		return word
	}
	return other
}

func reason(word string) string { return knownOr(isKubernetesReason, word) }

// isKubernetesReason reports whether Kubernetes itself uses this reason in a condition or a pod.
func isKubernetesReason(word string) bool { return isConditionReason(word) || isPodReason(word) }

// isConditionReason reports whether word is a reason from pkg/kubelet/nodestatus, pkg/kubelet/status or the node
// lifecycle controller, or a DisruptionTarget reason.
func isConditionReason(word string) bool {
	switch word {
	case "KubeletReady", "KubeletNotReady", "NodeStatusUnknown", "NodeStatusNeverUpdated",
		"ContainersNotReady", "ContainersNotInitialized", "ReadinessGatesNotReady",
		"PodCompleted", "PodFailed", "UnknownContainerStatuses", "RestartAllContainersStarted",
		"DeletionByPodGC", "DeletionByTaintManager", "EvictionByEvictionAPI",
		"PreemptionByScheduler", "PreemptionByKubeScheduler", "TerminationByKubelet":
		return true
	}
	return false
}

// isPodReason reports whether the kubelet or a controller writes this reason to a pod's status.
func isPodReason(word string) bool {
	switch word {
	case "Evicted", "NodeLost", "NodeShutdown", "Terminated", "Shutdown", "Preempting", "DeadlineExceeded",
		"NodeAffinity", "NodePorts", "HostPort", "UnexpectedAdmissionError", "UnexpectedPredicateFailureType",
		"OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods", "TopologyAffinityError",
		"AppArmor", "SysctlForbidden", "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch",
		"PodFeatureUnsupported", "PodLevelResourcesNotSupported", "InitContainerRestartPolicyForbidden",
		"SupplementalGroupsPolicyNotSupported", "VolumeAttachmentLimitExceeded", "InvalidNodeInfo",
		"Unschedulable", "SchedulingGated", "SchedulerError", "UnknownReason", "Unknown":
		return true
	}
	return false
}

// isKubernetesMessage reports whether text is a known message of the node condition Ready.
func isKubernetesMessage(text string) bool {
	switch text {
	case "Kubelet stopped posting node status.", "Kubelet never posted node status.",
		"kubelet is posting ready status", "kubelet is posting ready status. AppArmor enabled",
		"container runtime is down", "container runtime status check may not have completed yet",
		"node is shutting down":
		return true
	}
	return false
}

func isKubernetesNamespace(word string) bool {
	switch word {
	case "default", "kube-system", "kube-public", "kube-node-lease":
		return true
	}
	return false
}

func isKubernetesService(namespace, word string) bool {
	switch namespace + "/" + word {
	case "kube-system/kube-scheduler", "kube-system/kube-controller-manager", "kube-system/etcd",
		"kube-system/kube-dns", "default/kubernetes":
		return true
	}
	return false
}

func isKubernetesOwner(kind string) bool {
	switch kind {
	case "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job":
		return true
	}
	return false
}

// isKubernetesManager reports whether word is a known field manager, or a known controller in a managed-by label.
func isKubernetesManager(word string) bool {
	switch word {
	case "kubelet", "kube-controller-manager", "kube-scheduler", "kube-apiserver", "k3s", "kubelite",
		"kubectl", "kubectl-annotate", "kubectl-client-side-apply", "kubectl-create", "kubectl-edit",
		"kubectl-expose", "kubectl-label", "kubectl-last-applied", "kubectl-patch", "kubectl-replace",
		"kubectl-rollout", "kubectl-run", "kubectl-set", "kubectl-taint",
		"endpoint-controller":
		return true
	}
	return event.IsSliceManager(word)
}

// isKubernetesTaint reports whether Kubernetes itself or a known tool sets this taint. It compares whole keys, because
// a key such as node-role.kubernetes.io/NAME contains an arbitrary name.
func isKubernetesTaint(key string) bool {
	switch key {
	case "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/unschedulable",
		"node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure",
		"node.kubernetes.io/network-unavailable", "node.kubernetes.io/out-of-service",
		"node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown",
		"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master":
		return true
	}
	return isDepartureTaint(key)
}

// isDepartureTaint reports whether an autoscaler, a cloud or a maintenance tool uses this taint to announce that a node
// will leave the cluster. Replays need these taints, and the taints do not identify a cluster.
func isDepartureTaint(key string) bool {
	switch key {
	case "DeletionCandidateOfClusterAutoscaler", "UpdateInProgress", "aws-node-termination-handler/rebalance-recommendation",
		"deployment.machine.sapcloud.io/prefer-no-schedule":
		return true
	}
	return event.IsRemovalTaint(key)
}

// isKubernetesLabel reports whether Kubernetes itself sets or recommends this label for pods.
func isKubernetesLabel(key string) bool {
	switch key {
	case "pod-template-hash", "controller-revision-hash", "pod-template-generation",
		"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
		"job-name", "controller-uid", "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid",
		"batch.kubernetes.io/job-completion-index",
		"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version",
		"app.kubernetes.io/component", "app.kubernetes.io/part-of", "app.kubernetes.io/managed-by":
		return true
	}
	return false
}

// isCloud reports whether word is the prefix of a known cloud's provider IDs.
func isCloud(word string) bool {
	switch word {
	case "aws", "azure", "baremetalhost", "digitalocean", "equinixmetal", "gce", "hcloud", "ibm", "k3s", "kind", "linode",
		"nutanix", "oci", "openstack", "ovhcloud", "proxmox", "scaleway", "vsphere":
		return true
	}
	return false
}

func isTaintEffect(word string) bool {
	return word == "NoSchedule" || word == "PreferNoSchedule" || word == "NoExecute"
}

func isPodPhase(word string) bool {
	switch word {
	case "Pending", "Running", "Succeeded", "Failed", "Unknown":
		return true
	}
	return false
}

func isContainerState(word string) bool {
	return word == "running" || word == "waiting" || word == "terminated"
}

func isServiceType(word string) bool {
	switch word {
	case "ClusterIP", "NodePort", "LoadBalancer", "ExternalName":
		return true
	}
	return false
}

// release keeps the first three numbers of a version, as in v1.36.3, and the vendor suffix of EKS and GKE. Replays need
// the vendor, because EKS and GKE do not let users set control-plane flags.
func release(version string) string {
	numbers := bareRelease(version)
	suffix := strings.TrimPrefix(version, numbers)
	for _, vendor := range [...]string{"-eks-", "-gke."} {
		if numbers != "" && strings.HasPrefix(suffix, vendor) {
			return numbers + vendor + "0"
		}
	}
	return numbers
}

func bareRelease(version string) string {
	bare, dots := strings.TrimPrefix(version, "v"), 0
	end := strings.IndexFunc(bare, func(r rune) bool {
		if r == '.' {
			dots++
			return dots > 2
		}
		return r < '0' || r > '9'
	})
	switch {
	case end < 0:
		return version
	case end == 0:
		return ""
	}
	return strings.TrimSuffix(version, bare) + strings.TrimRight(bare[:end], ".")
}
