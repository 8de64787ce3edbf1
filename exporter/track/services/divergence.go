package services

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
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
func (x *divergence) compareMarked(t time.Time) {
	for len(x.marked) > 0 && t.Sub(x.marked[0].at) >= time.Second {
		m := watches.Take(&x.marked)
		if m.service.marked = false; m.service.Current {
			x.compareSources(m.service, m.at)
		}
	}
}

// compareSources finds a Service's addresses whose readiness differs between Endpoints, slices and pods.
func (x *divergence) compareSources(s *service, t time.Time) {
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
	addresses := s.Addresses(x.losses.ReadFrom)
	for _, a := range addresses {
		if !x.podAgrees(s, a.ID, a.State == losses.Ready) {
			note(a.ID)
		}
	}
	endpoints := x.endpointsOf(s)
	if endpoints == nil {
		return
	}
	for _, c := range losses.Compare(s.Addresses(event.KindEndpoints), addresses) {
		if (c.Was == losses.Ready) != (c.State == losses.Ready) && !(endpoints.Truncated && c.Was == losses.Absent) {
			note(c.ID)
		}
	}
}

// endpointsOf returns the Endpoints object of a Service, or nil if it cannot be compared with the slices. For example,
// the manually managed addresses of a Service with a selector never appear in slices. Truncated Endpoints omit addresses.
func (x *divergence) endpointsOf(s *service) *losses.Source {
	if x.losses.ReadFrom != event.KindEndpointSlice || !x.watches.Up(event.KindEndpoints) || s.InConflict() || len(s.Selector) > 0 && s.ManualInEndpoints() > 0 {
		return nil
	}
	for _, h := range s.Sources {
		if h.Kind == event.KindEndpoints {
			return h
		}
	}
	return nil
}

// podAgrees reports whether the readiness of an address matches its pod. It also registers the Service with the pod, so
// that each change of the pod schedules a comparison.
func (x *divergence) podAgrees(s *service, id event.UID, isReady bool) bool {
	p := x.pods.Find(id)
	if p == nil || !x.watches.Up(event.KindPod) {
		return true
	}
	if p.JoinService(&s.alone); s.publish {
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
