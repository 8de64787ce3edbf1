package classes

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

// Updated returns the time at which kubeflap last saw an update of a workload, if that is not before `since`. The spec of a
// Deployment changed, but not its replicas, or the updateRevision of a StatefulSet changed. ok is false if it is unknown.
func (x *Workloads) Updated(w event.WorkloadName, since time.Time) (at time.Time, ok bool) {
	is := x.find(w)
	if is == nil || is.updated == 0 {
		return at, false
	}
	at = x.watches.Time(is.updated)
	return at, !at.Before(since)
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

// Demand is what is known about how many pods some workloads want. Some is set if one wants pods, None if one wants none, and
// Unknown if it is unknown what another one wants.
type Demand struct{ Some, None, Unknown bool }

// Add adds the demand of a workload.
func (d *Demand) Add(replicas int32, known bool) {
	d.Some, d.None, d.Unknown = d.Some || known && replicas > 0, d.None || known && replicas == 0, d.Unknown || !known
}

// IsNone reports whether it is known that no workload wants pods.
func (d Demand) IsNone() bool { return d.None && !d.Some && !d.Unknown }

// DemandFor returns the demand of the workloads whose pods a Service selects. A workload that wants pods, but whose pods'
// labels are unknown, makes the demand unknown.
func (x *Workloads) DemandFor(namespace string, selector pods.Selector) (d Demand) {
	for k, w := range x.byNamespace[namespace] {
		switch {
		case selector.SelectsAll(w.selector):
			d.Add(w.replicas, x.watches.Watched(k.kind))
		case len(w.selector) == 0 && len(selector) > 0 && w.replicas > 0:
			d.Unknown = true
		}
	}
	return d
}

func (x *Workloads) find(w event.WorkloadName) *workload {
	return x.byNamespace[w.Namespace][key{w.Resource(), w.Name}]
}
