package event

import "strings"

// Workload is a Deployment or a StatefulSet, reduced to what shows that it has scaled its pods down or replaces them.
type Workload struct {
	Meta
	// Resource is KindDeployment or KindStatefulSet. In recordings, the event contains it.
	Resource Kind `json:"-"`
	// Replicas is spec.replicas. The API server sets it to 1 if a client omits it.
	Replicas int32 `json:"replicas"`
	// Selector is spec.selector.matchLabels, which all pods of the workload have. It is nil if the selector also has
	// expressions. Do not modify the map, because several objects can share it.
	Selector map[string]string `json:"selector,omitempty"`
	// Generation is metadata.generation, which increases with each change of the spec, but not of the status.
	Generation int64 `json:"generation,omitempty"`
	// UpdateRevision is status.updateRevision, the revision of new pods. Only StatefulSets have it.
	UpdateRevision string `json:"updateRevision,omitempty"`
}

// Kind returns KindDeployment or KindStatefulSet.
func (w *Workload) Kind() Kind { return w.Resource }

// Named returns the name of the workload.
func (w *Workload) Named() WorkloadName {
	if w.Resource == KindStatefulSet {
		return WorkloadName{workloadStatefulSet, w.Namespace, w.Name}
	}
	return WorkloadName{workloadDeployment, w.Namespace, w.Name}
}

// WorkloadName identifies a Deployment or a StatefulSet. Kind is "Deployment" or "StatefulSet".
type WorkloadName struct{ Kind, Namespace, Name string }

// Resource returns the watched resource of the workload, or NumKinds for other owners of pods.
func (n WorkloadName) Resource() Kind {
	switch n.Kind {
	case workloadDeployment:
		return KindDeployment
	case workloadStatefulSet:
		return KindStatefulSet
	}
	return Kind(NumKinds)
}

const (
	workloadDeployment  = "Deployment"
	workloadStatefulSet = "StatefulSet"
	// labelTemplateHash is DefaultDeploymentUniqueLabelKey in apps/v1. A Deployment sets it on its ReplicaSets and pods.
	// The name of such a ReplicaSet ends with the label's value (see getNewReplicaSet in pkg/controller/deployment).
	labelTemplateHash = "pod-template-hash"
)

// Workload returns the Deployment or the StatefulSet that manages the pod. ok is false if there is none, or if it is
// unknown.
func (p *Pod) Workload() (w WorkloadName, ok bool) {
	kind, owner, _ := strings.Cut(p.Owner, "/")
	switch kind {
	case workloadStatefulSet:
		return WorkloadName{workloadStatefulSet, p.Namespace, owner}, true
	case "ReplicaSet":
		hash := p.Labels[labelTemplateHash]
		deployment, ok := strings.CutSuffix(owner, "-"+hash)
		if ok && hash != "" && deployment != "" {
			return WorkloadName{workloadDeployment, p.Namespace, deployment}, true
		}
	}
	return WorkloadName{}, false
}
