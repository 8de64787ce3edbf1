package scenario

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/lab/truth"
)

// batchingClient is a client that batches the changes of a Service's addresses. After the first change, it waits for its
// batching window. Then it sets its load balancer to the addresses that are ready in the slices.
type batchingClient struct {
	window time.Duration
	// due is the time at which the batching window ends. It is zero while the client does not wait.
	due time.Time
	// in holds the addresses in the load balancer.
	in map[string]bool
	// stale counts the addresses that the client removed and added again although they were always ready in the slices.
	stale int
}

// takenOut is the batch of pods that an upgrade tool removed from the load balancers, by their UIDs, and the time.
type takenOut struct {
	pods map[string]bool
	at   time.Time
}

// clients returns clients of the Service "web" with different batching windows. Their states follow from the facts since
// the batch was taken out.
func (o *takenOut) clients(facts []truth.Fact, now time.Time) (all []*batchingClient) {
	// ready holds the ready addresses. left holds those that have stopped being ready since.
	ready, left := map[string]bool{}, map[string]bool{}
	facts = slices.DeleteFunc(facts, func(f truth.Fact) bool {
		return f.Kind != truth.FactAddress || f.Object != "shop/web" || f.From != "ready" && f.To != "ready"
	})
	started := slices.IndexFunc(append(facts, truth.Fact{Seen: now}), func(f truth.Fact) bool { return f.Seen.After(o.at) })
	for _, f := range facts[:started] {
		ready[f.Address] = f.To == "ready"
	}
	for _, window := range []time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second} {
		x := &batchingClient{window: window, in: map[string]bool{}}
		for address, is := range ready {
			x.in[address] = is && !o.pods[address]
		}
		all = append(all, x)
	}
	elapse := func(until time.Time) {
		for _, x := range all {
			if !x.due.IsZero() && !x.due.After(until) {
				x.apply(ready, left)
			}
		}
	}
	for i, f := range facts[started:] {
		elapse(f.Seen.Add(-1))
		left[f.Address] = left[f.Address] || f.From == "ready"
		ready[f.Address] = f.To == "ready"
		for _, x := range all {
			if x.due.IsZero() {
				x.due = f.Seen.Add(x.window)
			}
		}
		// The changes of one event have the same time.
		if next := started + i + 1; next == len(facts) || facts[next].Seen.After(f.Seen) {
			elapse(f.Seen)
		}
	}
	elapse(now)
	return all
}

// apply sets a client's load balancer to the ready addresses.
func (x *batchingClient) apply(ready, left map[string]bool) {
	x.due = time.Time{}
	for address, is := range ready {
		if is && !x.in[address] && !left[address] {
			x.stale++
		}
		x.in[address] = is
	}
}

// settled waits until each load balancer has n addresses and no client is batching changes, and returns the clients.
func (o *takenOut) settled(l *Lab, n int) (all []*batchingClient) {
	l.Until("the expected addresses in all load balancers", func(l *Lab) {
		now := time.Now()
		all = o.clients(l.Truth.Facts(now), now)
		for _, x := range all {
			has := 0
			for _, is := range x.in {
				if is {
					has++
				}
			}
			l.Expect(x.due.IsZero() && has == n, "the load balancer of the client with the window %s has %d addresses; it waits until %s", x.window, has, x.due)
		}
	})
	return all
}
