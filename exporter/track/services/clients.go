package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
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

// bounceWindow is the maximum length of each part of a bounce: until a client puts back an address that it has removed,
// and until it then removes the address again.
const bounceWindow = 2 * time.Minute

// ByWindow holds a count for each of transition.Windows.
type ByWindow [transition.NumWindows]uint64

// recent is the recent past of an address.
type recent struct {
	// until is the time until which it matters.
	until time.Time
	// left is the time at which the address last stopped being ready. It is 0 if the time is not exact.
	left    event.Moment
	clients [transition.NumWindows]turns
	// ahead is the last change of the address if the corresponding change of the pod has not been seen, or nil.
	ahead *transition.AddressFollowedPod
	// updating is set if the address's pod is being updated, and the address has been ready since the update began. readded
	// reports, for each window, whether the client has put the address back since then.
	updating bool
	readded  [transition.NumWindows]bool
}

// turns is what a client did with an address. out is the time at which the client last removed the address, or 0. back
// is the time at which it then put the address back, or 0.
type turns struct {
	out, back event.Moment
	// waits is set if the address has changed since the client's batch opened. wasReady is set if it was ready before.
	waits, wasReady bool
}

// recently returns the recent past of an address, to change it. It is forgotten after the given time. Otherwise, data about
// every address that ever flapped would accumulate.
func (q *losses) recently(s *service, id event.UID, after time.Duration) *recent {
	if s.recent == nil {
		s.recent = map[event.UID]*recent{}
	}
	r, until := s.recent[id], q.watches.Now().Add(after)
	if r == nil {
		r = &recent{until: until}
		s.recent[id] = r
		q.forget(s, id, r)
	} else if until.After(r.until) {
		r.until = until
	}
	return r
}

// forget forgets the recent past of an address once it no longer matters. For an address that flaps all the time, only one
// task is pending.
func (q *losses) forget(s *service, id event.UID, r *recent) {
	due := r.until
	q.watches.Schedule(due, watches.RankForget, func() {
		if r.until.After(due) {
			q.forget(s, id, r)
		} else {
			delete(s.recent, id)
		}
	})
}

// imageUpdated records that an image of the address's pod was changed in place.
func (q *losses) imageUpdated(s *service, id event.UID) {
	if s.isReady(id, q.readFrom) {
		r := q.recently(s, id, pods.UpdateWindow+time.Second)
		r.updating, r.readded = true, [transition.NumWindows]bool{}
	}
}

// noteTurned informs a Service's clients that an address became ready or stopped being ready.
func (q *losses) noteTurned(s *service, id event.UID, wasReady bool, t time.Time) *recent {
	windows := transition.Windows()
	r := q.recently(s, id, bounceWindow+windows[len(windows)-1]+time.Second)
	r.updating = r.updating && !wasReady
	for i, window := range windows {
		if !s.batches[i] {
			s.batches[i] = true
			if due := t.Add(window); window > 0 { // settleUpdate closes the others when it has seen the whole event
				q.watches.Schedule(due, watches.RankServices, func() { q.close(s, i, due) })
			}
		}
		if c := &r.clients[i]; !c.waits {
			c.waits, c.wasReady = true, wasReady
		}
	}
	return r
}

// close applies the open batch of a client. It reports the bounces, and then the stale re-adds. In a bounce, a client
// removed an address, put it back, and removed it again.
func (q *losses) close(s *service, window int, t time.Time) {
	if !s.batches[window] || s.deleted {
		return
	}
	s.batches[window] = false
	var bounced, stale []event.UID
	for id, r := range s.recent {
		c := &r.clients[window]
		if !c.waits && !r.updating {
			c.waits = false
			continue
		}
		isReady := s.isReady(id, q.readFrom)
		if r.updating && isReady && !r.readded[window] && q.pods.IsBeingUpdated(id, t) {
			r.readded[window] = true
			stale = append(stale, id)
		}
		if c.waits && c.wasReady != isReady && c.turn(isReady, q.watches.Moment(t), q.watches.Moment(t.Add(-bounceWindow))) {
			bounced = append(bounced, id)
		}
		c.waits = false
	}
	s.StaleReadds[window] += uint64(len(stale))
	for i, mistaken := range [][]event.UID{bounced, stale} {
		slices.SortFunc(mistaken, order)
		for _, id := range mistaken {
			named := transition.Address{Service: s.name, ID: id, Pod: q.pods.Named(id)}
			q.reportOf(s, id, transition.ConsumerMistake{At: at(t), Address: named, Window: transition.Windows()[window], Stale: i == 1})
		}
	}
}

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
