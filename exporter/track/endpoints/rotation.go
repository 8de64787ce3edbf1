package endpoints

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/writers"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// addressUpdate is the effect of one event on the addresses of one Service.
type addressUpdate struct {
	*service
	at time.Time
	// version is the resourceVersion of the event's object, or empty.
	version string
	// quiet is set if the changes are not counted. This is the case for the first list of a resource, for a move to
	// another Service, in switchSource, and if isBaseline is true. It is also the case for later lists of
	// EndpointSlices, because SlicesListed counts their changes.
	quiet bool
	// vanished is set if the object, or a slice in a list, was deleted while kubeflap did not watch.
	vanished bool
	// wasTruncated reports whether the Endpoints object omitted addresses before the event. `truncated` reports whether
	// the object omits addresses now.
	wasTruncated, truncated bool
	// mirrored is set for a slice that mirrors Endpoints. known is set if a known manager manages the object. foreign
	// is set if the Service has a selector and an unknown writer manages the object.
	mirrored, foreign, known bool
	// wereForeign holds the addresses that were foreign before the event.
	wereForeign []event.UID
	// readyBefore is the number of ready addresses before the event. lossesBefore is the value of Losses.Position
	// before the event.
	readyBefore, lossesBefore int
}

func (s addressUpdate) written() writers.Change {
	return writers.Change{Service: s.service, At: s.at, Version: s.version, Quiet: s.quiet || s.vanished}
}

func (x *Endpoints) newAddressUpdate(h *source, e event.Event) addressUpdate {
	s := addressUpdate{service: h.service, at: e.Seen, readyBefore: h.service.addresses.Count[addresses.Ready], lossesBefore: x.losses.Position()}
	if e.Object != nil {
		s.version = e.Object.Metadata().ResourceVersion
	}
	return s
}

// isBaseline reports whether a change that was seen at t belongs to the initial state of a Service. This is the case if
// the change may have happened before the Service was first seen, because a watch was broken. The changed object can
// then belong to a deleted Service with the same name.
func (x *Endpoints) isBaseline(s *service, k event.Kind, t time.Time) bool {
	return x.watches.NotBefore(k, t).Before(s.created) || !s.exists && !x.watches.Up(event.KindService)
}

// changeState changes the state of an address in one source.
func (x *Endpoints) changeState(s addressUpdate, id event.UID, from addresses.Origin, was, is addresses.State) addresses.Address {
	a, before, after := s.addresses.ChangeState(id, from, was, is)
	if before != after {
		x.countStateChange(s, &a, before, after)
	}
	return a
}

// countStateChange counts the change of one address from one state to another.
func (x *Endpoints) countStateChange(s addressUpdate, a *addresses.Address, from, to addresses.State) {
	// Truncated Endpoints omit addresses. So an address that appears is not necessarily new, and an address that
	// disappears can still exist.
	if s.quiet || from == addresses.None && s.wasTruncated {
		return
	}
	if to == addresses.None && s.truncated {
		if from == addresses.NotReady {
			x.losses.ReportOf(s.service, a.UID, transition.AddressLeftOut{At: at(s.at), Address: named(x.pods, s.service, a)})
		}
		return
	}
	switch {
	case !from.Stays() && to.Stays():
		s.added++
	case from.Stays() && !to.Stays():
		s.removed++
	case to == addresses.Ready:
		s.turnedReady++
	case from == addresses.Ready:
		s.turnedNotReady++
	default: // a change between None and Terminating
		return
	}
	wasReady, isReady := from == addresses.Ready, to == addresses.Ready
	if wasReady != isReady {
		x.consumers.Changed(s.service, &s.consumers, a.UID, wasReady, s.at)
	}
	if wasReady {
		x.noteLeftRotation(s, a)
		x.losses.Add(&losses.Loss{
			Service: s.service, Manual: a.Manual, Foreign: s.foreign, Known: s.known, Vanished: s.vanished, InEndpoints: s.mirrored || x.readFrom == event.KindEndpoints, Terminating: to == addresses.Terminating,
			Change: transition.AddressLost{
				At: at(s.at), Address: named(x.pods, s.service, a), Removed: !to.Stays(), Trigger: transition.Trigger(s.uid, s.version),
				Foreign: to == addresses.None && slices.Contains(s.wereForeign, a.UID),
			},
		})
	} else {
		x.reportGain(s, a, from, to)
	}
	if isReady {
		x.backInRotation(s, a)
	}
	// After a break, a watch delivers events late, so the propagation time would be meaningless.
	if p := x.pods.Find(a.UID); p != nil && wasReady != isReady && x.watches.Live(x.readFrom, s.at) {
		x.propagation.observe(s, p, transition.AddressFollowedPod{At: at(s.at), Address: named(x.pods, s.service, a), Ready: isReady})
	}
}

