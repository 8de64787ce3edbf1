package track

import (
	"bytes"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// agreeWithin is how long Endpoints, slices and pods may say different things:
// the controllers follow the pods, and each other, within moments.
const agreeWithin = 10 * time.Second

// doubt marks a Service whose Endpoints, slices and pods are to be compared.
func (f *Tracker) doubt(s *service, t time.Time) {
	if !s.doubted {
		s.doubted = true
		f.doubts.push(doubt{s, t})
	}
}

// doubt is a Service in which something changed, and when.
type doubt struct {
	service *service
	at      time.Time
}

// doubtAll compares every Service: a whole resource has been listed.
func (f *Tracker) doubtAll(t time.Time) {
	for _, s := range f.services {
		f.doubt(s, t)
	}
}

// compareDoubted compares the Services in doubt, each once for all that changed
// within a second.
func (f *Tracker) compareDoubted(t time.Time) {
	for !f.doubts.isEmpty() && t.Sub(f.doubts.front().at) >= time.Second {
		d := f.doubts.take()
		d.service.doubted = false
		f.compareSources(d.service, d.at)
	}
}

// compareSources notes since when which addresses are in dispute.
func (f *Tracker) compareSources(s *service, t time.Time) {
	if !s.exists {
		return
	}
	var disputed map[event.UID]time.Time
	note := func(id event.UID, agreed bool) {
		if agreed {
			return
		}
		since, ok := s.disputed[id]
		if !ok {
			since = t
		}
		if disputed == nil {
			disputed = map[event.UID]time.Time{}
		}
		disputed[id] = since
	}
	shadow := f.shadowOf(s)
	for i := range s.addresses.list {
		a := &s.addresses.list[i]
		ready := a.state() == stateReady
		agreed := f.podAgrees(s, a.uid, ready)
		if shadow.compared {
			agreed = agreed && shadow.ready(a.uid) == ready
		}
		note(a.uid, agreed)
	}
	for _, x := range shadow.only(s) {
		note(x.uid, false)
	}
	s.disputed = disputed
}

// shadow is what the Endpoints object says where the slices are the source, until the next event.
type shadow struct {
	compared bool
	entries  []placed
}

func (f *Tracker) shadowOf(s *service) shadow {
	// What is written by hand for a Service with a selector never gets into slices:
	// kubeflap_service_selector_conflict tells of it.
	if f.source != event.KindEndpointSlice || !f.watches[event.KindEndpoints].up || s.inConflict() {
		return shadow{}
	}
	for _, h := range s.holders {
		if h.kind == event.KindEndpoints && !h.truncated {
			f.scratch.before = sorted(h.entries, f.scratch.before)
			return shadow{true, f.scratch.before}
		}
	}
	return shadow{}
}

func (x shadow) ready(id event.UID) bool {
	low, high := 0, len(x.entries)
	for low < high {
		if middle := (low + high) / 2; bytes.Compare(x.entries[middle].uid[:], id[:]) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low < len(x.entries) && x.entries[low].uid == id && x.entries[low].state == stateReady
}

// only are the addresses that are ready in Endpoints and in no slice.
func (x shadow) only(s *service) (missing []placed) {
	for _, e := range x.entries {
		if _, found := s.addresses.find(e.uid); !found && e.state == stateReady {
			missing = append(missing, e)
		}
	}
	return missing
}

// podAgrees reports whether the address is as its pod is, and lets the pod's next
// change put the Service in doubt.
func (f *Tracker) podAgrees(s *service, id event.UID, ready bool) bool {
	p := f.pods[id]
	if p == nil || s.publish || !f.watches[event.KindPod].up {
		return true
	}
	p.isIn(s)
	return ready == (p.ready == event.StatusTrue && p.leaving == CauseUnknown)
}

// serviceList is a list of Services. It never changes, so pods can share it.
type serviceList struct {
	service *service
	rest    *serviceList
}

// there are those of them that are there.
func (l *serviceList) there() *serviceList {
	if l == nil {
		return nil
	}
	rest := l.rest.there()
	switch {
	case !l.service.exists:
		return rest
	case rest == l.rest:
		return l
	}
	return rest.with(l.service)
}

func (l *serviceList) with(s *service) *serviceList {
	if l == nil {
		s.alone.service = s
		return &s.alone
	}
	return &serviceList{s, l}
}

func (p *pod) isIn(s *service) {
	for l := p.services; l != nil; l = l.rest {
		if l.service == s {
			return
		}
	}
	// Services come and go over a pod that stays.
	p.services = p.services.there().with(s)
}

// doubtServicesOf puts the Services of a pod that changed in doubt.
func (f *Tracker) doubtServicesOf(p *pod, t time.Time) {
	p.services = p.services.there()
	for l := p.services; l != nil; l = l.rest {
		f.doubt(l.service, t)
	}
}

// disputedAsOf counts the addresses that have been in dispute for too long.
func (s *service) disputedAsOf(t time.Time) int {
	n := 0
	for _, since := range s.disputed {
		if t.Sub(since) > agreeWithin {
			n++
		}
	}
	return n
}
