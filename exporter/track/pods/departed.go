package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// departedFor is the time for which the state of a deleted pod is kept.
const departedFor = 30 * time.Second

// departure is the stored state of a deleted pod. It is kept because the pod watch can be ahead of the other watches.
type departure struct {
	pod   *Pod
	cause cause.Cause
	at    time.Time
}

// departed is a deleted pod and the time of its deletion.
type departed struct {
	id event.UID
	at time.Time
}

// Departed returns why an address of a recently deleted pod was lost. Set notReady if the address became not ready
// before the deletion. In this case, Departed returns why the pod was not Ready. ok is false if the pod was not deleted
// recently.
func (x *Pods) Departed(id event.UID, notReady bool) (why cause.Cause, ok bool) {
	d, ok := x.departed[id]
	if ok && notReady && d.pod.WasReady() && d.pod.cause != cause.Unknown {
		return d.pod.cause, true
	}
	return d.cause, ok
}

func (x *Pods) depart(id event.UID, p *Pod) {
	why := p.leaving
	if why == cause.Unknown {
		why = cause.PodDeleted
	}
	now := x.watches.Now()
	x.departed[id] = departure{p, why, now}
	x.departures.Push(departed{id, now})
}

// Forget drops expired data about deleted pods and about namespaces without pods.
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
