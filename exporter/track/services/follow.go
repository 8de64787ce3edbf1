package services

import (
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

// Propagations counts the propagations of pods' readiness changes to their addresses. The time is that from the change of
// the pod to the change of its address. Slow counts those that took longer than slowAfter.
type Propagations struct{ All, Slow uint64 }

// slowAfter is the time after which a propagation counts as slow. It is a bucket of the histogram of propagation times.
const slowAfter = 5 * time.Second

// observe records a change of an address's readiness. If the corresponding change of the pod has not been seen yet, it
// stores the change of the address. It ignores changes due to the creation of the Service, a new selector, or
// publishNotReadyAddresses.
func (x *clients) observe(s *service, p *pods.Pod, r *recent, change transition.AddressFollowedPod) {
	t, turned := change.Time, x.watches.Time(p.ReadyChangedAt)
	after := func(t time.Time) bool { return t.After(s.created) && x.watches.Moment(t) > s.changed }
	switch {
	case p.IsReady() != change.Ready:
		if after(t) && !s.publish {
			r.ahead = &change
		}
	case after(turned) && t.Sub(turned) <= propagationLimit && x.watches.Live(event.KindPod, turned):
		change.Delay = t.Sub(turned)
		x.notePropagation(s, change)
	}
}

// podTurned handles a change of a pod's Ready condition. If the address changed shortly before, its propagation time is too
// short to measure.
func (x *clients) podTurned(s *service, id event.UID, ready bool, t time.Time) {
	r := s.recent[id]
	if r == nil || r.ahead == nil {
		return
	}
	change := *r.ahead
	if r.ahead = nil; change.Ready == ready && t.Sub(change.Time) <= sideBySide && x.watches.Live(event.KindPod, t) {
		change.Time = t
		x.notePropagation(s, change)
	}
}

func (x *clients) notePropagation(s *service, change transition.AddressFollowedPod) {
	if !s.current {
		return
	}
	if x.propagations.All++; change.Delay > slowAfter {
		x.propagations.Slow++
	}
	x.found.Add(change)
}

// Propagations returns the counts of propagations.
func (x *clients) Propagations() Propagations { return x.propagations }
