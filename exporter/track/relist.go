package track

import (
	"bytes"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// past is a Service as it was before a list of the slices came in. The list comes
// slice by slice, and an address may be in another one than before: only the whole list tells.
type past struct {
	service   *service
	addresses []address
	ready     int
	byHand    int
}

// relisting reports whether e is part of a list of slices that is not the first.
func (f *Tracker) relisting(e event.Event) bool {
	return e.Kind == event.KindEndpointSlice && f.watches[e.Kind].synced && (e.Type == event.Listed || e.Type == event.Synced)
}

// keepPasts is for a list that broke off and begins anew: what was before it still is what was before.
func (f *Tracker) keepPasts() {
	for _, p := range f.pasts {
		p.service.remembered = f.watches[event.KindEndpointSlice].generation
	}
}

// remember keeps how a Service was before the list that e is part of.
func (f *Tracker) remember(h *holder, e event.Event) {
	s := h.service
	if !f.relisting(e) || s.remembered == f.generation(e) {
		return
	}
	s.remembered = f.generation(e)
	f.pasts = append(f.pasts, &past{s, slices.Clone(s.addresses.list), s.addresses.count[stateReady], s.byHand.slices})
}

// compareWithPast counts what a list shows to have changed, when it is complete.
func (f *Tracker) compareWithPast(e event.Event) {
	pasts := f.pasts
	f.pasts = nil
	for _, before := range pasts {
		s := shift{service: before.service, at: e.Seen}
		lossesBefore := f.losses.fresh.end()
		if f.source == event.KindEndpointSlice {
			f.compareAddresses(s, before.addresses)
			f.settle(s, before.ready, lossesBefore)
		}
		if s.exists {
			f.compareByHand(s, before.byHand, s.byHand.slices, false) // those of mirrors are counted in Endpoints
		}
		f.checkConflict(s.service, e.Seen)
	}
}

func (f *Tracker) compareAddresses(s shift, before []address) {
	now := s.addresses.list
	for len(before) > 0 || len(now) > 0 {
		order := -1
		switch {
		case len(before) == 0:
			order = 1
		case len(now) > 0:
			order = bytes.Compare(before[0].uid[:], now[0].uid[:])
		}
		var a address
		was, is := stateNone, stateNone
		if order <= 0 {
			a, was, before = before[0], before[0].state(), before[1:]
		}
		if order >= 0 {
			a, is, now = now[0], now[0].state(), now[1:]
		}
		if was != is {
			f.moved(s, &a, was, is)
		}
	}
}
