package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// departedFor is how long a deleted pod can explain the loss of its addresses.
const departedFor = 30 * time.Second

// departure is what is kept of a deleted pod: the watch of pods may be ahead of the others.
type departure struct {
	pod   *Pod
	cause cause.Cause
	at    time.Time
}

// departed is a deleted pod and when it was deleted.
type departed struct {
	id event.UID
	at time.Time
}

// Departed is why the addresses of a recently deleted pod were lost; ok is false if no such pod was deleted. An address that was not ready before
// the deletion was lost for the same cause as the pod's readiness.
func (x *Pods) Departed(id event.UID, notReady bool) (why cause.Cause, ok bool) {
	d, ok := x.departed[id]
	if ok && notReady && d.pod.WasReady() && d.pod.cause != cause.Unknown {
		return d.pod.cause, true
	}
	return d.cause, ok
}

// depart keeps what explains the losses of a deleted pod.
func (x *Pods) depart(id event.UID, p *Pod) {
	why := p.leaving
	if why == cause.Unknown {
		why = cause.PodDeleted
	}
	now := x.watches.Now()
	x.departed[id] = departure{p, why, now}
	x.departures.Push(departed{id, now})
}

// Forget drops what was kept for a while: deleted pods, and namespaces without pods.
func (x *Pods) Forget() {
	now := x.watches.Now()
	for q := &x.departures; !q.IsEmpty() && now.Sub(q.Front().at) > departedFor; {
		gone := q.Take()
		if x.departed[gone.id].at.Equal(gone.at) {
			delete(x.departed, gone.id)
		}
	}
	x.namespaces.Forget(now)
}
