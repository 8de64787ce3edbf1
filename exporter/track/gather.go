package track

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Windows are the times for which the consumers gather changes that are looked
// at: a load balancer's controller that applies each, and such as wait for more.
func Windows() [NumWindows]time.Duration { return windows }

// NumWindows is how many Windows there are.
const NumWindows = 4

var windows = [NumWindows]time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second}

// tenant counts per namespace what consumers of its Services would have done; it
// lives as long as the namespace has a Service, and for keepFor longer.
type tenant struct {
	name             string
	services         int
	emptied          time.Time
	updates, bounces [NumWindows]uint64
}

// consumer is someone who gathers the changes of one Service's ready addresses
// for a window and then applies what is left of them.
type consumer struct {
	// due is when the window that is open closes; zero if none is.
	due time.Time
	// applied is whether the consumer has the addresses that changed since in rotation.
	applied map[event.UID]bool
	// turns are kept of addresses that it took out lately.
	turns map[event.UID]turns
}

// turns are when a consumer took an address out, and when it put it back after that.
type turns struct{ out, back event.Moment }

// gather lets the consumers of a Service see that an address came into rotation or left it.
func (f *Tracker) gather(s shift, id event.UID, wasReady bool) {
	if s.consumers == nil {
		s.consumers = &[NumWindows]consumer{}
	}
	for i := range s.consumers {
		c := &s.consumers[i]
		if c.due.IsZero() {
			c.due = s.at.Add(windows[i])
			f.gathering[i].push(s.service)
		}
		if c.applied == nil {
			c.applied = map[event.UID]bool{}
		}
		if _, seen := c.applied[id]; !seen {
			c.applied[id] = wasReady
		}
	}
}

// closeWindows lets the consumers apply whose windows have closed by t. All windows
// of a kind are equally long, so those that opened first close first.
func (f *Tracker) closeWindows(t time.Time) {
	for i := range f.gathering {
		for open := &f.gathering[i]; !open.isEmpty() && !open.front().consumers[i].due.After(t); {
			f.applyWindow(open.take(), i)
		}
	}
	f.forgetTurns(t)
}

// forgetTurns forgets, now and then, what is too old to bounce, also where nothing changes any more: for all addresses that ever
// flapped it would be more than all else that is kept of them.
func (f *Tracker) forgetTurns(t time.Time) {
	if t.Sub(f.turnsForgotten) <= max(f.settings.BounceWindow, time.Minute) {
		return
	}
	f.turnsForgotten = t
	for _, s := range f.services {
		f.forgetTurnsOf(s, t)
	}
	for _, s := range f.others {
		f.forgetTurnsOf(s, t)
	}
}

func (f *Tracker) forgetTurnsOf(s *service, t time.Time) {
	s.forgetLeft(t, f.settings.BounceWindow)
	if s.consumers == nil {
		return
	}
	busy := false
	for i := range s.consumers {
		c := &s.consumers[i]
		c.forget(f.moment(t.Add(-f.settings.BounceWindow)))
		busy = busy || !c.due.IsZero() || c.turns != nil
	}
	if !busy {
		s.consumers = nil
	}
}

func (f *Tracker) applyWindow(s *service, window int) {
	c := &s.consumers[window]
	now, oldest := f.moment(c.due), f.moment(c.due.Add(-f.settings.BounceWindow))
	defer c.rest(oldest)
	if !s.exists {
		return
	}
	updated := false
	var bounced []event.UID
	for id, wasReady := range c.applied {
		at, found := s.addresses.find(id)
		ready := found && s.addresses.list[at].state() == stateReady
		if ready == wasReady {
			continue
		}
		updated = true
		if c.turn(id, ready, now, oldest) {
			bounced = append(bounced, id)
		}
	}
	if updated {
		f.tenantOf(s).updates[window]++
	}
	f.tenantOf(s).bounces[window] += uint64(len(bounced))
	slices.SortFunc(bounced, func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range bounced {
		f.tellOfAddress(s, Finding{Time: c.due, Kind: ConsumerBounced, Address: id, Duration: windows[window]})
	}
}

// turn applies one address and reports whether it is taken out again soon after
// it was put back, not before oldest: what a longer window would have hidden.
func (c *consumer) turn(id event.UID, ready bool, now, oldest event.Moment) (bounced bool) {
	x := c.turns[id]
	switch {
	case !ready:
		bounced = x.back != 0 && x.back >= oldest
		x = turns{out: now}
	case x.out != 0 && x.out >= oldest:
		x.back = now
	default:
		return false
	}
	if c.turns == nil {
		c.turns = map[event.UID]turns{}
	}
	c.turns[id] = x
	return bounced
}

// rest closes the window and forgets what is too old to bounce.
func (c *consumer) rest(oldest event.Moment) {
	c.forget(oldest)
	c.due, c.applied = time.Time{}, nil
}

// forget lets go what is older; a map that is empty as well, with the room that it has.
func (c *consumer) forget(oldest event.Moment) {
	maps.DeleteFunc(c.turns, func(_ event.UID, x turns) bool { return max(x.out, x.back) < oldest })
	if len(c.turns) == 0 {
		c.turns = nil
	}
}

// tenantOf is what is counted in a Service's namespace.
func (f *Tracker) tenantOf(s *service) *tenant {
	t := f.tenants[s.key.namespace]
	if t == nil {
		t = &tenant{name: s.key.namespace}
		f.tenants[t.name], f.order.tenants = t, nil
	}
	return t
}

// movedIn and movedOut make a namespace's counts live as long as it has Services.
func (f *Tracker) movedIn(s *service) { f.tenantOf(s).services++ }

func (f *Tracker) movedOut(s *service) {
	t := f.tenantOf(s)
	if t.services--; t.services == 0 {
		t.emptied = f.now
		f.emptiedTenants.push(emptied[*tenant]{t, f.now})
	}
}
