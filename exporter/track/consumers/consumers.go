// Package consumers models clients of Endpoints and EndpointSlices, such as load balancer controllers. These consumers
// apply updates in batches. The package computes how they would react to changes of a Service's addresses.
package consumers

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/queue"
	"github.com/kubeflap/kubeflap/exporter/track/totals"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// NumWindows is the number of batching windows.
const NumWindows = 4

var windows = [NumWindows]time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second}

// Windows returns the batching windows of the modeled consumers. A consumer collects changes for the length of its
// window before it applies them. With a window of 0, it applies each change immediately.
func Windows() [NumWindows]time.Duration { return windows }

// Service lists the methods of a Service that this package calls.
type Service interface {
	Exists() bool
	Named() transition.Service
	IsReady(address event.UID) bool
	Consumers() *Set
}

// podFacts lists the methods of package pods that this package calls.
type podFacts interface {
	Named(id event.UID) transition.Pod
	// IsBeingUpdated reports whether an in-place update of the pod is in progress at t.
	IsBeingUpdated(id event.UID, t time.Time) bool
}

// Consumers holds the consumers of all Services.
type Consumers struct {
	watches *watches.Watches
	pods    podFacts
	// bounceWindow is the maximum length of each part of a bounce. The first part lasts from the removal of an address
	// until the consumer puts the address back. The second part lasts until the consumer removes the address again.
	bounceWindow time.Duration
	namespaces   totals.Totals[counts]
	// `open` holds the open batches of each window, sorted by the time at which they close.
	open [NumWindows]queue.Queue[batch]
}

type counts struct{ updates, bounces [NumWindows]uint64 }

// batch is the open batch of one consumer of one Service.
type batch struct {
	service  Service
	consumer *consumer
}

// Set holds the consumers of one Service. The zero value has no consumers yet.
type Set struct {
	byWindow *[NumWindows]consumer
	// `stale` is nil if the Service has neither stale re-adds nor pods that are being updated in place.
	stale *staleness
}

// consumer is the state of one consumer of one Service.
type consumer struct {
	// `due` is the time at which the open batch closes, or zero.
	due time.Time
	// `applied` contains the addresses that have changed since the batch opened. The value is true if the address was
	// ready before the first change.
	applied map[event.UID]bool
	// `turns` contains the addresses that the consumer removed recently, with the times of their removal and return.
	turns map[event.UID]turns
}

// turns records when a consumer last removed an address, and when it put the address back. The field back is 0 until
// the address is put back.
type turns struct{ out, back event.Moment }

// Mistake is a mistake that a consumer made with one address when a batch closed. It is a bounce or a stale re-add. A
// bounce is an address that the consumer removed, put back, and removed again.
type Mistake struct {
	Service Service
	Address event.UID
	Change  transition.Transition
}

// New returns an empty Consumers.
func New(watches *watches.Watches, pods podFacts, bounceWindow time.Duration) *Consumers {
	return &Consumers{watches: watches, pods: pods, bounceWindow: bounceWindow}
}

// Join adds a Service to its namespace. The counts of a namespace are kept until the namespace has had no Services for
// an hour.
func (c *Consumers) Join(s Service) { c.namespaces.Join(c.namespace(s)) }

// Leave removes a Service from its namespace, and drops the Service's own counts.
func (c *Consumers) Leave(s Service) {
	s.Consumers().stale = nil
	c.namespaces.Leave(c.namespace(s), c.watches.Now())
}

func (c *Consumers) namespace(s Service) *totals.Namespace[counts] {
	return c.namespaces.GetOrAdd(s.Named().Namespace)
}

// Changed informs a Service's consumers that an address became ready or stopped being ready.
func (c *Consumers) Changed(s Service, address event.UID, wasReady bool, t time.Time) {
	set := s.Consumers()
	if set.byWindow == nil {
		set.byWindow = &[NumWindows]consumer{}
	}
	if stale := set.stale; stale != nil && wasReady {
		delete(stale.updating, address)
	}
	for i := range set.byWindow {
		x := &set.byWindow[i]
		if x.due.IsZero() {
			x.due, x.applied = t.Add(windows[i]), map[event.UID]bool{}
			c.open[i].Push(batch{s, x})
		}
		if _, seen := x.applied[address]; !seen {
			x.applied[address] = wasReady
		}
	}
}

