package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/classes"
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
	// wasTruncated reports whether the Endpoints object omitted addresses before the event.
	wasTruncated bool
	// source is the changed object, or nil for a list.
	source *source
	// wereForeign holds the addresses that were foreign before the event. readyBefore is the number of ready addresses
	// before the event.
	wereForeign []event.UID
	readyBefore int32
	// listBefore holds the addresses before a list.
	listBefore []losses.Address
	// lost holds the losses that the event made.
	lost []*losses.Loss
}

// newUpdate returns the effect of an event on a source, before the event is applied.
func (x *Services) newUpdate(h *source, e event.Event) update {
	e.Kind = h.Kind
	s := h.service
	u := update{
		service: s, source: h, wereForeign: h.ReportedForeign(), readyBefore: s.Count[losses.Ready], wasTruncated: h.Truncated,
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

// countChange counts the change of one address.
func (x *Services) countChange(u *update, a losses.Changed) {
	from, to := a.Was, a.State
	// Truncated Endpoints omit addresses. So an address that appears is not necessarily new, and an address that
	// disappears can still exist.
	if u.Quiet || from == losses.Absent && u.wasTruncated {
		return
	}
	when, named := at(u.At), transition.Address{Service: u.Name, ID: a.ID, IP: a.IP, Pod: x.pods.Named(a.ID)}
	if to == losses.Absent && u.source != nil && u.source.Truncated {
		if from == losses.NotReady {
			x.losses.ReportOf(&u.Service, a.ID, transition.AddressLeftOut{At: when, Address: named})
		}
		return
	}
	switch {
	case from.Stays() != to.Stays():
	case to == losses.Ready:
		u.flips.TurnedReady++
	case from == losses.Ready:
		u.flips.TurnedNotReady++
	default: // a change between absent and terminating
		return
	}
	wasReady, isReady := from == losses.Ready, to == losses.Ready
	if wasReady != isReady {
		x.noteTurned(u.service, a.ID, wasReady, u.At)
	}
	if wasReady {
		x.noteLoss(u, a, named)
	} else {
		x.losses.ReportOf(&u.Service, a.ID, gain(when, named, from, to))
	}
	if isReady {
		x.noteReturn(u, named)
	}
	// After a break, a watch delivers events late, so the propagation time would be meaningless.
	if p := x.pods.Find(a.ID); p != nil && wasReady != isReady && x.watches.Live(x.losses.ReadFrom, u.At) {
		x.observe(u.service, p, transition.AddressFollowedPod{At: when, Address: named, Ready: isReady})
	}
}

func (x *Services) noteLoss(u *update, a losses.Changed, named transition.Address) {
	// After a break of the watch, the address can have stopped being ready at any time during the break.
	r := u.current().of(a.ID)
	left := notBefore(x.watches, x.losses.ReadFrom, u.At)
	r.left, r.seen = x.watches.Moment(left), left.Equal(u.At)
	l := &losses.Loss{
		Loss: classes.Loss{Service: &u.Service.Service, Change: transition.AddressLost{
			At: at(u.At), Address: named, Removed: !a.State.Stays(), Trigger: transition.Trigger(u.UID, u.Version),
			Foreign: a.State == losses.Absent && slices.Contains(u.wereForeign, a.ID),
		}},
		Service: &u.Service, Of: int(u.readyBefore), Manual: a.Manual, Terminating: a.State == losses.Terminating, Vanished: u.Vanished,
		InEndpoints: x.losses.ReadFrom == event.KindEndpoints || u.source != nil && u.source.Mirrored,
	}
	if u.source != nil {
		l.Source = &u.source.Source
	}
	u.lost = append(u.lost, l)
	x.losses.Add(l)
}

// noteReturn reports a bounce if a ready address was not ready for a short time.
func (x *Services) noteReturn(u *update, named transition.Address) {
	r := u.current().recent[named.ID]
	if r == nil || r.left == 0 {
		return
	}
	away := u.At.Sub(x.watches.Time(r.left))
	if r.left = 0; away <= x.bounceWindow {
		atMost := !r.seen || notBefore(x.watches, x.losses.ReadFrom, u.At).Before(u.At)
		x.losses.ReportOf(&u.Service, named.ID, transition.AddressBounced{At: at(u.At), Address: named, Away: away, AtMost: atMost})
	}
}

// gain describes a change of an address that was not ready before the change.
func gain(when transition.At, named transition.Address, from, to losses.State) transition.Transition {
	switch {
	case !from.Stays():
		return transition.AddressAdded{At: when, Address: named, Ready: to == losses.Ready}
	case !to.Stays():
		return transition.AddressRemoved{At: when, Address: named}
	}
	return transition.AddressReady{At: when, Address: named}
}

// notBefore returns the earliest possible time of a change that kubeflap saw at t. It is zero if a first list showed it.
func notBefore(w *watches.Watches, k event.Kind, t time.Time) time.Time {
	earliest := w.NotBefore(k, t)
	if earliest.Equal(t) && !w.Live(k, t) {
		return time.Time{}
	}
	return earliest
}

// endOutage ends the current outage if the Service has a ready address.
func (x *Services) endOutage(s *service, t time.Time) {
	if s.Outage != nil && s.Count[losses.Ready] > 0 {
		x.losses.EndOutage(&s.Service, t, notBefore(x.watches, x.losses.ReadFrom, t))
	}
}

// settle completes an event after all addresses have their new states. It resolves the losses whose cause is already
// certain, and begins or ends an outage.
func (x *Services) settle(u *update) {
	if u.readyBefore > 0 && u.Count[losses.Ready] == 0 && !u.Quiet && u.needsAddresses() {
		x.losses.BeginOutage(&u.Service, u.At, notBefore(x.watches, x.losses.ReadFrom, u.At), u.lost)
		x.follow(u.service, u.lost, transition.Wait{})
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
		s.relist = &update{service: s, readyBefore: u.readyBefore, listBefore: s.Addresses(x.losses.ReadFrom)}
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
		if x.losses.ReadFrom == event.KindEndpointSlice {
			for _, c := range losses.Compare(u.listBefore, s.Addresses(event.KindEndpointSlice)) {
				x.countChange(u, c)
			}
			x.settle(u)
		}
		x.losses.CompareSlices(&s.Service, u.Write)
	}
}
