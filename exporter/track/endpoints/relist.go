package endpoints

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/track/writers"
)

// past is the state of a Service before a relist of EndpointSlices. The list arrives slice by slice, and an address can
// move from one slice to another. Therefore, kubeflap compares the addresses only after the list is complete.
type past struct {
	service   *service
	addresses []addresses.Address
	ready     int
	tally     writers.Tally
	foreign   []event.UID
	// vanished contains the addresses of slices that the list does not contain.
	vanished map[event.UID]bool
}

// remember stores the state of a Service before a new list changes the state. If the list is interrupted, the state is
// kept for the next list.
func (x *Endpoints) remember(s *service) {
	if s.past == nil {
		s.past = &past{service: s, addresses: slices.Clone(s.addresses.List), ready: s.addresses.Count[addresses.Ready], tally: writers.TallyOfSlices(s), foreign: writers.ReportedForeign(s)}
		x.pasts = append(x.pasts, s.past)
	}
}

// noteVanished records that a slice is missing from a later list.
func (x *Endpoints) noteVanished(h *source) {
	x.remember(h.service)
	p := h.service.past
	if p.vanished == nil {
		p.vanished = map[event.UID]bool{}
	}
	for _, a := range h.entries {
		p.vanished[a.UID] = true
	}
	p.tally.Leave(h.service, &h.Source)
}

// SlicesListed compares the states of Services before and after a relist, and counts the changes.
func (x *Endpoints) SlicesListed(t time.Time) {
	pasts := x.pasts
	x.pasts = nil
	for _, before := range pasts {
		before.service.past = nil
		s := addressUpdate{service: before.service, at: t, readyBefore: before.ready, lossesBefore: x.losses.Position(), wereForeign: before.foreign}
		if x.readFrom == event.KindEndpointSlice {
			x.compareAddresses(s, before)
			x.settle(s)
		}
		x.writers.CompareSlices(s.written(), before.tally)
	}
}

func (x *Endpoints) compareAddresses(s addressUpdate, before *past) {
	uid := func(a *addresses.Address) *event.UID { return &a.UID }
	addresses.Compare(before.addresses, s.addresses.List, uid, func(was, is *addresses.Address) {
		from, to, a := addresses.None, addresses.None, was
		if was != nil {
			from = was.State()
		}
		if is != nil {
			to, a = is.State(), is
		}
		if from != to {
			s.vanished = before.vanished[a.UID]
			x.countStateChange(s, a, from, to)
		}
	})
}
