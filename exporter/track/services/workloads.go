package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
)

// remembered is how long a fall of the replicas is remembered. A class can depend on falls in the 10 minutes before a loss,
// and is final 5 minutes after the loss.
const remembered = 20 * time.Minute

// workloads holds a cluster's Deployments and StatefulSets: how many pods they want, and when they were last updated. kubeflap
// works without them: what they would show is then unknown.
type workloads struct {
	*facts
	// byNamespace holds the workloads by namespace.
	byNamespace map[string]map[event.WorkloadName]*workload
}

// workload is a Deployment or a StatefulSet.
type workload struct {
	uid event.UID
	// selector contains labels that all pods of the workload have. It is empty if they are unknown.
	selector   pods.Selector
	generation int64
	// revision is a hash of updateRevision, or 0 if the latter is empty.
	revision uint64
	// updated is the time of the last update that kubeflap saw, or 0: the spec of a Deployment changed, but not its replicas, or
	// the updateRevision of a StatefulSet changed. falls holds the last falls of the replicas.
	updated  event.Moment
	falls    []fall
	replicas int32
	// seen is set if the workload has been seen since the last list began.
	seen bool
}

// fall is a fall of the replicas by a number of pods. It explains that as many pods left. pods holds those that it has
// explained.
type fall struct {
	at   event.Moment
	by   int32
	pods []event.UID
}

// apply handles an event of a Deployment or a StatefulSet.
func (q *workloads) apply(e event.Event, o *event.Workload) {
	name := o.Named()
	some := q.byNamespace[o.Namespace]
	w := some[name]
	known := w != nil && w.uid == o.UID
	if e.Type == event.Deleted {
		if known {
			delete(some, name)
		}
		if len(some) == 0 {
			delete(q.byNamespace, o.Namespace)
		}
		return
	}
	if some == nil {
		some = map[event.WorkloadName]*workload{}
		q.byNamespace[o.Namespace] = some
	}
	if !known { // a workload's selector is immutable
		w = &workload{uid: o.UID, selector: pods.NewSelector(o.Selector)}
		some[name] = w
	}
	w.set(o, known && e.Type == event.Modified, q.watches.Moment(e.Seen))
}

// set updates the state. A list shows that a workload has changed, but not when. Only the events of a watch count as
// updates.
func (w *workload) set(o *event.Workload, watched bool, now event.Moment) {
	revision := uint64(0)
	if o.UpdateRevision != "" {
		revision = event.Hash(o.UpdateRevision)
	}
	updated := w.revision != 0 && revision != 0 && revision != w.revision ||
		o.Resource == event.KindDeployment && o.Generation > w.generation && o.Replicas == w.replicas
	if updated && watched {
		w.updated = now
	}
	if by := w.replicas - o.Replicas; by > 0 && watched {
		w.falls = slices.DeleteFunc(w.falls, func(f fall) bool { return time.Duration(now-f.at) > remembered })
		w.falls = append(w.falls, fall{at: now, by: by})
	}
	w.seen, w.replicas, w.generation, w.revision = true, o.Replicas, o.Generation, revision
}

func (q *workloads) find(w event.WorkloadName) *workload { return q.byNamespace[w.Namespace][w] }

// wants returns the number of pods that a workload wants. known is false if the workload does not exist, or if it can
// have changed unseen.
func (q *workloads) wants(w event.WorkloadName) (replicas int32, known bool) {
	is := q.find(w)
	if is == nil || !q.watches.Watched(w.Resource()) {
		return 0, false
	}
	return is.replicas, true
}

// scaledDown reports whether a workload gave up a pod because its replicas fell after `since`. A fall explains only as many
// pods as the difference, so ask only about pods that their owner may have deleted.
func (q *workloads) scaledDown(w event.WorkloadName, pod event.UID, since time.Time) bool {
	is := q.find(w)
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

// demand returns how many pods some workloads want, and those whose pods a Service selects. `none` is set if it is known that
// they want none. A workload whose pods' labels are unknown can have pods that the Service selects.
func (q *workloads) demand(namespace string, by pods.Selector, some ...event.WorkloadName) (pods int32, none bool) {
	known := true
	add := func(w event.WorkloadName) {
		replicas, ok := q.wants(w)
		pods, known, none = pods+replicas, known && ok, true
	}
	for name, w := range q.byNamespace[namespace] {
		switch {
		case by.SelectsAll(w.selector):
			add(name)
		case len(w.selector) == 0 && len(by) > 0 && w.replicas > 0:
			known = false
		}
	}
	for _, w := range some {
		add(w)
	}
	return pods, none && known && pods == 0
}
