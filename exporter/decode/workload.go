package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// Fields of DeploymentSpec and StatefulSetSpec, of LabelSelector and of StatefulSetStatus.
const (
	workloadReplicas = 1
	workloadSelector = 2

	selectorLabels      = 1
	selectorExpressions = 2

	statusUpdateRevision = 7
)

// workload reads a Deployment or a StatefulSet. It skips the template of the pods.
func (r *Reader) workload(kind event.Kind, x encoded) *event.Workload {
	spec := r.fields(x.spec)
	w := &event.Workload{Meta: r.meta(x.meta), Resource: kind, Replicas: 1, Generation: integer(r.field(x.meta, metaGeneration))}
	if replicas := spec[workloadReplicas]; replicas != nil {
		w.Replicas = int32(integer(replicas))
	}
	if s := spec[workloadSelector]; r.field(s, selectorExpressions) == nil && r.field(s, selectorLabels) != nil {
		w.Selector = r.labels(s, selectorLabels)
	}
	if kind == event.KindStatefulSet {
		w.UpdateRevision = r.text(r.field(x.status, statusUpdateRevision))
	}
	return w
}
