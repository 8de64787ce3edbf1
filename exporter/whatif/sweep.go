package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// bounceWindow is the default of --bounce-window.
const bounceWindow = 2 * time.Minute

// counts holds the results of a sweep.
type counts struct {
	losses, needless, outages int
	outage                    time.Duration
	// traffic is the time that addresses of failed nodes stayed in rotation, summed over the addresses.
	traffic          time.Duration
	updates, bounces [consumers.NumWindows]uint64
}

// turn is the start or the end of a predicted eviction, or of a predicted period in which a node is Unknown.
type turn struct {
	at   time.Time
	kind turnKind
	mark *mark
	// pod is the evicted pod if kind is turnEvicted or turnReplaced, otherwise nil.
	pod *pod
}

type turnKind uint8

const (
	// turnMarked means that a node becomes Unknown. turnReturned means that the node and its pods are Ready again.
	turnMarked turnKind = iota
	turnReturned
	// turnCost means that a failed node does not become Unknown during its silence. Such a turn affects only
	// counts.traffic.
	turnCost
	// turnEvicted means that a pod is evicted, and turnReplaced means that the replacement of the pod is ready.
	turnEvicted
	turnReplaced
)

// sweep replays the recorded changes of all addresses, and applies the predicted marks and evictions.
type sweep struct {
	recorded bool
	marked   map[string]int
	states   map[*address]*state
	byNode   map[string][]*address
	services map[*service]*clients
	order    []*clients
	watches  *watches.Watches
	clients  *consumers.Consumers
	counts   counts
}

// state is the state of an address during a sweep. moved is set if the pod was evicted. In this case, node is the node
// of the replacement pod, or empty if that node is not known. absent is set from the eviction until the replacement is
// ready.
type state struct {
	base, ready, moved, absent bool
	node                       string
}

// clients is the state of a Service during a sweep. It implements consumers.Service.
type clients struct {
	of    *service
	sweep *sweep
	set   consumers.Set
	ids   map[event.UID]*address
	ready int
	gone  bool
	// since is the start of the current outage, or zero.
	since time.Time
}

// Exists implements consumers.Service.
func (c *clients) Exists() bool { return !c.gone }

// Namespace implements consumers.Service.
func (c *clients) Namespace() string { return c.of.namespace }

// Named implements consumers.Service.
func (c *clients) Named() transition.Service {
	return transition.Service{Namespace: c.of.namespace, Name: c.of.name}
}

// IsReady implements consumers.Service.
func (c *clients) IsReady(id event.UID) bool {
	a := c.ids[id]
	return a != nil && c.sweep.states[a].ready
}

// notUpdated ignores in-place updates of pods, because the settings do not affect such updates.
type notUpdated struct{}

// IsBeingUpdated returns false.
func (notUpdated) IsBeingUpdated(event.UID, time.Time) bool { return false }

// sweep returns the counts for the given marks and evictions. If recorded is set, it counts the recorded changes, and
// uses the marks only for the traffic to failed nodes.
func (s *Study) sweep(marks []mark, evicted []eviction, tooClose, recorded bool) counts {
	w := watches.New()
	x := &sweep{
		recorded: recorded, marked: map[string]int{}, states: map[*address]*state{}, byNode: map[string][]*address{},
		services: map[*service]*clients{}, watches: w, clients: consumers.New(w, notUpdated{}, bounceWindow),
	}
	w.Count(event.Event{Seen: s.begin, Kind: event.KindNode, Type: event.Bookmark})
	turns := turnsOf(marks, evicted, tooClose)
	for _, c := range s.services.changes {
		for len(turns) > 0 && !turns[0].at.After(c.at) {
			x.turn(turns[0])
			turns = turns[1:]
		}
		x.change(c)
	}
	for _, t := range turns {
		if !t.at.After(s.end) {
			x.turn(t)
		}
	}
	x.finish(s.end)
	return x.counts
}

// turnsOf returns the turns of all marks and evictions, sorted by time.
func turnsOf(marks []mark, evicted []eviction, tooClose bool) []turn {
	var all []turn
	for i := range marks {
		m := &marks[i]
		switch {
		case m.in(tooClose):
			all = append(all, turn{at: m.at, mark: m})
			if !m.back.IsZero() {
				all = append(all, turn{at: m.back, mark: m, kind: turnReturned})
			}
		case m.silence.failed:
			all = append(all, turn{at: m.silence.to, mark: m, kind: turnCost})
		}
	}
	for _, e := range evicted {
		if !e.mark.in(tooClose) || e.mark.silence.notReady {
			continue
		}
		all = append(all, turn{at: e.at, mark: e.mark, kind: turnEvicted, pod: e.pod})
		if !e.replaced.IsZero() {
			all = append(all, turn{at: e.replaced, mark: e.mark, kind: turnReplaced, pod: e.pod})
		}
	}
	slices.SortStableFunc(all, func(a, b turn) int { return a.at.Compare(b.at) })
	return all
}