// Close applies the batches that are due by t, in order of time. It returns the bounces, followed by the stale re-adds.
func (c *Consumers) Close(t time.Time) []Mistake {
	var bounces, readds []Mistake
	for {
		window := c.nextDue(t)
		if window < 0 {
			return append(bounces, readds...)
		}
		b := c.open[window].Take()
		due, applied := b.consumer.due, b.consumer.applied
		b.consumer.due, b.consumer.applied = time.Time{}, nil
		if b.service.Exists() {
			readds = c.readd(b.service, window, due, readds)
			bounces = c.apply(b, applied, window, due, bounces)
		}
		b.consumer.forget(c.oldest(due))
	}
}

// oldest returns the earliest time of a removal or a return that can be part of a bounce at t.
func (c *Consumers) oldest(t time.Time) event.Moment { return c.watches.Moment(t.Add(-c.bounceWindow)) }

// nextDue returns the index of the window whose batch is due next, or -1 if no batch is due by t. The oldest batch of a
// window is due first, because all batches of a window stay open for the same time.
func (c *Consumers) nextDue(t time.Time) int {
	next := -1
	for i := range c.open {
		if open := &c.open[i]; !open.IsEmpty() && !open.Front().consumer.due.After(t) {
			next, t = i, open.Front().consumer.due.Add(-1)
		}
	}
	return next
}

// apply applies the changes of one batch, and appends the bounces to the given slice.
func (c *Consumers) apply(b batch, applied map[event.UID]bool, window int, due time.Time, bounces []Mistake) []Mistake {
	updated := false
	var bounced []event.UID
	for id, wasReady := range applied {
		ready := b.service.IsReady(id)
		if ready == wasReady {
			continue
		}
		updated = true
		if b.consumer.addressChanged(id, ready, c.watches.Moment(due), c.oldest(due)) {
			bounced = append(bounced, id)
		}
	}
	counts := &c.namespace(b.service).Counts
	if updated {
		counts.updates[window]++
	}
	counts.bounces[window] += uint64(len(bounced))
	for _, id := range inOrder(bounced) {
		bounces = append(bounces, Mistake{b.service, id, transition.ConsumerBounced{
			At: transition.At{Time: due}, Address: transition.Address{Service: b.service.Named(), ID: id}, Window: windows[window],
		}})
	}
	return bounces
}

func inOrder(ids []event.UID) []event.UID {
	slices.SortFunc(ids, func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// addressChanged applies the change of one address, and reports whether the change is a bounce. In a bounce, the
// consumer removes an address that it put back at `oldest` or later.
func (x *consumer) addressChanged(id event.UID, ready bool, now, oldest event.Moment) (bounced bool) {
	last := x.turns[id]
	switch {
	case !ready:
		bounced = last.back != 0 && last.back >= oldest
		last = turns{out: now}
	case last.out != 0 && last.out >= oldest:
		last.back = now
	default:
		return false
	}
	if x.turns == nil {
		x.turns = map[event.UID]turns{}
	}
	x.turns[id] = last
	return bounced
}

// forget drops the addresses that the consumer has neither removed nor put back since `oldest`. If no addresses are
// left, forget also frees the map.
func (x *consumer) forget(oldest event.Moment) {
	maps.DeleteFunc(x.turns, func(_ event.UID, last turns) bool { return max(last.out, last.back) < oldest })
	if len(x.turns) == 0 {
		x.turns = nil
	}
}

// Forget drops the addresses whose last removal or return is too old to be part of a bounce, and the in-place updates
// that are no longer in progress at t. It frees the memory of a Service's consumers if they have no recent changes.
func (c *Consumers) Forget(s Service, t time.Time) {
	set := s.Consumers()
	c.forgetUpdates(set, t)
	if set.byWindow == nil {
		return
	}
	busy := false
	for i := range set.byWindow {
		x := &set.byWindow[i]
		x.forget(c.oldest(t))
		busy = busy || !x.due.IsZero() || x.turns != nil
	}
	if !busy {
		set.byWindow = nil
	}
}

// ForgetNamespaces drops the counts of namespaces that have had no Services for more than an hour.
func (c *Consumers) ForgetNamespaces() { c.namespaces.Forget(c.watches.Now()) }

// StartCounting sets the counters of all namespaces to zero.
func (c *Consumers) StartCounting() { c.namespaces.Reset() }

// Namespace counts the updates and bounces of a namespace's consumers, by batching window.
type Namespace struct {
	Name             string
	Updates, Bounces [NumWindows]uint64
}

// All appends namespaces to the given slice and returns the extended slice. It includes each namespace that has
// Services, or had Services in the last hour.
func (c *Consumers) All(into []Namespace) []Namespace {
	for _, n := range c.namespaces.Sorted() {
		into = append(into, Namespace{n.Name, n.Counts.updates, n.Counts.bounces})
	}
	return into
}
