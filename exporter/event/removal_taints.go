package event

import "slices"

// removalTaints lists the taints that announce the removal, drain or reboot of a node. The Cluster Autoscaler,
// Karpenter, cloud node termination handlers, Cluster API and node maintenance operators set them.
var removalTaints = []string{
	"ToBeDeletedByClusterAutoscaler",
	"karpenter.sh/disrupted", "karpenter.sh/disruption",
	"aws-node-termination-handler/asg-lifecycle-termination", "aws-node-termination-handler/scheduled-maintenance",
	"aws-node-termination-handler/spot-itn",
	"cloud.google.com/impending-node-termination",
	"node.cluster.x-k8s.io/outdated-revision", "medik8s.io/drain",
}

// IsRemovalTaint reports whether a taint with this key announces the removal, drain or reboot of its node.
func IsRemovalTaint(key string) bool { return slices.Contains(removalTaints, key) }
