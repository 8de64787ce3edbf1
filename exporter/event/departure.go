package event

import "slices"

// removalTaints announce that a node will be removed, drained or rebooted: by the Cluster Autoscaler, Karpenter, the clouds' node termination
// handlers, Cluster API and node maintenance operators.
var removalTaints = []string{
	"ToBeDeletedByClusterAutoscaler",
	"karpenter.sh/disrupted", "karpenter.sh/disruption",
	"aws-node-termination-handler/asg-lifecycle-termination", "aws-node-termination-handler/scheduled-maintenance",
	"aws-node-termination-handler/spot-itn",
	"cloud.google.com/impending-node-termination",
	"node.cluster.x-k8s.io/outdated-revision", "medik8s.io/drain",
}

// IsRemovalTaint reports whether a taint with this key announces that its node will be removed, drained or rebooted.
func IsRemovalTaint(key string) bool { return slices.Contains(removalTaints, key) }
