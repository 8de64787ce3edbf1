package consumers

import (
	"maps"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

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

// staleness holds the in-place updates and the stale re-adds of one Service.
type staleness struct {
	// `updating` contains the address of each pod that is being updated, if it has been ready since the update began.
	// The value reports, for each window, whether the consumer has put the address back since then.
	updating map[event.UID][NumWindows]bool
	// readds counts the stale re-adds by window.
	readds [NumWindows]uint64
}

// ImageUpdated records that an image of the address's pod was changed in place.
func (c *Consumers) ImageUpdated(s Service, address event.UID) {
	if !s.IsReady(address) {
		return
	}
	set := s.Consumers()
	if set.stale == nil {
		set.stale = &staleness{updating: map[event.UID][NumWindows]bool{}}
	}
	set.stale.updating[address] = [NumWindows]bool{}
}

// readd counts the stale re-adds of one consumer at t, and appends them to the given slice.
func (c *Consumers) readd(s Service, window int, t time.Time, readds []Mistake) []Mistake {
	x := s.Consumers().stale
	if x == nil {
		return readds
	}
	var stale []event.UID
	for id, readded := range x.updating {
		if !readded[window] && s.IsReady(id) && c.pods.IsBeingUpdated(id, t) {
			stale = append(stale, id)
			readded[window] = true
			x.updating[id] = readded
		}
	}
	x.readds[window] += uint64(len(stale))
	for _, id := range inOrder(stale) {
		readds = append(readds, Mistake{s, id, transition.ConsumerReaddedStale{
			At: transition.At{Time: t}, Address: transition.Address{Service: s.Named(), ID: id, Pod: c.pods.Named(id)}, Window: windows[window],
		}})
	}
	return readds
}

func (c *Consumers) forgetUpdates(s *Set, t time.Time) {
	if x := s.stale; x != nil {
		maps.DeleteFunc(x.updating, func(id event.UID, _ [NumWindows]bool) bool { return !c.pods.IsBeingUpdated(id, t) })
		if len(x.updating) == 0 && x.readds == [NumWindows]uint64{} {
			s.stale = nil
		}
	}
}

// StartCounting sets the number of stale re-adds to zero.
func (s *Set) StartCounting() {
	if s.stale != nil {
		s.stale.readds = [NumWindows]uint64{}
	}
}

// StaleReadds counts the stale re-adds of a Service by window.
type StaleReadds struct {
	transition.Service
	ByWindow [NumWindows]uint64
}

// StaleReadds returns the number of stale re-adds by window.
func (s *Set) StaleReadds() (by [NumWindows]uint64) {
	if s.stale != nil {
		by = s.stale.readds
	}
	return by
}
