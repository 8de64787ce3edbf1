package track

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

type serviceKey struct{ namespace, name string }

// ownedKey is a Service as a slice names it: by its label and its owner's UID.
type ownedKey struct {
	serviceKey
	uid event.UID
}

// service is a Service and its addresses, which may come in either order.
type service struct {
	key serviceKey
	// uid is zero if there is no such Service, only slices and Endpoints of its name.
	uid        event.UID
	generation uint32
	// remembered is the newest list of slices before which its past was kept.
	remembered uint32
	created    time.Time
	kind       string
	selector   bool
	publish    bool
	// exists: the Service was seen and is there; doubted: it is to be compared.
	exists, doubted bool
	// choice is a hash of what chooses its addresses, changed when that last changed;
	// edited is when someone wrote or deleted what its controller keeps, sliceDeleted when one of the slices went
	// that the controller keeps.
	choice                        uint64
	changed, edited, sliceDeleted time.Time

	addresses addressSet
	// left are the addresses that left rotation lately, and when.
	left      map[event.UID]time.Time
	leftSwept time.Time

	addressCounts
	// outageSince is when the running outage began; zero if there is none.
	outageSince time.Time
	outageCause Cause
	// outageSeen: it was seen to begin when it did.
	outageSeen bool
	// untold are the losses that are not reported yet, in the order in which they happened; lastOutage is the last of them that
	// began an outage, nil if none did.
	untold     queue[*loss]
	lastOutage *loss

	// holders are the slices and Endpoints that hold its addresses, managed counts
	// their addresses with a targetRef, which only a controller writes.
	holders []*holder
	managed int
	byHand  byHand

	// consumers gather the changes of its addresses; nil until there is one.
	consumers *[NumWindows]consumer
	// disputed are the addresses on whose readiness Endpoints, slices and pods
	// disagree, and since when.
	disputed map[event.UID]time.Time
	// alone is the list of it alone, which all pods share that are in no other Service.
	alone serviceList
}

// addressCounts is what is counted of a Service's addresses.
type addressCounts struct {
	flips          [2]uint64 // to ready, to not ready
	added, removed uint64
	bounces        uint64
	outages        uint64
	// outage is the time in finished outages.
	outage time.Duration
	// lost counts ready addresses that were lost, losses those whose cause is known, by that; lastLoss is when the
	// last of these was, by lastCause.
	lost      uint64
	losses    [numCauses]uint32
	lastLoss  time.Time
	lastCause Cause
}

func (f *Tracker) applyService(e event.Event, o *event.Service) {
	key := serviceKey{o.Namespace, o.Name}
	s := f.services[key]
	if e.Type == event.Deleted {
		if s != nil && s.uid == o.UID {
			f.retire(s)
		}
		return
	}
	if s == nil || !s.exists || s.uid != o.UID {
		s = f.succeed(s, key, o.UID)
		s.exists, s.created = true, e.Seen
		f.movedIn(s)
	}
	s.generation = f.generation(e)
	s.kind, s.selector, s.publish = o.Type, len(o.Selector) > 0, o.PublishNotReady
	s.noteChoice(e, o)
	f.checkConflict(s, e.Seen)
}

// noteChoice notes when a Service begins to choose other pods. A change may
// explain losses that were seen before it.
func (s *service) noteChoice(e event.Event, o *event.Service) {
	choice := choiceOf(o)
	if s.choice != 0 && s.choice != choice {
		s.changed = e.Seen
	}
	s.choice = choice
}

// choiceOf is a hash of the selector and publishNotReadyAddresses, whatever the order of the map; never 0.
func choiceOf(o *event.Service) uint64 {
	choice := uint64(2)
	if o.PublishNotReady {
		choice = 4
	}
	for key, value := range o.Selector {
		choice += hashOf(key+"="+value) << 1
	}
	return choice | 1
}

// succeed makes the Service of a new UID the one of its name, with what its own
// slices have told of it already. What speaks for no Service in particular (Endpoints,
// slices without an owner) goes over to it without counting: it is where the new
// Service begins.
func (f *Tracker) succeed(old *service, key serviceKey, uid event.UID) *service {
	s := f.others[ownedKey{key, uid}]
	if s == nil {
		s = &service{key: key, uid: uid}
	}
	delete(f.others, ownedKey{key, uid})
	f.services[key], f.order.services = s, nil
	if old == nil {
		return s
	}
	f.end(old)
	for _, h := range slices.Clone(old.holders) {
		if h.owner.IsZero() {
			f.move(h, s)
		}
	}
	return s
}

// retire ends a deleted Service. Its addresses go when their slices do, which counts nothing.
func (f *Tracker) retire(s *service) {
	f.end(s)
	f.forgetServiceIfGone(s)
}

// end tells that a Service is gone, deleted or replaced by another of its name.
func (f *Tracker) end(s *service) {
	if s.exists {
		f.reportOf(s, Finding{Time: f.now, Kind: ServiceRemoved})
		s.exists = false
		f.movedOut(s)
	}
}

// forgetServiceIfGone drops a Service that nothing speaks of any more.
func (f *Tracker) forgetServiceIfGone(s *service) {
	if s.exists || len(s.holders) > 0 {
		return
	}
	if f.services[s.key] == s {
		delete(f.services, s.key)
		f.order.services = nil
	}
	if owned := (ownedKey{s.key, s.uid}); f.others[owned] == s {
		delete(f.others, owned)
	}
}

// serviceOf finds the Service that a slice or an Endpoints object belongs to: by
// the owner's UID where it has one, since a Service and its successor of the same
// name may both have slices for a while.
func (f *Tracker) serviceOf(key serviceKey, owner event.UID) *service {
	s := f.services[key]
	if owner.IsZero() {
		if s == nil {
			s = &service{key: key}
			f.services[key], f.order.services = s, nil
		}
		return s
	}
	if s != nil && s.uid == owner {
		return s
	}
	owned := ownedKey{key, owner}
	if f.others[owned] == nil {
		f.others[owned] = &service{key: key, uid: owner}
	}
	return f.others[owned]
}

