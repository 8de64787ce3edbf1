package consumers

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
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

// podFacts lists the methods of package pods that this package calls.
type podFacts interface {
	// IsBeingUpdated reports whether an in-place update of the pod is in progress at t.
	IsBeingUpdated(id event.UID, t time.Time) bool
}

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
	x := c.stale[s]
	if x == nil {
		x = &staleness{updating: map[event.UID][NumWindows]bool{}}
		c.stale[s] = x
	}
	x.updating[address] = [NumWindows]bool{}
}

// readd counts the stale re-adds of one consumer at t. It appends them to the given slice and returns the extended
// slice.
func (c *Consumers) readd(s Service, window int, t time.Time, readds []Applied) []Applied {
	x := c.stale[s]
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
	slices.SortFunc(stale, func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range stale {
		readds = append(readds, Applied{s, id, t, windows[window]})
	}
	return readds
}

// ForgetUpdates drops the in-place updates that are no longer in progress at t.
func (c *Consumers) ForgetUpdates(t time.Time) {
	for s, x := range c.stale {
		maps.DeleteFunc(x.updating, func(id event.UID, _ [NumWindows]bool) bool { return !c.pods.IsBeingUpdated(id, t) })
		if len(x.updating) == 0 && x.readds == [NumWindows]uint64{} {
			delete(c.stale, s)
		}
	}
}

// StaleReadds counts the stale re-adds of a Service by window.
type StaleReadds struct {
	transition.Service
	ByWindow [NumWindows]uint64
}

// StaleReadds appends the Services with stale re-adds to the given slice, sorted by namespace and name. It returns the
// extended slice.
func (c *Consumers) StaleReadds(into []StaleReadds) []StaleReadds {
	begin := len(into)
	for s, x := range c.stale {
		if x.readds != [NumWindows]uint64{} {
			into = append(into, StaleReadds{s.Named(), x.readds})
		}
	}
	slices.SortFunc(into[begin:], func(a, b StaleReadds) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return into
}
