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

// recentFor is the time for which the recent past of an address matters.
const recentFor = pods.UpdateWindow + time.Second

// ByWindow holds a count for each of transition.Windows.
type ByWindow [transition.NumWindows]uint64

// clients simulates the clients of all Services.
type clients struct{ losses }

// recent is the recent past of an address.
type recent struct {
	// until is the time until which it matters.
	until time.Time
	// left is the time at which the address last stopped being ready. It is 0 if the time is not exact.
	left event.Moment
	// ahead is the last change of the address if the corresponding change of the pod has not been seen, or nil.
	ahead *transition.AddressFollowedPod
	// updating is set if the address's pod is being updated, and the address has been ready since the update began. readded
	// reports, for each window, whether the client has put the address back since then.
	updating bool
	readded  [transition.NumWindows]bool
}

// recently returns the recent past of an address, to change it. It is forgotten later. Otherwise, data about every address
// that ever flapped would accumulate.
func (x *clients) recently(s *service, id event.UID) *recent {
	if s.recent == nil {
		s.recent = map[event.UID]*recent{}
	}
	r, until := s.recent[id], x.watches.Now().Add(recentFor)
	if r == nil {
		r = &recent{}
		s.recent[id] = r
	}
	if until.After(r.until) {
		r.until = until
		x.watches.Schedule(until, watches.RankForget, func() {
			if r.until.Equal(until) {
				delete(s.recent, id)
			}
		})
	}
	return r
}

// imageUpdated records that an image of the address's pod was changed in place.
func (x *clients) imageUpdated(s *service, id event.UID) {
	if s.current && s.isReady(id, x.readFrom) {
		r := x.recently(s, id)
		r.updating, r.readded = true, [transition.NumWindows]bool{}
	}
}

// noteTurned informs a Service's clients that an address became ready or stopped being ready.
func (x *clients) noteTurned(s *service, id event.UID, wasReady bool, t time.Time) *recent {
	r := x.recently(s, id)
	r.updating = r.updating && !wasReady
	for i, window := range transition.Windows() {
		if s.batches[i] {
			continue
		}
		s.batches[i] = true
		if due := t.Add(window); window > 0 { // settleUpdate closes the others when it has seen the whole event
			x.watches.Schedule(due, watches.RankServices, func() { x.close(s, i, due) })
		}
	}
	return r
}

// close applies the open batch of a client, and reports the stale re-adds.
func (x *clients) close(s *service, window int, t time.Time) {
	if !s.batches[window] {
		return
	}
	s.batches[window] = false
	var stale []event.UID
	for id, r := range s.recent {
		if s.current && r.updating && !r.readded[window] && s.isReady(id, x.readFrom) && x.pods.IsBeingUpdated(id, t) {
			r.readded[window] = true
			stale = append(stale, id)
		}
	}
	s.StaleReadds[window] += uint64(len(stale))
	slices.SortFunc(stale, order)
	for _, id := range stale {
		named := transition.Address{Service: s.name, ID: id, Pod: x.pods.Named(id)}
		x.reportOf(s, id, transition.StaleReadd{At: at(t), Address: named, Window: transition.Windows()[window]})
	}
}