func (f *Tracker) sweepServices(e event.Event) {
	var gone []*service
	for _, s := range f.services {
		if s.exists && s.generation != f.generation(e) {
			gone = append(gone, s)
		}
	}
	slices.SortFunc(gone, func(a, b *service) int {
		return cmp.Or(strings.Compare(a.key.namespace, b.key.namespace), strings.Compare(a.key.name, b.key.name))
	})
	for _, s := range gone {
		f.retire(s)
	}
}

// shift is what happens to the addresses of one Service by one event.
type shift struct {
	*service
	at time.Time
	// quiet: it is a baseline, so nothing is counted.
	quiet bool
	// wasTruncated, truncated: the Endpoints object left addresses out before, or does now.
	wasTruncated, truncated bool
	// mirrored: a slice made from Endpoints.
	mirrored bool
}

// moved counts the change of one address from one state to another.
func (f *Tracker) moved(s shift, a *address, from, to state) {
	// What a truncated object did not show may have been there, and may be still.
	if s.quiet || from == stateNone && s.wasTruncated {
		return
	}
	if to == stateNone && s.truncated {
		if from == stateNotReady {
			f.tellOfAddress(s.service, f.addressFinding(s, a, AddressLeftOut))
		}
		return
	}
	var kind FindingKind
	switch {
	case !from.stays() && to.stays():
		s.added++
		kind = AddressAdded
	case from.stays() && !to.stays():
		s.removed++
		kind = AddressRemoved
	case to == stateReady:
		s.flips[0]++
		kind = AddressReady
	case from == stateReady:
		s.flips[1]++
		kind = AddressNotReady
	default: // what is terminating vanishes
		return
	}
	if (from == stateReady) != (to == stateReady) {
		f.gather(s, a.uid, from == stateReady)
	}
	if from == stateReady {
		f.leftRotation(s, a)
		f.lose(s, a, kind, to)
	} else {
		x := f.addressFinding(s, a, kind)
		if kind == AddressAdded {
			x.To = readiness(to)
		}
		f.tellOfAddress(s.service, x)
	}
	if to == stateReady {
		f.backInRotation(s, a)
	}
	f.observePropagation(s, a, from, to)
}

func (f *Tracker) leftRotation(s shift, a *address) {
	if s.left == nil {
		s.left = map[event.UID]time.Time{}
	}
	// After a break of the watch it may have left any time since that began.
	s.left[a.uid] = f.watches[f.source].notBefore(s.at)
	if s.at.Sub(s.leftSwept) <= f.settings.BounceWindow {
		return
	}
	s.forgetLeft(s.at, f.settings.BounceWindow)
}

// forgetLeft forgets what left rotation too long ago to bounce.
func (s *service) forgetLeft(t time.Time, within time.Duration) {
	s.leftSwept = t
	maps.DeleteFunc(s.left, func(_ event.UID, at time.Time) bool { return t.Sub(at) > within })
	if len(s.left) == 0 {
		s.left = nil
	}
}

func (f *Tracker) backInRotation(s shift, a *address) {
	at, ok := s.left[a.uid]
	if !ok {
		return
	}
	if delete(s.left, a.uid); len(s.left) == 0 {
		s.left = nil
	}
	if away := s.at.Sub(at); away <= f.settings.BounceWindow {
		s.bounces++
		x := f.addressFinding(s, a, AddressBounced)
		x.Duration = away
		f.tellOfAddress(s.service, x)
	}
}

// settle draws the sum when all addresses of an event have moved: the causes of
// the losses that are known by now, and an outage that began or ended.
func (f *Tracker) settle(s shift, readyBefore, lossesBefore int) {
	ready := s.addresses.count[stateReady]
	live := f.watches[f.source].live(s.at)
	if readyBefore > 0 && ready == 0 && !s.quiet {
		s.outages++
		s.outageSince, s.outageCause, s.outageSeen = s.at, CauseUnknown, live
		f.blameLastLoss(s.service, lossesBefore)
	}
	f.settleLossesFrom(lossesBefore)
	f.closeWindows(s.at)
	if ready > 0 && !s.outageSince.IsZero() {
		lasted := s.at.Sub(s.outageSince)
		s.outage += lasted
		s.outageSince = time.Time{}
		f.endOutage(s.service, Finding{Time: s.at, Kind: OutageEnded, Duration: lasted, Complete: live && s.outageSeen})
	}
}

func (s *service) outageAsOf(t time.Time) time.Duration {
	if s.outageSince.IsZero() {
		return s.outage
	}
	return s.outage + t.Sub(s.outageSince)
}

func (f *Tracker) addressFinding(s shift, a *address, kind FindingKind) Finding {
	x := Finding{Time: s.at, Kind: kind, IP: a.ip(), Address: a.uid}
	x.takePod(f.podOf(a.uid))
	return x
}

// takePod says whose address it is; p may be nil.
func (x *Finding) takePod(p *pod) {
	if p != nil {
		x.Pod, x.Node, x.Owner = p.name(), p.node.Value(), p.owner.Value()
	}
}

// readiness is a state as Finding.To has it.
func readiness(s state) string {
	if s == stateReady {
		return "ready"
	}
	return "not_ready"
}

// reportOf reports of a Service; of one that is not there there is nothing to tell.
func (f *Tracker) reportOf(s *service, x Finding) {
	if !s.exists {
		return
	}
	x.Namespace, x.Service = s.key.namespace, s.key.name
	f.report(x)
}