func (x *sweep) turn(t turn) {
	x.pass(t.at)
	silence := t.mark.silence
	before := x.counts.losses
	if (t.kind == turnMarked || t.kind == turnCost) && silence.failed {
		until := t.at
		if !until.After(silence.from) {
			until = silence.to // it is not known when the node becomes Unknown
		}
		x.counts.traffic += time.Duration(x.readyOn(silence.node)) * until.Sub(silence.from)
	}
	switch {
	case t.kind == turnCost || x.recorded || silence.notReady:
		return
	case t.pod != nil:
		x.evict(t)
	case t.kind == turnMarked:
		x.mark(silence.node, 1, t.at)
	default:
		x.mark(silence.node, -1, t.at)
	}
	if !silence.failed {
		x.counts.needless += x.counts.losses - before
	}
}

// mark adds `by` (1 or -1) to the number of active marks of a node, and updates the node's addresses.
func (x *sweep) mark(node string, by int, t time.Time) {
	x.marked[node] += by
	for _, a := range x.byNode[node] {
		x.set(a, t)
	}
}

// evict applies the eviction or the replacement of a pod to the pod's addresses. After a replacement, these addresses
// represent the addresses of the new pod.
func (x *sweep) evict(t turn) {
	for _, a := range t.pod.addresses {
		a = a.root()
		st := x.states[a]
		switch {
		case st == nil:
			continue
		case t.kind == turnReplaced:
			st.absent = false
		case x.nodeOf(a) != t.mark.silence.node:
			continue
		default:
			st.absent, st.moved, st.node = true, true, ""
			if r := t.pod.replacement; r != nil {
				st.node = r.node
				x.byNode[r.node] = append(x.byNode[r.node], a)
			}
		}
		x.set(a, t.at)
	}
}

// nodeOf returns the node of an address. If the pod was evicted, the result is the node of the replacement pod.
func (x *sweep) nodeOf(a *address) string {
	if st := x.states[a]; st.moved {
		return st.node
	}
	return a.node
}

// readyOn returns the number of ready addresses on a node. It omits addresses that stay ready when the node becomes
// Unknown.
func (x *sweep) readyOn(node string) (n int) {
	for _, a := range x.byNode[node] {
		if x.states[a].ready && !a.apart && x.nodeOf(a) == node {
			n++
		}
	}
	return n
}

// change applies a recorded change.
func (x *sweep) change(c change) {
	x.pass(c.at)
	a, service := c.address, x.of(c.address.service)
	if a.standsFor != nil && !x.recorded {
		return
	}
	st := x.states[a]
	if st == nil {
		st = &state{}
		x.states[a] = st
		service.ids[a.id] = a
		x.byNode[a.node] = append(x.byNode[a.node], a)
	}
	st.base = c.base
	if x.recorded {
		st.base = c.ready
	}
	service.gone = service.gone || c.gone
	if c.first {
		if is := st.base && !st.ready; is {
			st.ready = true
			service.ready++
		}
		return
	}
	x.set(a, c.at)
}

func (x *sweep) of(s *service) *clients {
	c := x.services[s]
	if c == nil {
		c = &clients{of: s, sweep: x, ids: map[event.UID]*address{}}
		x.services[s] = c
		x.order = append(x.order, c)
		x.clients.Join(c)
	}
	return c
}

// set updates the state of an address.
func (x *sweep) set(a *address, t time.Time) {
	st, service := x.states[a], x.services[a.service]
	ready := st.base && (a.apart || x.recorded || x.marked[x.nodeOf(a)] == 0 && !st.absent)
	if ready == st.ready {
		return
	}
	x.clients.Changed(service, &service.set, a.id, st.ready, t)
	st.ready = ready
	switch {
	case ready:
		if service.ready++; service.ready == 1 {
			x.endOutage(service, t)
		}
		return
	case service.gone:
		service.ready--
		x.endOutage(service, t)
		return
	}
	x.counts.losses++
	if service.ready--; service.ready == 0 {
		x.counts.outages++
		service.since = t
	}
}

func (x *sweep) endOutage(c *clients, t time.Time) {
	if !c.since.IsZero() {
		x.counts.outage += t.Sub(c.since)
		c.since = time.Time{}
	}
}

func (x *sweep) pass(t time.Time) {
	x.watches.AdvanceTo(t)
	x.clients.Close(t)
}

func (x *sweep) finish(t time.Time) {
	x.pass(t)
	for _, c := range x.order {
		x.endOutage(c, t)
	}
	for _, n := range x.clients.All(nil) {
		for i := range n.Updates {
			x.counts.updates[i] += n.Updates[i]
			x.counts.bounces[i] += n.Bounces[i]
		}
	}
}
