package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// update is the effect of one event, or of a list of EndpointSlices, on the addresses of one Service.
type update struct {
	*service
	losses.Write
	// relisting is set for an event of a later list of EndpointSlices. SlicesListed counts the changes of such a list.
	relisting bool
	// wasTruncated reports whether the Endpoints object omitted addresses before the event. `truncated` reports whether
	// the object omits addresses now.
	wasTruncated, truncated bool
	// source is the changed object, or nil for a list.
	source *source
	// wereForeign holds the addresses that were foreign before the event. readyBefore is the number of ready addresses
	// before the event.
	wereForeign []event.UID
	readyBefore int
	// listBefore holds the addresses before a list.
	listBefore []address
	// lost holds the losses that the event made.
	lost []*losses.Loss
}

// newUpdate returns the effect of an event on a source, before the event is applied.
func (x *Services) newUpdate(h *source, e event.Event) update {
	e.Kind = h.Kind
	s := h.service
	u := update{
		service: s, source: h, wereForeign: h.ReportedForeign(), readyBefore: s.addresses.count[ready],
		relisting: h.Kind == event.KindEndpointSlice && x.watches.Relisting(e),
		Write:     losses.Write{At: e.Seen, Vanished: e.IsInferred(), Before: s.Tally(h.Kind)},
	}
	if e.Object != nil {
		u.Version = e.Object.Metadata().ResourceVersion
	}
	if u.relisting {
		x.remember(&u)
	}
	u.Quiet = u.relisting || x.watches.First(e) || s.isBaseline(x.watches, h.Kind, e.Seen)
	return u
}

// isBaseline reports whether a change that was seen at t belongs to the initial state of a Service. This is the case if
// the change may have happened before the Service was first seen, because a watch was broken. The changed object can
// then belong to a deleted Service with the same name.
func (s *service) isBaseline(w *watches.Watches, k event.Kind, t time.Time) bool {
	return w.NotBefore(k, t).Before(s.created) || !s.Current && !w.Up(event.KindService)
}

// countChange counts the change of one address from one state to another.
func (x *Services) countChange(u *update, a *address, from, to state) {
	// Truncated Endpoints omit addresses. So an address that appears is not necessarily new, and an address that
	// disappears can still exist.
	if u.Quiet || from == absent && u.wasTruncated {
		return
	}
	when, named := at(u.At), transition.Address{Service: u.Name, ID: a.uid, IP: a.ip(), Pod: x.pods.Named(a.uid)}
	if to == absent && u.truncated {
		if from == notReady {
			x.losses.ReportOf(&u.Service, a.uid, transition.AddressLeftOut{At: when, Address: named})
		}
		return
	}
	switch n := &u.counts; {
	case !from.stays() && to.stays():
		n.Added++
	case from.stays() && !to.stays():
		n.Removed++
	case to == ready:
		n.TurnedReady++
	case from == ready:
		n.TurnedNotReady++
	default: // a change between absent and terminating
		return
	}
	wasReady, isReady := from == ready, to == ready
	if wasReady != isReady {
		x.noteTurned(u.service, a.uid, wasReady, u.At)
	}
	if wasReady {
		x.noteLoss(u, a, named, to)
	} else {
		x.losses.ReportOf(&u.Service, a.uid, gain(when, named, from, to))
	}
	if isReady {
		x.noteReturn(u, named)
	}
	// After a break, a watch delivers events late, so the propagation time would be meaningless.
	if p := x.pods.Find(a.uid); p != nil && wasReady != isReady && x.watches.Live(x.readFrom, u.At) {
		x.observe(u.service, p, transition.AddressFollowedPod{At: when, Address: named, Ready: isReady})
	}
}

