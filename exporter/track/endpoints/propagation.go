package endpoints

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// propagationLimit is the longest time after its pod's change at which an address's change still counts as its consequence.
	propagationLimit = time.Minute
	// sideBySide is how much later than an address's change its pod's may be seen, although the pod changed first. Each has a
	// watch of its own, and connections are read in batches (exporter/watch/batching).
	sideBySide = 50 * time.Millisecond
)

// propagation is an address's change that was seen before its pod's. It is reported if the pod's change is still seen.
type propagation struct {
	service *service
	change  transition.AddressFollowedPod
}

// observePropagation measures the time from a pod's change of Ready to that of its address.
func (x *Endpoints) observePropagation(s shift, a *addresses.Address, from, to addresses.State) {
	p := x.pods.Find(a.UID)
	ready := to == addresses.Ready
	// A broken watch delivers late, so the time would measure nothing.
	if p == nil || (from == addresses.Ready) == ready || !x.watches.Live(x.readFrom, s.at) {
		return
	}
	change := transition.AddressFollowedPod{At: at(s.at), Address: x.named(s.service, a), Ready: ready}
	if p.IsReady() != ready {
		x.notePending(s, change)
		return
	}
	turned := x.watches.Time(p.Turned())
	if turned.After(s.created) && turned.After(s.ledger.Changed) && s.at.Sub(turned) <= propagationLimit && x.watches.Live(event.KindPod, turned) {
		change.Delay = s.at.Sub(turned)
		x.losses.Report(s.service, change)
	}
}

// notePending keeps an address's change that its pod has not made yet. It is not the pod's if the Service changed, or
// publishes its addresses whatever their pods do.
func (x *Endpoints) notePending(s shift, change transition.AddressFollowedPod) {
	x.forgetPending(s.at)
	if s.at.After(s.created) && s.at.After(s.ledger.Changed) && !s.publish {
		x.pending = append(x.pending, propagation{s.service, change})
	}
}

// podTurned reports the addresses that were seen to follow a pod before the pod itself was seen to change. The propagation took no
// time that could be seen.
func (x *Endpoints) podTurned(id event.UID, ready bool, t time.Time) {
	x.forgetPending(t)
	if !x.watches.Live(event.KindPod, t) {
		return
	}
	x.pending = slices.DeleteFunc(x.pending, func(p propagation) bool {
		followed := p.change.ID == id && p.change.Ready == ready
		if followed {
			p.change.Time = t
			x.losses.Report(p.service, p.change)
		}
		return followed
	})
}

// forgetPending drops the changes for which no pod's change will be seen.
func (x *Endpoints) forgetPending(t time.Time) {
	x.pending = slices.DeleteFunc(x.pending, func(p propagation) bool { return t.Sub(p.change.Time) > sideBySide })
}
