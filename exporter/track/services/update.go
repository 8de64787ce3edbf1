package services

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// update is the effect of one event, or of a list of EndpointSlices, on the addresses of one Service.
type update struct {
	*service
	// source is the changed object, or nil for a list.
	source *source
	at     time.Time
	// version is the resourceVersion of the event's object, or empty.
	version string
	// `quiet` is set if the changes of the event are not counted. This is the case for the first list of a resource. It
	// is also the case for later lists of EndpointSlices, because SlicesListed compares the whole list.
	quiet bool
	// `vanished` is set if the object, or a slice in a list, was deleted while kubeflap did not watch. The removal of its
	// addresses then does not count as a reset.
	vanished bool
	// relisting is set for an event of a later list of EndpointSlices. SlicesListed counts the changes of such a list.
	relisting bool
	// edited is set if somebody wrote or deleted an object that a controller manages. deleted is set if kubeflap saw that the
	// object was deleted.
	edited, deleted bool
	// wasTruncated reports whether the Endpoints object omitted addresses before the event.
	wasTruncated bool
	// `before` counts the addresses before the event. readyBefore is the number of ready ones.
	before      tally
	readyBefore int32
	// listBefore holds the addresses before a list.
	listBefore []address
	// lost holds the losses that the event made.
	lost []*loss
}

// newUpdate returns the effect of an event on a source, before the event is applied.
func (x *Services) newUpdate(h *source, e event.Event) update {
	e.Kind = h.kind
	s := h.service
	u := update{
		service: s, source: h, at: e.Seen, vanished: e.IsInferred(), before: s.tally(h.kind), readyBefore: s.count[ready], wasTruncated: h.truncated,
		relisting: h.kind == event.KindEndpointSlice && x.watches.Relisting(e),
	}
	if e.Object != nil {
		u.version = e.Object.Metadata().ResourceVersion
	}
	if u.relisting {
		x.remember(&u)
	}
	u.quiet = u.relisting || x.watches.First(e) || x.isBaseline(s, h.kind, e.Seen)
	return u
}

// isBaseline reports whether a change that was seen at t belongs to the initial state of a Service. This is the case if
// the change may have happened before the Service was first seen, because a watch was broken, or is behind. The changed
// object can then belong to a deleted Service with the same name.
func (q *facts) isBaseline(s *service, k event.Kind, t time.Time) bool {
	version := q.watches.Version()
	isOlder := version != 0 && version < s.createdBy && t.Sub(s.created) <= watches.LagWait // etcd can count each resource's versions apart
	return q.watches.NotBefore(k, t).Before(s.created) || isOlder
}

// countChange counts the change of one address.
func (q *losses) countChange(u *update, a changed) {
	from, to := a.was, a.state
	// Truncated Endpoints omit addresses. So an address that appears is not necessarily new, and a ready address that
	// disappears can still exist.
	isTruncated := u.source != nil && u.source.truncated
	if u.quiet || from == absent && u.wasTruncated || from == ready && to == absent && isTruncated {
		return
	}
	when, named := at(u.at), transition.Address{Service: u.name, ID: a.id, IP: a.ip(), Pod: q.pods.Named(a.id)}
	switch {
	case from.stays() != to.stays():
	case to == ready:
		u.TurnedReady++
	case from == ready:
		u.TurnedNotReady++
	default: // a change between absent and terminating
		return
	}
	wasReady, isReady := from == ready, to == ready
	var r *recent
	if wasReady != isReady {
		r = q.noteTurned(u.service, a.id, wasReady, u.at)
	}
	if wasReady {
		q.noteLoss(u, a, named, r)
	} else {
		q.reportOf(u.service, a.id, gain(when, named, from, to, q.awayUntil(u.at, r)))
	}
	// After a break, a watch delivers events late, so the propagation time would be meaningless.
	if p := q.pods.Find(a.id); p != nil && wasReady != isReady && q.watches.Live(q.readFrom, u.at) {
		q.observe(u.service, p, r, transition.AddressFollowedPod{At: when, Address: named, Ready: isReady})
	}
}

