package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
)

// Wants returns the number of pods that a workload wants. known is false if the workload does not exist, or if it can
// have changed unseen.
func (q *workloads) Wants(w event.WorkloadName) (replicas int32, known bool) {
	is := q.byNamespace[w.Namespace][w]
	if is == nil || !q.watches.Watched(w.Resource()) {
		return 0, false
	}
	return is.replicas, true
}

func (q *workloads) wantsNone(w event.WorkloadName) bool {
	replicas, known := q.Wants(w)
	return known && replicas == 0
}

// UpdatedAt returns the time at which kubeflap last saw an update of a workload, or zero. The spec of a Deployment changed,
// but not its replicas, or the updateRevision of a StatefulSet changed.
func (q *workloads) UpdatedAt(w event.WorkloadName) (at time.Time) {
	if is := q.byNamespace[w.Namespace][w]; is != nil {
		at = q.watches.Time(is.updated)
	}
	return at
}

// scaledDown reports whether a workload gave up a pod because its replicas fell after `since`. A fall explains only as many
// pods as the difference, so ask only about pods that their owner may have deleted.
func (q *workloads) scaledDown(w event.WorkloadName, pod event.UID, since time.Time) bool {
	is := q.byNamespace[w.Namespace][w]
	if is == nil {
		return false
	}
	if slices.ContainsFunc(is.falls, func(f fall) bool { return slices.Contains(f.pods, pod) }) {
		return true
	}
	i := slices.IndexFunc(is.falls, func(f fall) bool { return !q.watches.Time(f.at).Before(since) && len(f.pods) < int(f.by) })
	if i < 0 {
		return false
	}
	is.falls[i].pods = append(is.falls[i].pods, pod)
	return true
}

// demand is what is known about how many pods some workloads want. `some` is set if one wants pods, none if one wants none,
// and unknown if it is unknown what another one wants.
type demand struct{ some, none, unknown bool }

// add adds the demand of a workload.
func (d *demand) add(replicas int32, known bool) {
	d.some, d.none, d.unknown = d.some || known && replicas > 0, d.none || known && replicas == 0, d.unknown || !known
}

// isNone reports whether it is known that no workload wants pods.
func (d demand) isNone() bool { return d.none && !d.some && !d.unknown }

// demandFor returns the demand of the workloads whose pods a Service selects. A workload that wants pods, but whose pods'
// labels are unknown, makes the demand unknown.
func (q *workloads) demandFor(namespace string, by pods.Selector) (d demand) {
	for name, w := range q.byNamespace[namespace] {
		switch {
		case by.SelectsAll(w.selector):
			d.add(w.replicas, q.watches.Watched(name.Resource()))
		case len(w.selector) == 0 && len(by) > 0 && w.replicas > 0:
			d.unknown = true
		}
	}
	return d
}

// NoneWanted reports whether it is known that the workloads whose pods a Service selects want no pods.
func (q *workloads) NoneWanted(namespace string, by pods.Selector) bool {
	return q.demandFor(namespace, by).isNone()
}
