package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// divergesAfter is the duration after which a disagreement is reported. The controllers normally update the addresses
// of a changed pod much faster.
const divergesAfter = 10 * time.Second

// divergence finds the addresses whose readiness differs between Endpoints, slices and pods.
type divergence struct {
	*facts
	*registry
	// `marked` contains the Services that await a comparison, sorted by time.
	marked []marked
}

type marked struct {
	service *service
	at      time.Time
}

// mark schedules a comparison of a Service in one second. This comparison covers all changes within that second.
func (x *divergence) mark(s *service, t time.Time) {
	if !s.marked {
		s.marked = true
		x.marked = append(x.marked, marked{s, t})
	}
}

// CompareAll schedules a comparison between Endpoints, slices and pods for every Service.
func (x *divergence) CompareAll(t time.Time) {
	for _, s := range x.inOrder() {
		x.mark(s, t)
	}
}

// compareMarked makes the comparisons that are due at t.
func (x *divergence) compareMarked(t time.Time, readFrom event.Kind) {
	for len(x.marked) > 0 && t.Sub(x.marked[0].at) >= time.Second {
		s, at := x.marked[0].service, x.marked[0].at
		x.marked = x.marked[1:]
		if s.marked = false; s.Current {
			x.compareSources(s, at, readFrom)
		}
	}
}

// compareSources finds a Service's addresses whose readiness differs between Endpoints, slices and pods.
func (x *divergence) compareSources(s *service, t time.Time, readFrom event.Kind) {
	before := s.diverging
	s.diverging = nil
	note := func(id event.UID) {
		if s.diverging == nil {
			s.diverging = map[event.UID]time.Time{}
		}
		since, known := before[id]
		if !known {
			since = t
		}
		s.diverging[id] = since
	}
	endpoints := x.endpointsOf(s, readFrom)
	for i := range s.addresses.list {
		a := &s.addresses.list[i]
		isReady := a.state() == ready
		if !x.podAgrees(s, a.uid, isReady) || endpoints != nil && endpoints.contradicts(a.uid, isReady) {
			note(a.uid)
		}
	}
	if endpoints == nil {
		return
	}
	for _, a := range endpoints.entries {
		if a.state == ready && s.addresses.stateOf(a.uid) == absent {
			note(a.uid) // the address is in no slice
		}
	}
}

// endpointsOf returns the Endpoints object of a Service, or nil if it cannot be compared with the slices. For example,
// the manually managed addresses of a Service with a selector never appear in slices.
func (x *divergence) endpointsOf(s *service, readFrom event.Kind) *source {
	if readFrom != event.KindEndpointSlice || !x.watches.Up(event.KindEndpoints) || s.InConflict() || len(s.Selector) > 0 && s.ManualInEndpoints() > 0 {
		return nil
	}
	for _, of := range s.Sources {
		if h := x.sources[of.SourceID]; h.Kind == event.KindEndpoints {
			return h
		}
	}
	return nil
}

// contradicts reports whether an address has another readiness in the object than in the slices. Truncated Endpoints
// omit addresses, so a missing address contradicts nothing there.
func (h *source) contradicts(id event.UID, isReady bool) bool {
	i, found := slices.BinarySearchFunc(h.entries, id, func(a entry, id event.UID) int { return order(a.uid, id) })
	if !found {
		return isReady && !h.truncated
	}
	return (h.entries[i].state == ready) != isReady
}

// podAgrees reports whether the readiness of an address matches its pod. It also registers the Service with the pod, so
// that each change of the pod schedules a comparison.
func (x *divergence) podAgrees(s *service, id event.UID, isReady bool) bool {
	p := x.pods.Find(id)
	if p == nil || s.publish || !x.watches.Up(event.KindPod) {
		return true
	}
	p.JoinService(&s.alone)
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