// reportGain reports a change of an address that was not ready before the change.
func (x *Endpoints) reportGain(s addressUpdate, a *addresses.Address, from, to addresses.State) {
	when, named := at(s.at), named(x.pods, s.service, a)
	var change transition.Transition
	switch {
	case !from.Stays():
		change = transition.AddressAdded{At: when, Address: named, Ready: to == addresses.Ready}
	case !to.Stays():
		change = transition.AddressRemoved{At: when, Address: named}
	default:
		change = transition.AddressReady{At: when, Address: named}
	}
	x.losses.ReportOf(s.service, a.UID, change)
}

// rotationExit holds the earliest time at which an address can have stopped being ready. The time is exact if `seen` is
// set.
type rotationExit struct {
	at   time.Time
	seen bool
}

func (x *Endpoints) noteLeftRotation(s addressUpdate, a *addresses.Address) {
	if s.leftRotation == nil {
		s.leftRotation = map[event.UID]rotationExit{}
	}
	// After a break of the watch, the address can have stopped being ready at any time during the break.
	earliest := x.watches.NotBefore(x.readFrom, s.at)
	s.leftRotation[a.UID] = rotationExit{at: earliest, seen: earliest.Equal(s.at)}
	if s.at.Sub(s.leftSwept) > x.settings.BounceWindow {
		s.forgetLeft(s.at, x.settings.BounceWindow)
	}
}

// forgetLeft drops the addresses that stopped being ready too long ago for a bounce.
func (s *service) forgetLeft(t time.Time, within time.Duration) {
	s.leftSwept = t
	maps.DeleteFunc(s.leftRotation, func(_ event.UID, d rotationExit) bool { return t.Sub(d.at) > within })
	if len(s.leftRotation) == 0 {
		s.leftRotation = nil
	}
}

func (x *Endpoints) backInRotation(s addressUpdate, a *addresses.Address) {
	left, ok := s.leftRotation[a.UID]
	if !ok {
		return
	}
	if delete(s.leftRotation, a.UID); len(s.leftRotation) == 0 {
		s.leftRotation = nil
	}
	if away := s.at.Sub(left.at); away <= x.settings.BounceWindow {
		s.bounces++
		x.losses.ReportOf(s.service, a.UID, transition.AddressBounced{
			At: at(s.at), Address: named(x.pods, s.service, a), Away: away, AtMost: !left.seen || x.watches.NotBefore(x.readFrom, s.at).Before(s.at),
		})
	}
}

// settle completes an event after all addresses have their new states. It resolves the losses whose cause is already
// certain, and begins or ends an outage.
func (x *Endpoints) settle(s addressUpdate) {
	ready := s.addresses.Count[addresses.Ready]
	live := x.watches.Live(x.readFrom, s.at)
	o := &s.outage
	if s.readyBefore > 0 && ready == 0 && !s.quiet {
		o.count++
		o.since, o.live = s.at, live
		x.losses.OutageBegan(s.service, s.lossesBefore)
	}
	x.losses.SettleCertainFrom(s.lossesBefore)
	x.CloseBatches(s.at)
	if ready > 0 && !o.since.IsZero() {
		lasted := s.at.Sub(o.since)
		o.finished += x.watches.Counted(o.since, s.at)
		o.since = time.Time{}
		x.losses.OutageEnded(s.service, transition.OutageEnded{
			At: at(s.at), Service: s.Named(), Lasted: lasted, Complete: live && o.live,
		})
	}
}

func named(pods podFacts, s *service, a *addresses.Address) transition.Address {
	return transition.Address{Service: s.Named(), ID: a.UID, IP: a.IP(), Pod: pods.Named(a.UID)}
}