func (x *Services) noteLoss(u *update, a *address, named transition.Address, to state) {
	// After a break of the watch, the address can have stopped being ready at any time during the break.
	r := u.clients.of(a.uid)
	r.left = x.watches.NotBefore(x.readFrom, u.At)
	r.seen = r.left.Equal(u.At)
	l := &losses.Loss{
		Service: &u.Service, Of: u.readyBefore, Manual: a.manual, Terminating: to == terminating, Vanished: u.Vanished,
		InEndpoints: x.readFrom == event.KindEndpoints || u.source != nil && u.source.Mirrored,
		Change: transition.AddressLost{
			At: at(u.At), Address: named, Removed: !to.stays(), Trigger: transition.Trigger(u.UID, u.Version),
			Foreign: to == absent && slices.Contains(u.wereForeign, a.uid),
		},
	}
	if u.source != nil {
		l.Source = &u.source.Source
	}
	u.lost = append(u.lost, l)
	x.losses.Add(l)
}

// noteReturn reports a bounce if a ready address was not ready for a short time.
func (x *Services) noteReturn(u *update, named transition.Address) {
	r := u.clients.recent[named.ID]
	if r == nil || r.left.IsZero() {
		return
	}
	away := u.At.Sub(r.left)
	if r.left = (time.Time{}); away <= x.bounceWindow {
		u.counts.Bounces++
		atMost := !r.seen || x.watches.NotBefore(x.readFrom, u.At).Before(u.At)
		x.losses.ReportOf(&u.Service, named.ID, transition.AddressBounced{At: at(u.At), Address: named, Away: away, AtMost: atMost})
	}
}

// gain describes a change of an address that was not ready before the change.
func gain(when transition.At, named transition.Address, from, to state) transition.Transition {
	switch {
	case !from.stays():
		return transition.AddressAdded{At: when, Address: named, Ready: to == ready}
	case !to.stays():
		return transition.AddressRemoved{At: when, Address: named}
	}
	return transition.AddressReady{At: when, Address: named}
}

// endOutage ends the current outage if the Service has a ready address.
func (x *Services) endOutage(s *service, t time.Time) {
	if s.Outage != nil && s.addresses.count[ready] > 0 {
		x.losses.EndOutage(&s.Service, t, x.watches.Live(x.readFrom, t))
	}
}

// settle completes an event after all addresses have their new states. It resolves the losses whose cause is already
// certain, and begins or ends an outage.
func (x *Services) settle(u *update) {
	if u.readyBefore > 0 && u.addresses.count[ready] == 0 && !u.Quiet {
		u.BeginOutage(u.At, x.watches.Live(x.readFrom, u.At), u.lost)
	}
	x.losses.SettleCertain(u.lost)
	x.CloseBatches(u.At)
	x.endOutage(u.service, u.At)
}

// remember stores the state of a Service before an event of a relist of EndpointSlices changes the state. The list
// arrives slice by slice, and an address can move from one slice to another. Therefore, kubeflap compares the addresses
// only after the list is complete. If the list is interrupted, the state is kept for the next list.
func (x *Services) remember(u *update) {
	s := u.service
	if s.relist == nil {
		s.relist = &update{service: s, readyBefore: u.readyBefore, listBefore: slices.Clone(s.addresses.list)}
		s.relist.Before = u.Before
		for _, h := range s.Sources {
			s.relist.wereForeign = append(s.relist.wereForeign, h.ReportedForeign()...)
		}
		x.relists = append(x.relists, s.relist)
	}
	s.relist.Vanished = s.relist.Vanished || u.Vanished
}

// SlicesListed compares the states of Services before and after a relist, and counts the changes.
func (x *Services) SlicesListed(t time.Time) {
	relists := x.relists
	x.relists = nil
	for _, u := range relists {
		s := u.service
		s.relist = nil
		u.At, u.Quiet = t, s.isBaseline(x.watches, event.KindEndpointSlice, t)
		if x.readFrom == event.KindEndpointSlice {
			now := s.addresses.list
			for _, c := range changes(entriesOf(u.listBefore), entriesOf(now)) {
				a := &u.listBefore
				if c.is != absent {
					a = &now
				}
				x.countChange(u, &(*a)[c.index], c.was, c.is)
			}
			x.settle(u)
		}
		x.losses.CompareSlices(&s.Service, u.Write)
	}
}

func entriesOf(all []address) []entry {
	some := make([]entry, len(all))
	for i := range all {
		some[i] = entry{all[i].uid, int32(i), all[i].state()}
	}
	return some
}
