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
	// updated is the time of the last update, or 0. falls holds the last falls of the replicas.
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
