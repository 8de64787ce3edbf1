package endpoints

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/track/queue"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/track/writers"
)

// divergesAfter is the duration after which a disagreement is reported. The controllers normally update the addresses
// of a changed pod much faster.
const divergesAfter = 10 * time.Second

// divergence finds the addresses whose readiness differs between Endpoints, slices and pods.
type divergence struct {
	watches *watches.Watches
	pods    podFacts
	// `marked` contains the Services that await a comparison.
	marked queue.Queue[marked]
	// scratch is memory that is reused for sorting.
	scratch []addresses.Placed
}

type marked struct {
	service *service
	at      time.Time
}

// diverging is the record of the disagreements about the addresses of one Service.
type diverging struct {
	// `marked` is set while the Service awaits a comparison.
	marked bool
	// `since` contains the start of the disagreement about each address.
	since map[event.UID]time.Time
}

// mark schedules a comparison of a Service in one second. This comparison covers all changes within that second.
func (x *divergence) mark(s *service, t time.Time) {
	if !s.diverging.marked {
		s.diverging.marked = true
		x.marked.Push(marked{s, t})
	}
}

func (x *divergence) compare(t time.Time, readFrom event.Kind) {
	for q := &x.marked; !q.IsEmpty() && t.Sub(q.Front().at) >= time.Second; {
		m := q.Take()
		m.service.diverging.marked = false
		if m.service.exists {
			x.compareSources(m.service, m.at, readFrom)
		}
	}
}

// compareSources finds a Service's addresses whose readiness differs between Endpoints, slices and pods.
func (x *divergence) compareSources(s *service, t time.Time, readFrom event.Kind) {
	var disagree map[event.UID]time.Time
	note := func(id event.UID) {
		since, known := s.diverging.since[id]
		if !known {
			since = t
		}
		if disagree == nil {
			disagree = map[event.UID]time.Time{}
		}
		disagree[id] = since
	}
	inEndpoints, compare := x.endpointsOf(s, readFrom)
	for i := range s.addresses.List {
		a := &s.addresses.List[i]
		ready := a.State() == addresses.Ready
		agree := x.podAgrees(s, a.UID, ready)
		if !agree || compare && (addresses.Find(inEndpoints, a.UID) == addresses.Ready) != ready {
			note(a.UID)
		}
	}
	for _, a := range inEndpoints {
		if a.State == addresses.Ready && s.addresses.StateOf(a.UID) == addresses.None {
			note(a.UID) // the address is in no slice
		}
	}
	s.diverging.since = disagree
}

// endpointsOf returns the addresses in the Endpoints object. The list is valid until the next call. If `compare` is
// false, the Endpoints object cannot be compared with the slices. For example, the manually managed addresses of a
// Service with a selector never appear in slices.
func (x *divergence) endpointsOf(s *service, readFrom event.Kind) (sorted []addresses.Placed, compare bool) {
	if readFrom != event.KindEndpointSlice || !x.watches.Up(event.KindEndpoints) || writers.InConflict(s) || s.HasSelector() && s.writers.ManualInEndpoints() > 0 {
		return nil, false
	}
	for _, h := range s.sources {
		if h.Kind == event.KindEndpoints && !h.truncated {
			x.scratch = addresses.Sorted(h.entries, x.scratch)
			return x.scratch, true
		}
	}
	return nil, false
}

// podAgrees reports whether the readiness of an address matches its pod. It also registers the Service with the pod, so
// that each change of the pod schedules a comparison.
func (x *divergence) podAgrees(s *service, id event.UID, ready bool) bool {
	p := x.pods.Find(id)
	if p == nil || s.publish || !x.watches.Up(event.KindPod) {
		return true
	}
	p.JoinService(&s.alone)
	return ready == (p.IsReady() && p.RemovalCause() == cause.Unknown)
}

// asOf counts the disagreements that are older than divergesAfter at t.
func (d *diverging) asOf(t time.Time) int {
	n := 0
	for _, since := range d.since {
		if t.Sub(since) > divergesAfter {
			n++
		}
	}
	return n
}
