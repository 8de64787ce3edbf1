package services

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Clients of Endpoints and EndpointSlices, such as load balancer controllers, apply updates in batches. A client collects
// changes for the length of its batching window before it applies them. With a window of 0, it applies each change
// immediately. For each Service, kubeflap simulates one client for each window.
//
// A tool for in-place updates can remove pods from the load balancer before it changes their images. The kubelet
// reports such a pod as Ready until its old container is gone. The old containers do not stop at the same time, so the
// addresses become not ready one by one. A client that batches endpoint updates applies the whole list of ready
// addresses when its window closes. If the window closes during the update, the client puts the addresses that are
// still ready back into the load balancer.
//
// An address is a stale re-add if four conditions hold. An image of its pod was changed in place at most 2 minutes
// ago. The pod has not been Ready with a new container since then. The address is ready when a window of the Service
// closes, and it has been ready since the image changed. A change of another address can have opened this window. The
// last condition does not depend on whether kubeflap sees the return of an address or of its pod first.
//
// For each image change and window length, an address counts as a stale re-add at most once. After the first re-add,
// the load balancer uses the address again, so a later window does not put it back. kubeflap does not see the load
// balancer, so it assumes that the tool had removed the address.

// ByWindow holds a count for each of transition.Windows.
type ByWindow [transition.NumWindows]uint64

// clients simulates the clients of all Services.
type clients struct {
	losses
	// bounceWindow is the maximum length of each part of a bounce. The first part lasts from the removal of an address
	// until it is put back. The second part, which only clients have, lasts until it is removed again.
	bounceWindow time.Duration
	// `forgotten` is the time at which old data was last removed.
	forgotten    time.Time
	propagations Propagations
	// `pending` contains the address changes that were seen before the corresponding pod changes.
	pending []pending
}

// views is what the clients of one Service see.
type views struct {
	// batches holds the open batch of each client. It contains the addresses that have changed since the batch opened. The
	// value is true if the address was ready before.
	batches [transition.NumWindows]map[event.UID]bool
	// recent contains the addresses that recently changed.
	recent map[event.UID]*recent
	// `updating` contains the address of each pod that is being updated, if it has been ready since the update began.
	// The value reports, for each window, whether the client has put the address back since then.
	updating map[event.UID][transition.NumWindows]bool
}

// recent is the recent past of an address.
type recent struct {
	// left is the earliest time at which the address can have stopped being ready, or 0 if it has not, or has returned.
	// The time is exact if `seen` is set.
	left    event.Moment
	seen    bool
	clients [transition.NumWindows]turns
}

// turns is what a client did with an address. out is the time at which the client last removed the address, or 0. back
// is the time at which it then put the address back, or 0.
type turns struct{ out, back event.Moment }

func (s *service) views() *views {
	if s.seenBy == nil {
		s.seenBy = &views{recent: map[event.UID]*recent{}, updating: map[event.UID][transition.NumWindows]bool{}}
	}
	return s.seenBy
}

func (v *views) of(id event.UID) *recent {
	if v.recent[id] == nil {
		v.recent[id] = &recent{}
	}
	return v.recent[id]
}

// isOver reports whether the past no longer matters, if removals and returns before `oldest` do not matter.
func (r *recent) isOver(oldest event.Moment) bool {
	return r.left == 0 && !slices.ContainsFunc(r.clients[:], func(c turns) bool {
		last := max(c.out, c.back)
		return last != 0 && last >= oldest
	})
}

// noteTurned informs a Service's clients that an address became ready or stopped being ready.
func (x *clients) noteTurned(s *service, id event.UID, wasReady bool, t time.Time) {
	v := s.views()
	if wasReady {
		delete(v.updating, id)
	}
	for i, window := range transition.Windows() {
		if v.batches[i] == nil {
			v.batches[i] = map[event.UID]bool{}
			if due := t.Add(window); window > 0 { // settle closes the others when it has seen the whole event
				x.watches.Schedule(due, watches.RankBatch, "", func() { x.close(s, i, due) })
			}
		}
		if _, changed := v.batches[i][id]; !changed {
			v.batches[i][id] = wasReady
		}
	}
}

// close applies the open batch of a client. It reports the bounces, and then the stale re-adds. In a bounce, a client
// removed an address, put it back, and removed it again.
func (x *clients) close(s *service, window int, t time.Time) {
	v := s.seenBy
	batch := v.batches[window]
	if v.batches[window] = nil; batch == nil || !s.current {
		return
	}
	stale := x.stale(s, window, t)
	for _, id := range slices.SortedFunc(maps.Keys(batch), order) {
		isReady := s.isReady(id, x.readFrom)
		if isReady != batch[id] && v.of(id).clients[window].turn(isReady, x.watches.Moment(t), x.oldest(t)) {
			x.reportOf(s, id, transition.ConsumerBounced{At: at(t), Address: transition.Address{Service: s.name, ID: id}, Window: transition.Windows()[window]})
		}
	}
	for _, id := range stale {
		named := transition.Address{Service: s.name, ID: id, Pod: x.pods.Named(id)}
		x.reportOf(s, id, transition.ConsumerReaddedStale{At: at(t), Address: named, Window: transition.Windows()[window]})
	}
}

// oldest returns the earliest time of a removal or a return that can be part of a bounce at t.
func (x *clients) oldest(t time.Time) event.Moment { return x.watches.Moment(t.Add(-x.bounceWindow)) }

// turn applies the change of an address, and reports whether the change is a bounce. In a bounce, the client removes an
// address that it put back at `oldest` or later.
func (c *turns) turn(isReady bool, now, oldest event.Moment) (bounced bool) {
	switch {
	case !isReady:
		bounced = c.back != 0 && c.back >= oldest
		c.out, c.back = now, 0
	case c.out != 0 && c.out >= oldest:
		c.back = now
	}
	return bounced
}

// stale counts and returns the stale re-adds of one client.
func (x *clients) stale(s *service, window int, t time.Time) (stale []event.UID) {
	for id, readded := range s.seenBy.updating {
		if !readded[window] && s.isReady(id, x.readFrom) && x.pods.IsBeingUpdated(id, t) {
			stale = append(stale, id)
			readded[window] = true
			s.seenBy.updating[id] = readded
		}
	}
	s.StaleReadds[window] += uint64(len(stale))
	slices.SortFunc(stale, order)
	return stale
}

// Forget occasionally drops the changes of addresses that are too old to be part of a bounce, and the in-place updates
// that are no longer in progress. Otherwise, data about every address that ever flapped would accumulate.
func (x *Services) Forget() {
	t := x.watches.Now()
	if t.Sub(x.forgotten) <= max(x.bounceWindow, time.Minute) {
		return
	}
	x.forgotten = t
	for _, s := range x.all {
		s.forgetReplaced(t)
		v := s.seenBy
		if v == nil {
			continue
		}
		maps.DeleteFunc(v.updating, func(id event.UID, _ [transition.NumWindows]bool) bool { return !x.pods.IsBeingUpdated(id, t) })
		maps.DeleteFunc(v.recent, func(_ event.UID, r *recent) bool {
			if t.Sub(x.watches.Time(r.left)) > x.bounceWindow {
				r.left = 0
			}
			return r.isOver(x.oldest(t))
		})
		if len(v.recent)+len(v.updating) == 0 && !slices.ContainsFunc(v.batches[:], func(b map[event.UID]bool) bool { return b != nil }) {
			s.seenBy = nil
		}
	}
}
