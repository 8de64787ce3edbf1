package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// table holds pods by UID, including those that were deleted recently.
type table map[event.UID]*Pod

// each calls yield for each pod that has not been deleted.
func (t table) each(yield func(*Pod) bool) {
	for _, p := range t {
		if !p.isDeleted() && !yield(p) {
			return
		}
	}
}

func (p *Pod) isDeleted() bool { return p.past != nil && p.past.deletedAt != 0 }

// keepDeletedFor is the time for which the state of a deleted pod is kept, because the pod watch can be ahead of the other
// watches.
const keepDeletedFor = 30 * time.Second

// Find returns an existing pod, or nil.
func (x *Pods) Find(id event.UID) *Pod {
	if p, deleted := x.Recall(id); !deleted {
		return p
	}
	return nil
}

// Recall returns a pod that exists or was deleted recently, or nil.
func (x *Pods) Recall(id event.UID) (p *Pod, deleted bool) {
	p = x.pods[id]
	return p, p != nil && p.isDeleted()
}

// rememberDeleted keeps a deleted pod. Its RemovalCause stays Unknown if the deletion was inferred from a list, because
// kubeflap then did not see who or what deleted the pod.
func (x *Pods) rememberDeleted(p *Pod, e event.Event) {
	if p.RemovalCause == cause.Unknown && !e.IsInferred() {
		p.RemovalCause = cause.PodDeleted
	}
	p.note().deletedAt = x.watches.Moment(e.Seen)
	x.watches.Schedule(e.Seen.Add(keepDeletedFor), watches.RankForget, "", func() {
		if x.pods[p.ID] == p {
			delete(x.pods, p.ID)
		}
	})
}

// Forget drops old appearances.
func (x *Pods) Forget() { x.appeared.forget(x.watches.Now()) }
