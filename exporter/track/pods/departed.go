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
	// cause is the reason for the removal of the pod's addresses. It is Unknown if the deletion was inferred from a list,
	// because kubeflap then did not see who or what deleted the pod.
	cause cause.Cause
	at    time.Time
}

// deletion holds the UID of a deleted pod and the time of its deletion.
type deletion struct {
	id event.UID
	at time.Time
}

// Departed returns why an address of a recently deleted pod was lost. Set notReady if the address became not ready but
// was not removed. If the pod was not Ready when it was deleted, Departed then returns why the pod was not Ready. ok is
// false if the pod was not deleted recently.
func (x *Pods) Departed(id event.UID, notReady bool) (why cause.Cause, ok bool) {
	d, ok := x.recentlyDeleted[id]
	if ok && notReady && d.pod.WasReady() && d.pod.cause != cause.Unknown {
		return d.pod.cause, true
	}
	return d.cause, ok
}

func (x *Pods) rememberDeleted(id event.UID, p *Pod, e event.Event) {
	why := p.removalCause
	if why == cause.Unknown && !e.IsInferred() {
		why = cause.PodDeleted
	}
	x.recentlyDeleted[id] = deletedPod{p, why, e.Seen}
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
