package decode

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Lists of NodeSpec and NodeStatus.
const (
	nodeTaints     = 5
	nodeConditions = 4
)

func (r *Reader) node(x encoded) *event.Node {
	spec, info := r.fields(x.spec), r.fields(r.fields(x.status)[7])
	node := &event.Node{
		Meta: r.meta(x.meta), Labels: map[string]string{}, Created: r.time(r.field(x.meta, metaCreation)), DeletionTimestamp: r.time(r.field(x.meta, metaDeletion)),
		ProviderID: r.text(spec[3]), Unschedulable: boolean(spec[4]), BootID: r.text(info[3]), KubeletVersion: r.text(info[7]),
	}
	known := event.NodeLabels()
	for entry := range r.list(x.meta, metaLabels) {
		label := r.fields(entry)
		if slices.ContainsFunc(known, func(l event.NodeLabel) bool { return l.Key == string(label[1]) }) {
			node.Labels[r.text(label[1])] = r.text(label[2])
		}
	}
	for taint := range r.list(x.spec, nodeTaints) {
		f := r.fields(taint)
		node.Taints = append(node.Taints, event.Taint{
			Key: r.text(f[1]), Value: r.text(f[2]), Effect: r.text(f[3]), Added: r.time(f[4]),
		})
	}
	for condition := range r.list(x.status, nodeConditions) {
		f := r.fields(condition)
		switch kind := event.LifecycleType(f[1]); {
		case kind == "Ready":
			if node.Ready == nil {
				node.Ready = r.condition(f)
				node.Ready.LastHeartbeatTime = r.time(f[3])
			}
		case kind.Known():
			c := r.condition(f)
			node.Lifecycle = append(node.Lifecycle, event.LifecycleCondition{
				Type: kind, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime,
			})
		case string(f[2]) == "True" && event.IsProblem(string(f[1])):
			node.Problems = append(node.Problems, event.Problem{
				Type: r.text(f[1]), Reason: r.text(f[5]), Message: r.text(f[6]), LastTransitionTime: r.time(f[4]),
			})
		}
	}
	return node
}

// condition reads a condition of a node or a pod.
func (r *Reader) condition(f fields) *event.Condition {
	return &event.Condition{
		Status: event.ParseStatus(string(f[2])), LastTransitionTime: r.time(f[4]),
		Reason: r.text(f[5]), Message: r.text(f[6]),
	}
}

func (r *Reader) lease(x encoded) *event.Lease {
	spec := r.fields(x.spec)
	return &event.Lease{Meta: r.meta(x.meta), DurationSeconds: int32(integer(spec[2])), RenewTime: r.time(spec[4])}
}

// labelHostname is corev1.LabelHostname. API servers set it on their Lease (see completedConfig.New in
// pkg/controlplane).
const labelHostname = "kubernetes.io/hostname"

func (r *Reader) controlPlaneLease(x encoded) *event.ControlPlaneLease {
	spec := r.fields(x.spec)
	return &event.ControlPlaneLease{
		Meta: r.meta(x.meta), Holder: r.text(spec[1]), RenewTime: r.time(spec[4]),
		Host: r.text(r.entry(x.meta, metaLabels, labelHostname)),
	}
}
