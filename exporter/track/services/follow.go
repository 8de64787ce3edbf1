package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// propagationLimit is the maximum time from a change of a pod to the change of its address. Longer times are not
	// reported.
	propagationLimit = time.Minute
	// sideBySide is the maximum time between an address change and the pod change that caused it, if kubeflap sees the
	// address change first. This order is possible because the two resources have separate watches, and connections are
	// read in batches (see exporter/watch/apiclient).
	sideBySide = 50 * time.Millisecond
)

// propagation measures the time from a change of a pod's Ready condition to the corresponding change of the pod's
// addresses.
type propagation struct {
	*facts
	counts Propagations
	// `pending` contains the address changes that were seen before the corresponding pod changes.
	pending []pending
}

// Propagations counts the propagations of pods' readiness changes to their addresses. Slow counts those that took longer
// than slowAfter.
type Propagations struct{ All, Slow uint64 }

// slowAfter is the time after which a propagation counts as slow. It is a bucket of the histogram of propagation times.
const slowAfter = 5 * time.Second

type pending struct {
	service *service
	change  transition.AddressFollowedPod
}

// observe records a change of an address's readiness. If the corresponding change of the pod has not been seen yet, it
// stores the change of the address. It ignores changes due to the creation of the Service, a new selector, or
// publishNotReadyAddresses.
func (x *propagation) observe(s *service, p *pods.Pod, change transition.AddressFollowedPod) {
	t, turned := change.Time, x.watches.Time(p.ReadyChangedAt)
	after := func(t time.Time) bool { return t.After(s.created) && x.watches.Moment(t) > s.Changed }
	switch {
	case p.IsReady() != change.Ready:
		x.forgetPending(t)
		if after(t) && !s.publish {
			x.pending = append(x.pending, pending{s, change})
		}
	case after(turned) && t.Sub(turned) <= propagationLimit && x.watches.Live(event.KindPod, turned):
		change.Delay = t.Sub(turned)
		x.report(s, change)
	}
}

func (x *propagation) report(s *service, change transition.AddressFollowedPod) {
	if !s.Current {
		return
	}
	if x.counts.All++; change.Delay > slowAfter {
		x.counts.Slow++
	}
	x.found.Add(change)
}

// Propagations returns the counts of propagations.
func (x *propagation) Propagations() Propagations { return x.counts }

// podTurned handles a change of a pod's Ready condition. It reports the pending address changes that belong to this
// change. Their propagation time is too short to measure.
func (x *propagation) podTurned(id event.UID, ready bool, t time.Time) {
	x.forgetPending(t)
	if !x.watches.Live(event.KindPod, t) {
		return
	}
	x.pending = slices.DeleteFunc(x.pending, func(p pending) bool {
		followed := p.change.ID == id && p.change.Ready == ready
		if followed {
			p.change.Time = t
			x.report(p.service, p.change)
		}
		return followed
	})
}

// forgetPending drops the address changes that have waited for longer than sideBySide.
func (x *propagation) forgetPending(t time.Time) {
	x.pending = slices.DeleteFunc(x.pending, func(p pending) bool { return t.Sub(p.change.Time) > sideBySide })
}
