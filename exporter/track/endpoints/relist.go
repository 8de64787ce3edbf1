package endpoints

import (
	"slices"

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
}

// ListingSlices records the start of a list of EndpointSlices. If the previous list was interrupted, the states from
// before the interrupted list are kept.
func (x *Endpoints) ListingSlices() {
	for _, p := range x.pasts {
		p.service.remembered = x.watches.Generation(event.KindEndpointSlice)
	}
}

// remember stores the state of a Service before a new list changes the state. It stores one state per Service and list.
func (x *Endpoints) remember(h *source, e event.Event) {
	s := h.service
	if s.remembered == x.watches.Generation(e.Kind) {
		return
	}
	s.remembered = x.watches.Generation(e.Kind)
	x.pasts = append(x.pasts, &past{s, slices.Clone(s.addresses.List), s.addresses.Count[addresses.Ready], writers.TallyOfSlices(s), writers.ReportedForeign(s)})
}

// compareWithPast compares the states of Services before and after a relist, and counts the changes.
func (x *Endpoints) compareWithPast(e event.Event) {
	pasts := x.pasts
	x.pasts = nil
	for _, before := range pasts {
		s := addressUpdate{service: before.service, at: e.Seen, readyBefore: before.ready, lossesBefore: x.losses.Position(), wereForeign: before.foreign}
		if x.readFrom == event.KindEndpointSlice {
			x.compareAddresses(s, before.addresses)
			x.settle(s)
		}
		x.writers.CompareSlices(s.written(), before.tally)
	}
}

func (x *Endpoints) compareAddresses(s addressUpdate, before []addresses.Address) {
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
			x.countStateChange(s, a, from, to)
		}
	})
}
