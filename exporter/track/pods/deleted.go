package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// keepDeletedFor is the time for which the state of a deleted pod is kept, because the pod watch can be ahead of the other
// watches.
const keepDeletedFor = 30 * time.Second

// Find returns an existing pod, or nil.
func (x *Pods) Find(id event.UID) *Pod { return x.pods[id] }

// Recall returns a pod that exists or was deleted recently, or nil.
func (x *Pods) Recall(id event.UID) (p *Pod, deleted bool) {
	if p = x.pods[id]; p != nil {
		return p, false
	}
	p = x.deleted[id]
	return p, p != nil
}

// rememberDeleted keeps a deleted pod. Its RemovalCause stays Unknown if the deletion was inferred from a list, because
// kubeflap then did not see who or what deleted the pod.
func (x *Pods) rememberDeleted(p *Pod, e event.Event) {
	if p.RemovalCause == cause.Unknown && !e.IsInferred() {
		p.RemovalCause = cause.PodDeleted
	}
	delete(x.pods, p.ID)
	x.deleted[p.ID] = p
	x.watches.Schedule(e.Seen.Add(keepDeletedFor), watches.RankForget, func() {
		if x.deleted[p.ID] == p {
			delete(x.deleted, p.ID)
		}
	})
}
