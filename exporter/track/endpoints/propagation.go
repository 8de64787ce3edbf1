package endpoints

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// propagationLimit is the longest time after its pod's change at which an address's change still counts as its consequence.
	propagationLimit = time.Minute
	// sideBySide is how much later than an address's change its pod's may be seen, although the pod changed first. Each has a
	// watch of its own, and connections are read in batches (exporter/watch/batching).
	sideBySide = 50 * time.Millisecond
)

// propagation measures the time from a pod's change of Ready to that of its addresses.
type propagation struct {
	watches *watches.Watches
	losses  *losses.Losses
	// pending are the changes of addresses that were seen before their pods'. They are reported if the pods' changes are still seen.
	pending []pending
}

type pending struct {
	service *service
	change  transition.AddressFollowedPod
}

// observe records that the readiness of an address changed.
func (x *propagation) observe(s shift, p *pods.Pod, change transition.AddressFollowedPod) {
	if p.IsReady() != change.Ready {
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
func (x *propagation) notePending(s shift, change transition.AddressFollowedPod) {
	x.forgetPending(s.at)
	if s.at.After(s.created) && s.at.After(s.ledger.Changed) && !s.publish {
		x.pending = append(x.pending, pending{s.service, change})
	}
}

// podTurned reports the addresses that were seen to follow a pod before the pod itself was seen to change. The propagation took no
// time that could be seen.
func (x *propagation) podTurned(id event.UID, ready bool, t time.Time) {
	x.forgetPending(t)
	if !x.watches.Live(event.KindPod, t) {
		return
	}
	x.pending = slices.DeleteFunc(x.pending, func(p pending) bool {
		followed := p.change.ID == id && p.change.Ready == ready
		if followed {
			p.change.Time = t
			x.losses.Report(p.service, p.change)
		}
		return followed
	})
}

// forgetPending drops the changes for which no pod's change will be seen.
func (x *propagation) forgetPending(t time.Time) {
	x.pending = slices.DeleteFunc(x.pending, func(p pending) bool { return t.Sub(p.change.Time) > sideBySide })
}
