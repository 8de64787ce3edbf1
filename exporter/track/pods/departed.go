package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
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

// rememberDeleted keeps a deleted pod. Its RemovalCause stays Unknown if the deletion was inferred from a list, because
// kubeflap then did not see who or what deleted the pod.
func (x *Pods) rememberDeleted(id event.UID, p *Pod, e event.Event) {
	if p.RemovalCause == cause.Unknown && !e.IsInferred() {
		p.RemovalCause = cause.PodDeleted
	}
	gone := &deletedPod{id, p, e.Seen}
	x.recentlyDeleted[id] = gone
	x.deletions = append(x.deletions, gone)
}

// Forget drops deleted pods after a while.
func (x *Pods) Forget() {
	for len(x.deletions) > 0 && x.watches.Now().Sub(x.deletions[0].at) > keepDeletedFor {
		if gone := watches.Take(&x.deletions); x.recentlyDeleted[gone.id] == gone {
			delete(x.recentlyDeleted, gone.id)
		}
	}
}
