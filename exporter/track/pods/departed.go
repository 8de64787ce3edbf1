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
	pod *Pod
	at  time.Time
}

// deletion holds the UID of a deleted pod and the time of its deletion.
type deletion struct {
	id event.UID
	at time.Time
}

// Recall returns a pod that exists or was deleted recently, or nil.
func (x *Pods) Recall(id event.UID) (p *Pod, deleted bool) {
	if p := x.pods[id]; p != nil {
		return p, false
	}
	p = x.recentlyDeleted[id].pod
	return p, p != nil
}

// rememberDeleted keeps a deleted pod. Its removalCause stays Unknown if the deletion was inferred from a list, because
// kubeflap then did not see who or what deleted the pod.
func (x *Pods) rememberDeleted(id event.UID, p *Pod, e event.Event) {
	if p.removalCause == cause.Unknown && !e.IsInferred() {
		p.removalCause = cause.PodDeleted
	}
	x.recentlyDeleted[id] = deletedPod{p, e.Seen}
	x.deletions.Push(deletion{id, e.Seen})
}

// Forget drops expired data about deleted pods and about namespaces without pods.
func (x *Pods) Forget() {
	now := x.watches.Now()
	for q := &x.deletions; !q.IsEmpty() && now.Sub(q.Front().at) > keepDeletedFor; {
		gone := q.Take()
		if x.recentlyDeleted[gone.id].at.Equal(gone.at) {
			delete(x.recentlyDeleted, gone.id)
		}
	}
	x.namespaces.Forget(now)
}
