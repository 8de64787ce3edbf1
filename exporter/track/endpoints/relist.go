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
	// vanished is set if a slice of the Service is missing from the list.
	vanished bool
}

// remember stores the state of a Service before an event of a list changes the state. If the list is interrupted, the
// state is kept for the next list.
func (x *Endpoints) remember(s *service, e event.Event) {
	if s.past == nil {
		s.past = &past{service: s, addresses: slices.Clone(s.addresses.List), ready: s.addresses.Count[addresses.Ready], tally: writers.TallyOfSlices(s), foreign: writers.ReportedForeign(s)}
		x.pasts = append(x.pasts, s.past)
	}
	s.past.vanished = s.past.vanished || e.IsInferred()
}

// SlicesListed compares the states of Services before and after a relist, and counts the changes.
func (x *Endpoints) SlicesListed(t time.Time) {
	pasts := x.pasts
	x.pasts = nil
	for _, before := range pasts {
		before.service.past = nil
		s := addressUpdate{service: before.service, at: t, readyBefore: before.ready, lossesBefore: x.losses.Position(), wereForeign: before.foreign}
		s.quiet, s.vanished = x.isBaseline(s.service, event.KindEndpointSlice, t), before.vanished
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
