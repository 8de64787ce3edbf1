package services

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
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

// observe records a change of an address's readiness. If the corresponding change of the pod has not been seen yet, it
// stores the change of the address. It ignores changes due to the creation of the Service, a new selector, or
// publishNotReadyAddresses.
func (q *facts) observe(s *service, p *pods.Pod, r *recent, change transition.AddressFollowedPod) {
	t, turned := change.Time, q.watches.Time(p.ReadyChangedAt)
	after := func(t time.Time) bool { return t.After(s.created) && q.watches.Moment(t) > s.changed }
	switch {
	case !s.hasSelector(): // whoever writes the addresses need not follow the pods
	case p.IsReady() != change.Ready:
		if after(t) && !s.publish {
			r.ahead = new(change)
			q.pods.JoinService(p, s) // so that podTurned is called
		}
	case after(turned) && t.Sub(turned) <= propagationLimit && q.watches.Live(event.KindPod, turned):
		change.Delay = t.Sub(turned)
		q.report(s, change)
	}
}

// podTurned handles a change of a pod's Ready condition. If the address changed shortly before, its propagation time is too
// short to measure.
func (q *facts) podTurned(s *service, id event.UID, ready bool, t time.Time) {
	r := s.recent[id]
	if r == nil || r.ahead == nil {
		return
	}
	change := *r.ahead
	if r.ahead = nil; change.Ready == ready && t.Sub(change.Time) <= sideBySide && q.watches.Live(event.KindPod, t) {
		change.Time = t
		q.report(s, change)
	}
}

// divergesAfter is the duration after which a disagreement is reported. The controllers normally update the addresses
// of a changed pod much faster.
const divergesAfter = 10 * time.Second

// mark schedules a comparison of a Service in one second. This comparison covers all changes within that second.
func (x *Services) mark(s *service, t time.Time) {
	if s.marked {
		return
	}
	s.marked = true
	x.watches.Schedule(t.Add(time.Second), watches.RankServices, func() {
		if s.marked = false; !s.deleted {
			x.compareSources(s, t)
		}
	})
}

// CompareAll schedules a comparison between Endpoints, slices and pods for every Service.
func (x *Services) CompareAll(t time.Time) {
	for _, s := range x.inOrder() {
		x.mark(s, t)
	}
}

// compareSources finds a Service's addresses whose readiness differs between Endpoints, slices and pods.
func (q *facts) compareSources(s *service, t time.Time) {
	if !s.needsAddresses() {
		s.diverging = nil // the controllers leave the addresses of an ExternalName as they were
		return
	}
	differ := map[event.UID]time.Time{}
	note := func(id event.UID) { differ[id] = cmp.Or(s.diverging[id], t) }
	q.compared = s.appendAddresses(q.compared[:0], q.readFrom)
	for _, a := range q.compared {
		if !q.podAgrees(s, a.id, a.state == ready) {
			note(a.id)
		}
	}
	if endpoints := s.endpoints(); endpoints.service != nil && q.areComparable(s) {
		q.comparedWith = s.appendAddresses(q.comparedWith[:0], event.KindEndpoints)
		for _, c := range compare(q.comparedWith, q.compared) {
			if (c.was == ready) != (c.state == ready) && !(endpoints.truncated && c.was == absent) {
				note(c.id)
			}
		}
	}
	if s.diverging = nil; len(differ) > 0 {
		s.diverging = differ
	}
}

// areComparable reports whether the Endpoints of a Service can be compared with the slices. For example, the manually managed
// addresses of a Service with a selector never appear in slices. Truncated Endpoints omit addresses.
func (q *facts) areComparable(s *service) bool {
	return q.readFrom == event.KindEndpointSlice && q.watches.Up(event.KindEndpoints) && !s.inConflict() && (!s.hasSelector() || s.manualInEndpoints() == 0)
}

// podAgrees reports whether the readiness of an address matches its pod. It also registers the Service with the pod, so
// that each change of the pod schedules a comparison.
func (q *facts) podAgrees(s *service, id event.UID, isReady bool) bool {
	p := q.pods.Find(id)
	if p == nil || !q.watches.Up(event.KindPod) {
		return true
	}
	if q.pods.JoinService(p, s); s.publish {
		return true
	}
	return isReady == (p.IsReady() && p.RemovalCause == cause.Unknown)
}

// divergingAt counts the disagreements that are older than divergesAfter at t.
func (s *service) divergingAt(t time.Time) int {
	n := 0
	for _, since := range s.diverging {
		if t.Sub(since) > divergesAfter {
			n++
		}
	}
	return n
}
