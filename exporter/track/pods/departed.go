package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// keepDeletedFor is the time for which the state of a deleted pod is kept.
const keepDeletedFor = 30 * time.Second

// deletedPod is the stored state of a deleted pod. It is kept because the pod watch can be ahead of the other watches.
type deletedPod struct {
	id  event.UID
	pod *Pod
	at  time.Time
}

// Recall returns a pod that exists or was deleted recently, or nil.
func (x *Pods) Recall(id event.UID) (p *Pod, deleted bool) {
	if p := x.pods[id]; p != nil {
		return p, false
	}
	if gone := x.recentlyDeleted[id]; gone != nil {
		return gone.pod, true
	}
	return nil, false
}

// rememberDeleted keeps a deleted pod. Its removalCause stays Unknown if the deletion was inferred from a list, because
// kubeflap then did not see who or what deleted the pod.
func (x *Pods) rememberDeleted(id event.UID, p *Pod, e event.Event) {
	if p.removalCause == cause.Unknown && !e.IsInferred() {
		p.removalCause = cause.PodDeleted
	}
	gone := &deletedPod{id, p, e.Seen}
	x.recentlyDeleted[id] = gone
	x.deletions.Push(gone)
}

// Forget drops expired data about deleted pods and about namespaces without pods.
func (x *Pods) Forget() {
	now := x.watches.Now()
	for q := &x.deletions; !q.IsEmpty() && now.Sub(q.Front().at) > keepDeletedFor; {
		if gone := q.Take(); x.recentlyDeleted[gone.id] == gone {
			delete(x.recentlyDeleted, gone.id)
		}
	}
	x.namespaces.Forget(now)
}
