package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// update is the effect of one event, or of a list of EndpointSlices, on the addresses of one Service.
type update struct {
	*service
	at time.Time
	// version is the resourceVersion of the event's object, or empty.
	version string
	// relisting is set for an event of a later list of EndpointSlices. SlicesListed counts the changes of such a list.
	relisting bool
	// quiet is set if the changes are not counted. This is the case for the first list of a resource, for a later list
	// of EndpointSlices, and if isBaseline is true.
	quiet bool
	// vanished is set if the object, or a slice in a list, was deleted while kubeflap did not watch.
	vanished bool
	// wasTruncated reports whether the Endpoints object omitted addresses before the event. `truncated` reports whether
	// the object omits addresses now.
	wasTruncated, truncated bool
	// source is the changed object, or nil for a list.
	source *source
	// wereForeign holds the addresses that were foreign before the event. readyBefore is the number of ready addresses
	// before the event.
	wereForeign []event.UID
	readyBefore int
	// tally counts the addresses before the event.
	tally losses.Tally
	// lost holds the losses that the event made.
	lost []*losses.Loss
}

func (u *update) written() losses.Written {
	return losses.Written{Service: u.service, At: u.at, Version: u.version, Quiet: u.quiet || u.vanished}
}

// newUpdate returns the effect of an event on a source, before the event is applied.
func (x *Services) newUpdate(h *source, e event.Event) update {
	e.Kind = h.Kind
	s := h.service
	u := update{
		service: s, source: h, at: e.Seen, vanished: e.IsInferred(),
		wereForeign: h.ReportedForeign(), readyBefore: s.addresses.count[ready], tally: losses.TallyOf(s, h.Kind),
	}
	if e.Object != nil {
		u.version = e.Object.Metadata().ResourceVersion
	}
	if u.relisting = h.Kind == event.KindEndpointSlice && x.watches.Relisting(e); u.relisting {
		x.remember(s, e)
	}
	u.quiet = u.relisting || x.watches.First(e) || x.isBaseline(s, h.Kind, e.Seen)
	return u
}

// isBaseline reports whether a change that was seen at t belongs to the initial state of a Service. This is the case if
// the change may have happened before the Service was first seen, because a watch was broken. The changed object can
// then belong to a deleted Service with the same name.
func (x *Services) isBaseline(s *service, k event.Kind, t time.Time) bool {
	return x.watches.NotBefore(k, t).Before(s.created) || !s.exists && !x.watches.Up(event.KindService)
}

// change changes the state of an address in one source.
func (x *Services) change(u *update, id event.UID, from origin, was, is state) {
	a, before, after := u.addresses.change(id, from, was, is)
	if before != after {
		x.countChange(u, &a, before, after)
	}
}