// noteLoss starts the search for the cause of a loss.
func (q *losses) noteLoss(u *update, a changed, named transition.Address, r *recent) {
	if r.left = 0; q.notBefore(q.readFrom, u.at).Equal(u.at) {
		r.left = q.watches.Moment(u.at)
	}
	s := u.service
	l := &loss{
		service: s, of: int(u.readyBefore), recovered: s.recovered, manual: a.manual, terminating: a.state == terminating, vanished: u.vanished,
		version: q.watches.Version(), keeper: a.keeper, edited: u.edited, deleted: u.deleted,
		change: transition.AddressLost{
			At: at(u.at), Address: named, Removed: !a.state.stays(), Trigger: transition.Trigger(s.uid, u.version),
			Foreign: a.state == absent && a.foreign && s.hasSelector() && (q.readFrom != event.KindEndpoints || !s.conflict),
		},
	}
	if u.source != nil {
		l.keeper = u.source.keeper
	}
	if !l.change.Foreign {
		s.ownLost = q.watches.Moment(u.at)
	}
	u.lost, s.unreported, q.byAddress[a.id] = append(u.lost, l), append(s.unreported, l), append(q.byAddress[a.id], l)
	q.await(l)
}

// awayUntil returns how long an address was not ready that is ready again at t. It returns 0 if the times are not exact, or
// are long ago.
func (q *losses) awayUntil(t time.Time, r *recent) time.Duration {
	if r == nil || r.left == 0 || !q.notBefore(q.readFrom, t).Equal(t) {
		return 0
	}
	return t.Sub(q.watches.Time(r.left))
}

// gain describes a change of an address that was not ready before the change.
func gain(when transition.At, named transition.Address, from, to state, away time.Duration) transition.Transition {
	switch {
	case !from.stays():
		return transition.AddressAdded{At: when, Address: named, Ready: to == ready, Away: away}
	case !to.stays():
		return transition.AddressRemoved{At: when, Address: named}
	}
	return transition.AddressReady{At: when, Address: named, Away: away}
}

// recoverIfReady ends the current outage if the Service has a ready address.
func (q *losses) recoverIfReady(s *service) {
	if now := q.watches.Now(); s.outage != nil && s.count[ready] > 0 {
		q.recover(s, now, q.notBefore(q.readFrom, now))
	}
}

// settleUpdate completes an event after all addresses have their new states. It resolves the losses whose cause is already
// certain, and begins or ends an outage.
func (q *losses) settleUpdate(u *update) {
	s := u.service
	if u.readyBefore > 0 && s.count[ready] == 0 && !u.quiet && s.needsAddresses() {
		q.beginOutage(s, u.at, u.lost)
	}
	q.settleAny(u.lost, false)
	q.close(s, 0, u.at)
	q.recoverIfReady(s)
}

// remember stores the state of a Service before an event of a relist of EndpointSlices changes the state. The list
// arrives slice by slice, and an address can move from one slice to another. Therefore, kubeflap compares the addresses
// only after the list is complete. If the list is interrupted, the state is kept for the next list.
func (x *Services) remember(u *update) {
	s := u.service
	if s.relist == nil {
		s.relist = &update{service: s, before: u.before, readyBefore: u.readyBefore, listBefore: s.addresses(x.readFrom)}
		x.relists = append(x.relists, s.relist)
		for _, h := range s.sources {
			h.relisted = h.manual
		}
	}
	s.relist.vanished = s.relist.vanished || u.vanished
}

// SlicesListed compares the states of Services before and after a relist, and counts the changes.
func (x *Services) SlicesListed(t time.Time) {
	relists := x.relists
	x.relists = nil
	for _, u := range relists {
		s := u.service
		if s.relist = nil; s.deleted {
			continue
		}
		u.at, u.quiet = t, x.isBaseline(s, event.KindEndpointSlice, t)
		if x.readFrom == event.KindEndpointSlice {
			for _, c := range compare(u.listBefore, s.addresses(event.KindEndpointSlice)) {
				x.countChange(u, c)
			}
			x.settleUpdate(u)
		}
		x.compare(u, event.KindEndpointSlice, false)
	}
}
