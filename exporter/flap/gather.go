package flap

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Windows are the times for which the consumers gather changes that are looked
// at: a load balancer's controller that applies each, and such as wait for more.
func Windows() [numWindows]time.Duration { return windows }

const numWindows = 4

var windows = [numWindows]time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second}

// tenant counts per namespace what consumers of its Services would have done; it
// lives as long as the namespace has a Service.
type tenant struct {
	name             string
	services         int
	updates, bounces [numWindows]uint64
}

// consumer is someone who gathers the changes of one Service's ready addresses
// for a window and then applies what is left of them.
type consumer struct {
	// due is when the window that is open closes; zero if none is.
	due time.Time
	// applied is whether the consumer has the addresses that changed since in rotation.
	applied map[event.UID]bool
	// out and back are when it took an address out, and put it back after that.
	out, back map[event.UID]time.Time
}

// gather lets the consumers of a Service see that an address came into rotation or left it.
func (f *Fold) gather(s shift, id event.UID, wasReady bool) {
	if s.consumers == nil {
		s.consumers = &[numWindows]consumer{}
	}
	for i := range s.consumers {
		c := &s.consumers[i]
		if c.due.IsZero() {
			c.due = s.at.Add(windows[i])
			f.gathering[i] = append(f.gathering[i], s.service)
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
func (f *Fold) closeWindows(t time.Time) {
	for i, open := range f.gathering {
		n := 0
		for ; n < len(open) && !open[n].consumers[i].due.After(t); n++ {
			f.applyWindow(open[n], i)
		}
		if n > 0 {
			f.gathering[i] = slices.Delete(open, 0, n)
		}
	}
	f.forgetTurns(t)
}

// forgetTurns forgets, now and then, what is too old to bounce, also where nothing changes any more: for all addresses that ever
// flapped it would be more than all else that is kept of them.
func (f *Fold) forgetTurns(t time.Time) {
	if t.Sub(f.turnsForgotten) <= max(f.settings.BounceWindow, time.Minute) {
		return
	}
	f.turnsForgotten = t
	for _, s := range f.services {
		if s.consumers == nil {
			continue
		}
		busy := false
		for i := range s.consumers {
			c := &s.consumers[i]
			c.forget(t, f.settings.BounceWindow)
			busy = busy || !c.due.IsZero() || c.out != nil || c.back != nil
		}
		if !busy {
			s.consumers = nil
		}
	}
}

func (f *Fold) applyWindow(s *service, window int) {
	c := &s.consumers[window]
	defer c.rest(f.settings.BounceWindow)
	if !s.exists {
		return
	}
	updated := false
	for id, wasReady := range c.applied {
		at, found := s.addresses.find(id)
		ready := found && s.addresses.list[at].state() == stateReady
		if ready == wasReady {
			continue
		}
		updated = true
		if c.turn(id, ready, f.settings.BounceWindow) {
			f.tenantOf(s).bounces[window]++
		}
	}
	if updated {
		f.tenantOf(s).updates[window]++
	}
}

// turn applies one address and reports whether it is taken out again soon after
// it was put back: what a longer window would have hidden.
func (c *consumer) turn(id event.UID, ready bool, within time.Duration) (bounced bool) {
	if ready {
		if at, ok := c.out[id]; ok && c.due.Sub(at) <= within {
			c.back = noted(c.back, id, c.due)
		}
		return false
	}
	at, ok := c.back[id]
	c.out = noted(c.out, id, c.due)
	delete(c.back, id)
	return ok && c.due.Sub(at) <= within
}

func noted(m map[event.UID]time.Time, id event.UID, t time.Time) map[event.UID]time.Time {
	if m == nil {
		m = map[event.UID]time.Time{}
	}
	m[id] = t
	return m
}

// rest closes the window and forgets what is too old to bounce.
func (c *consumer) rest(within time.Duration) {
	c.forget(c.due, within)
	c.due, c.applied = time.Time{}, nil
}

func (c *consumer) forget(t time.Time, within time.Duration) {
	c.out, c.back = since(c.out, t.Add(-within)), since(c.back, t.Add(-within))
}

// since leaves what is not older than t; a map that is empty is let go, with the room that it has.
func since(m map[event.UID]time.Time, t time.Time) map[event.UID]time.Time {
	maps.DeleteFunc(m, func(_ event.UID, at time.Time) bool { return at.Before(t) })
	if len(m) == 0 {
		return nil
	}
	return m
}

// tenantOf is what is counted in a Service's namespace.
func (f *Fold) tenantOf(s *service) *tenant {
	t := f.tenants[s.key.namespace]
	if t == nil {
		t = &tenant{name: s.key.namespace}
		f.tenants[t.name], f.order.tenants = t, nil
	}
	return t
}

// movedIn and movedOut make a namespace's counts live as long as it has Services.
func (f *Fold) movedIn(s *service) { f.tenantOf(s).services++ }

func (f *Fold) movedOut(s *service) {
	t := f.tenantOf(s)
	if t.services--; t.services <= 0 {
		delete(f.tenants, t.name)
		f.order.tenants = nil
	}
}
