package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// bounceWindow is the default of --bounce-window.
const bounceWindow = 2 * time.Minute

// counts are the results of a sweep.
type counts struct {
	losses, needless, outages int
	outage                    time.Duration
	// traffic is the time that addresses of failed nodes stayed in rotation, summed over the addresses.
	traffic          time.Duration
	updates, bounces [consumers.NumWindows]uint64
}

// turn is one of three events of a node. If on is set, the node is marked. If cost is set, the silence of a failed node
// ends without a mark. If neither is set, the node returns.
type turn struct {
	at       time.Time
	mark     mark
	on, cost bool
}

// sweep replays the changes of all addresses, and applies the predicted marks.
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

// state describes an address during a sweep.
type state struct{ base, ready bool }

// clients is a Service during a sweep, as its clients see it.
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

// notUpdated reports no in-place updates, because the settings do not affect them.
type notUpdated struct{}

// IsBeingUpdated returns false.
func (notUpdated) IsBeingUpdated(event.UID, time.Time) bool { return false }

// sweep returns the counts for marks. If recorded is true, it returns the recorded counts, and uses marks only for the
// traffic to failed nodes.
func (s *Study) sweep(marks []mark, tooClose, recorded bool) counts {
	w := watches.New()
	x := &sweep{
		recorded: recorded, marked: map[string]int{}, states: map[*address]*state{}, byNode: map[string][]*address{},
		services: map[*service]*clients{}, watches: w, clients: consumers.New(w, notUpdated{}, bounceWindow),
	}
	w.Count(event.Event{Seen: s.begin, Kind: event.KindNode, Type: event.Bookmark})
	turns := turnsOf(marks, tooClose)
	for _, c := range s.changes {
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

// turnsOf returns the turns of all marks, sorted by time.
func turnsOf(marks []mark, tooClose bool) []turn {
	var all []turn
	for _, m := range marks {
		switch {
		case m.in(tooClose):
			all = append(all, turn{at: m.at, mark: m, on: true})
			if !m.back.IsZero() {
				all = append(all, turn{at: m.back, mark: m})
			}
		case m.silence.failed && m.outcome == answer.No:
			all = append(all, turn{at: m.silence.to, mark: m, cost: true})
		}
	}
	slices.SortStableFunc(all, func(a, b turn) int { return a.at.Compare(b.at) })
	return all
}

func (x *sweep) turn(t turn) {
	x.pass(t.at)
	silence := t.mark.silence
	before := x.counts.losses
	if (t.on || t.cost) && silence.failed {
		x.counts.traffic += time.Duration(x.readyOn(silence.node)) * t.at.Sub(silence.from)
	}
	switch {
	case t.cost || x.recorded || silence.notReady:
		return
	case t.on:
		x.marked[silence.node]++
	default:
		x.marked[silence.node]--
	}
	for _, a := range x.byNode[silence.node] {
		x.set(a, t.at)
	}
	if !silence.failed {
		x.counts.needless += x.counts.losses - before
	}
}

// readyOn returns the number of ready addresses on a node.
func (x *sweep) readyOn(node string) (n int) {
	for _, a := range x.byNode[node] {
		if x.states[a].ready && !a.apart {
			n++
		}
	}
	return n
}

// change applies a recorded change.
func (x *sweep) change(c change) {
	x.pass(c.at)
	a, service := c.address, x.of(c.address.service)
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
	ready := st.base && (a.apart || x.recorded || x.marked[a.node] == 0)
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
	x.watches.Pass(t)
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