// countChange counts the change of one address from one state to another.
func (x *Services) countChange(u *update, a *address, from, to state) {
	// Truncated Endpoints omit addresses. So an address that appears is not necessarily new, and an address that
	// disappears can still exist.
	if u.quiet || from == absent && u.wasTruncated {
		return
	}
	if to == absent && u.truncated {
		if from == notReady {
			x.losses.ReportOf(u.service, a.uid, transition.AddressLeftOut{At: at(u.at), Address: named(x.pods, u.service, a)})
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
		x.Consumers.Changed(u.service, a.uid, wasReady, u.at)
	}
	if wasReady {
		x.noteLeftRotation(u, a)
		x.noteLoss(u, a, to)
	} else {
		x.losses.ReportOf(u.service, a.uid, gain(at(u.at), named(x.pods, u.service, a), from, to))
	}
	if isReady {
		x.backInRotation(u, a)
	}
	// After a break, a watch delivers events late, so the propagation time would be meaningless.
	if p := x.pods.Find(a.uid); p != nil && wasReady != isReady && x.watches.Live(x.readFrom, u.at) {
		x.observe(u, p, transition.AddressFollowedPod{At: at(u.at), Address: named(x.pods, u.service, a), Ready: isReady})
	}
}

func (x *Services) noteLoss(u *update, a *address, to state) {
	l := &losses.Loss{
		Service: u.service, Manual: a.manual, Terminating: to == terminating, Vanished: u.vanished,
		InEndpoints: x.readFrom == event.KindEndpoints || u.source != nil && u.source.Mirrored,
		Change: transition.AddressLost{
			At: at(u.at), Address: named(x.pods, u.service, a), Removed: !to.stays(), Trigger: transition.Trigger(u.uid, u.version),
			Foreign: to == absent && slices.Contains(u.wereForeign, a.uid),
		},
	}
	if u.source != nil {
		l.Source = &u.source.Source
	}
	u.lost = append(u.lost, l)
	x.losses.Add(l)
}

func named(pods podFacts, s *service, a *address) transition.Address {
	return transition.Address{Service: s.Named(), ID: a.uid, IP: a.ip(), Pod: pods.Named(a.uid)}
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

// rotationExit holds the earliest time at which an address can have stopped being ready. The time is exact if `seen` is
// set.
type rotationExit struct {
	at   time.Time
	seen bool
}

func (x *Services) noteLeftRotation(u *update, a *address) {
	if u.leftRotation == nil {
		u.leftRotation = map[event.UID]rotationExit{}
	}
	// After a break of the watch, the address can have stopped being ready at any time during the break.
	earliest := x.watches.NotBefore(x.readFrom, u.at)
	u.leftRotation[a.uid] = rotationExit{at: earliest, seen: earliest.Equal(u.at)}
}

func (x *Services) backInRotation(u *update, a *address) {
	left, ok := u.leftRotation[a.uid]
	if !ok {
		return
	}
	delete(u.leftRotation, a.uid)
	if away := u.at.Sub(left.at); away <= x.settings.BounceWindow {
		u.counts.Bounces++
		x.losses.ReportOf(u.service, a.uid, transition.AddressBounced{
			At: at(u.at), Address: named(x.pods, u.service, a), Away: away, AtMost: !left.seen || x.watches.NotBefore(x.readFrom, u.at).Before(u.at),
		})
	}
}

// endOutage ends the current outage if the Service has a ready address.
func (x *Services) endOutage(s *service, t time.Time) {
	if s.record.Outage != nil && s.addresses.count[ready] > 0 {
		x.losses.EndOutage(s, t, x.watches.Live(x.readFrom, t))
	}
}

// settle completes an event after all addresses have their new states. It resolves the losses whose cause is already
// certain, and begins or ends an outage.
func (x *Services) settle(u *update) {
	if u.readyBefore > 0 && u.addresses.count[ready] == 0 && !u.quiet {
		u.record.BeginOutage(u.at, x.watches.Live(x.readFrom, u.at), u.lost)
	}
	x.losses.SettleCertain(u.lost)
	x.CloseBatches(u.at)
	x.endOutage(u.service, u.at)
}

// past is the state of a Service before a relist of EndpointSlices. The list arrives slice by slice, and an address can
// move from one slice to another. Therefore, kubeflap compares the addresses only after the list is complete.
type past struct {
	update
	addresses []address
}

// remember stores the state of a Service before an event of a list changes the state. If the list is interrupted, the
// state is kept for the next list.
func (x *Services) remember(s *service, e event.Event) {
	if s.past == nil {
		s.past = &past{
			update{service: s, readyBefore: s.addresses.count[ready], tally: losses.TallyOf(s, event.KindEndpointSlice)},
			slices.Clone(s.addresses.list),
		}
		for _, h := range s.record.Sources {
			s.past.wereForeign = append(s.past.wereForeign, h.ReportedForeign()...)
		}
		x.pasts = append(x.pasts, s.past)
	}
	s.past.vanished = s.past.vanished || e.IsInferred()
}

// SlicesListed compares the states of Services before and after a relist, and counts the changes.
func (x *Services) SlicesListed(t time.Time) {
	pasts := x.pasts
	x.pasts = nil
	for _, before := range pasts {
		u, s := &before.update, before.service
		s.past = nil
		u.at, u.quiet = t, x.isBaseline(s, event.KindEndpointSlice, t)
		if x.readFrom == event.KindEndpointSlice {
			compare(before.addresses, s.addresses.list, func(was, is *address) {
				switch {
				case is == nil:
					x.countChange(u, was, was.state(), absent)
				case was == nil:
					x.countChange(u, is, absent, is.state())
				case was.state() != is.state():
					x.countChange(u, is, was.state(), is.state())
				}
			})
			x.settle(u)
		}
		x.writers.CompareSlices(u.written(), u.tally)
	}
}
