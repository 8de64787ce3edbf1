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

// batching simulates the clients of all Services.
type batching struct {
	*facts
	// bounceWindow is the maximum length of each part of a bounce. The first part lasts from the removal of an address
	// until it is put back. The second part, which only clients have, lasts until it is removed again.
	bounceWindow time.Duration
	// `open` holds the open batches, sorted by the time at which they close, and by window.
	open []*batch
	// `forgotten` is the time at which old data was last removed.
	forgotten time.Time
}

// batch is the open batch of one client of one Service.
type batch struct {
	service *service
	window  int
	due     time.Time
	// wasReady contains the addresses that have changed since the batch opened. The value is true if the address was ready
	// before.
	wasReady map[event.UID]bool
}

// clients holds the clients of one Service, or is nil if nothing has changed for a while.
type clients struct {
	batches [transition.NumWindows]*batch
	// recent contains the addresses that recently changed.
	recent map[event.UID]*recent
	// `updating` contains the address of each pod that is being updated, if it has been ready since the update began.
	// The value reports, for each window, whether the client has put the address back since then.
	updating map[event.UID][transition.NumWindows]bool
	// readds counts the stale re-adds.
	readds ByWindow
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

func (s *service) current() *clients {
	if s.clients == nil {
		s.clients = &clients{recent: map[event.UID]*recent{}, updating: map[event.UID][transition.NumWindows]bool{}}
	}
	return s.clients
}

func (c *clients) of(id event.UID) *recent {
	if c.recent[id] == nil {
		c.recent[id] = &recent{}
	}
	return c.recent[id]
}

// isOver reports whether the past no longer matters, if removals and returns before `oldest` do not matter.
func (r *recent) isOver(oldest event.Moment) bool {
	return r.left == 0 && !slices.ContainsFunc(r.clients[:], func(c turns) bool {
		last := max(c.out, c.back)
		return last != 0 && last >= oldest
	})
}

// noteTurned informs a Service's clients that an address became ready or stopped being ready.
func (x *batching) noteTurned(s *service, id event.UID, wasReady bool, t time.Time) {
	c := s.current()
	if wasReady {
		delete(c.updating, id)
	}
	for i, window := range transition.Windows() {
		b := c.batches[i]
		if b == nil {
			b = &batch{s, i, t.Add(window), map[event.UID]bool{}}
			c.batches[i] = b
			at, _ := slices.BinarySearchFunc(x.open, b, func(o, b *batch) int {
				if c := o.due.Compare(b.due); c > 0 || c == 0 && o.window > b.window {
					return 1
				}
				return -1
			})
			x.open = slices.Insert(x.open, at, b)
		}
		if _, changed := b.wasReady[id]; !changed {
			b.wasReady[id] = wasReady
		}
	}
}

// imageUpdated records that an image of the address's pod was changed in place.
func (x *batching) imageUpdated(s *service, id event.UID) {
	if !s.IsReady(id, x.losses.ReadFrom) {
		return
	}
	s.current().updating[id] = [transition.NumWindows]bool{}
}

// CloseBatches applies the batches that are due by t, in order of time. It reports the bounces, and then the stale
// re-adds. In a bounce, a client removed an address, put it back, and removed it again.
func (x *batching) CloseBatches(t time.Time) {
	var bounces, readds []func()
	for len(x.open) > 0 && !x.open[0].due.After(t) {
		b := watches.Take(&x.open)
		b.service.clients.batches[b.window] = nil
		if b.service.Current {
			readds = append(readds, x.readd(b)...)
			bounces = append(bounces, x.apply(b)...)
		}
	}
	for _, report := range append(bounces, readds...) {
		report()
	}
}

// oldest returns the earliest time of a removal or a return that can be part of a bounce at t.
func (x *batching) oldest(t time.Time) event.Moment { return x.watches.Moment(t.Add(-x.bounceWindow)) }

// apply applies the changes of one batch, and returns the reports of the bounces.
func (x *batching) apply(b *batch) (bounces []func()) {
	s, now, oldest := b.service, x.watches.Moment(b.due), x.oldest(b.due)
	for _, id := range slices.SortedFunc(maps.Keys(b.wasReady), order) {
		ready := s.IsReady(id, x.losses.ReadFrom)
		if ready == b.wasReady[id] {
			continue
		}
		if s.clients.of(id).clients[b.window].turn(ready, now, oldest) {
			bounced := transition.ConsumerBounced{At: at(b.due), Address: transition.Address{Service: s.Name, ID: id}, Window: transition.Windows()[b.window]}
			bounces = append(bounces, func() { x.losses.ReportOf(&s.Service, id, bounced) })
		}
	}
	return bounces
}

// turn applies the change of an address, and reports whether the change is a bounce. In a bounce, the client removes an
// address that it put back at `oldest` or later.
func (c *turns) turn(ready bool, now, oldest event.Moment) (bounced bool) {
	switch {
	case !ready:
		bounced = c.back != 0 && c.back >= oldest
		c.out, c.back = now, 0
	case c.out != 0 && c.out >= oldest:
		c.back = now
	}
	return bounced
}

// readd counts the stale re-adds of one client, and returns their reports.
func (x *batching) readd(b *batch) (readds []func()) {
	s := b.service
	var stale []event.UID
	for id, readded := range s.clients.updating {
		if !readded[b.window] && s.IsReady(id, x.losses.ReadFrom) && x.pods.IsBeingUpdated(id, b.due) {
			stale = append(stale, id)
			readded[b.window] = true
			s.clients.updating[id] = readded
		}
	}
	s.clients.readds[b.window] += uint64(len(stale))
	slices.SortFunc(stale, order)
	for _, id := range stale {
		readded := transition.ConsumerReaddedStale{
			At: at(b.due), Address: transition.Address{Service: s.Name, ID: id, Pod: x.pods.Named(id)}, Window: transition.Windows()[b.window],
		}
		readds = append(readds, func() { x.losses.ReportOf(&s.Service, id, readded) })
	}
	return readds
}

// forget occasionally drops the changes of addresses that are too old to be part of a bounce, and the in-place updates
// that are no longer in progress at t. Otherwise, data about every address that ever flapped would accumulate.
func (x *batching) forget(all map[owned]*service, t time.Time) {
	if t.Sub(x.forgotten) <= max(x.bounceWindow, time.Minute) {
		return
	}
	x.forgotten = t
	for _, s := range all {
		s.ForgetReplaced(t)
		c := s.clients
		if c == nil {
			continue
		}
		maps.DeleteFunc(c.updating, func(id event.UID, _ [transition.NumWindows]bool) bool { return !x.pods.IsBeingUpdated(id, t) })
		maps.DeleteFunc(c.recent, func(_ event.UID, r *recent) bool {
			if t.Sub(x.watches.Time(r.left)) > x.bounceWindow {
				r.left = 0
			}
			return r.isOver(x.oldest(t))
		})
		if len(c.recent)+len(c.updating) == 0 && c.readds == (ByWindow{}) && c.batches == [transition.NumWindows]*batch{} {
			s.clients = nil
		}
	}
}
