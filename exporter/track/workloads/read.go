package workloads

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
)

// Wants returns the number of pods that a workload wants. known is false if the workload does not exist, or if it can
// have changed unseen.
func (x *Workloads) Wants(w event.WorkloadName) (replicas int32, known bool) {
	is := x.find(w)
	if is == nil || !x.watches.Watched(w.Resource()) {
		return 0, false
	}
	return is.replicas, true
}

// RolledOut reports whether kubeflap saw an update of a workload after `since` and not after `until`. The spec of a
// Deployment changed, but not its replicas, or the updateRevision of a StatefulSet changed. RolledOut returns false if
// it is unknown.
func (x *Workloads) RolledOut(w event.WorkloadName, since, until time.Time) bool {
	is := x.find(w)
	return is != nil && slices.ContainsFunc(is.updates, func(m event.Moment) bool {
		at := x.watches.Time(m)
		return !at.Before(since) && !at.After(until)
	})
}

// ScaledDown reports whether a workload gave up a pod because its replicas fell after `since`. A fall explains only as many
// pods as the difference, so ask only about pods that their owner may have deleted.
func (x *Workloads) ScaledDown(w event.WorkloadName, pod event.UID, since time.Time) bool {
	is := x.find(w)
	if is == nil {
		return false
	}
	if slices.ContainsFunc(is.falls, func(f fall) bool { return slices.Contains(f.pods, pod) }) {
		return true
	}
	i := slices.IndexFunc(is.falls, func(f fall) bool { return !x.watches.Time(f.at).Before(since) && len(f.pods) < int(f.by) })
	if i < 0 {
		return false
	}
	is.falls[i].pods = append(is.falls[i].pods, pod)
	return true
}

// EmptyFor reports whether a Service selects the pods of a workload that wants none, and of no workload that wants some.
// It returns false if it is unknown.
func (x *Workloads) EmptyFor(namespace string, selector pods.Selector) bool {
	empty := false
	for k, w := range x.byNamespace[namespace] {
		if !selector.SelectsAll(w.selector) {
			continue
		}
		if w.replicas > 0 || !x.watches.Watched(k.kind) {
			return false
		}
		empty = true
	}
	return empty
}

func (x *Workloads) find(w event.WorkloadName) *workload {
	return x.byNamespace[w.Namespace][key{w.Resource(), w.Name}]
}
