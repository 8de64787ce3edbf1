package endpoints

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/track/writers"
)

// past is the state of a Service before EndpointSlices were listed again. The list arrives slice by slice, and an
// address may have moved to another slice. So kubeflap can only compare the addresses once the list is complete.
type past struct {
	service   *service
	addresses []addresses.Address
	ready     int
	tally     writers.Tally
	foreign   []event.UID
}

// ListingSlices records the start of a list of EndpointSlices. If the previous list was interrupted, the states that
// were stored before that list stay valid.
func (x *Endpoints) ListingSlices() {
	for _, p := range x.pasts {
		p.service.remembered = x.watches.Generation(event.KindEndpointSlice)
	}
}

// remember stores the state that a Service had before the list that contains the event e.
func (x *Endpoints) remember(h *source, e event.Event) {
	s := h.service
	if s.remembered == x.watches.Generation(e.Kind) {
		return
	}
	s.remembered = x.watches.Generation(e.Kind)
	x.pasts = append(x.pasts, &past{s, slices.Clone(s.addresses.List), s.addresses.Count[addresses.Ready], writers.TallyOfSlices(s), writers.ReportedForeign(s)})
}

// compareWithPast counts the changes that a complete list shows.
func (x *Endpoints) compareWithPast(e event.Event) {
	pasts := x.pasts
	x.pasts = nil
	for _, before := range pasts {
		s := shift{service: before.service, at: e.Seen, readyBefore: before.ready, lossesBefore: x.losses.Position(), wereForeign: before.foreign}
		if x.readFrom == event.KindEndpointSlice {
			x.compareAddresses(s, before.addresses)
			x.settle(s)
		}
		x.writers.CompareSlices(s.written(), before.tally)
	}
}

func (x *Endpoints) compareAddresses(s shift, before []addresses.Address) {
	uid := func(a *addresses.Address) *event.UID { return &a.UID }
	addresses.Compare(before, s.addresses.List, uid, func(was, is *addresses.Address) {
		from, to, a := addresses.None, addresses.None, was
		if was != nil {
			from = was.State()
		}
		if is != nil {
			to, a = is.State(), is
		}
		if from != to {
			x.moved(s, a, from, to)
		}
	})
}
