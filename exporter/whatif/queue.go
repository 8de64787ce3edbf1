package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// forever is a duration that is longer than any recording.
const forever = 100 * 365 * 24 * time.Hour

// zoneQueue models the controller's queue of the nodes to taint in one zone.
type zoneQueue struct {
	spans []span
	// together is the maximum time between two heartbeats that the controller notices in the same pass. The controller
	// queues the nodes of a pass in random order (node lifecycle controller, monitorNodeHealth).
	together time.Duration
	never    time.Time
	taints   []*taint
}

// span is a period in which the limits of the tainting rate do not change. It ends when the next span begins.
type span struct {
	from       time.Time
	fast, slow float64
}

// leaves returns the latest possible time at which the controller removes a recovered node from the queue.
func (t *taint) leaves(z *zoneQueue) time.Time {
	if t.mark.readyBy.IsZero() {
		return z.never
	}
	return t.mark.readyBy.Add(z.together)
}

// fastest schedules the taints as early as possible, starting with nodes that have many pods. Only nodes that are
// certainly Unknown delay other nodes.
func (z *zoneQueue) fastest() {
	queue, next := slices.Clone(z.taints), time.Time{}
	for len(queue) > 0 {
		at := later(queue[0].mark.earliest, next)
		t := z.take(&queue, func(a, b *taint) bool {
			return a.pods > b.pods || a.pods == b.pods && a.leaves(z).Before(b.leaves(z))
		})
		if fast, _ := z.rates(at); fast == 0 && !next.IsZero() {
			at = z.earliest(at)
		}
		t.allowed, t.fast = at, later(at, t.mark.earliest)
		if t.mark.outcome == answer.Yes && (t.mark.readyFrom.IsZero() || t.mark.readyFrom.After(t.fast)) {
			next = z.earliest(at)
		}
	}
}

// slowest schedules the taints as late as possible, starting with nodes that have few pods.
func (z *zoneQueue) slowest(begin time.Time) {
	queue, next := slices.Clone(z.taints), z.latest(begin)
	for len(queue) > 0 {
		t := z.take(&queue, func(a, b *taint) bool {
			return a.pods < b.pods || a.pods == b.pods && b.leaves(z).Before(a.leaves(z))
		})
		t.slow = later(t.mark.latest, next)
		if _, slow := z.rates(t.slow); slow == 0 {
			t.slow = z.latest(t.slow)
		}
		next = later(next, z.latest(earlier(t.slow, t.leaves(z))))
	}
}

// take removes the next taint from the queue and returns it. If several taints can be next, take uses the function
// `better` to choose one.
func (z *zoneQueue) take(queue *[]*taint, better func(a, b *taint) bool) *taint {
	all, best := *queue, 0
	for i, t := range all {
		if t.mark.earliest.After(all[0].mark.earliest.Add(z.together)) {
			break
		}
		if better(t, all[best]) {
			best = i
		}
	}
	t := all[best]
	*queue = slices.Delete(all, best, best+1)
	return t
}

// at returns the index of the span that contains the time t.
func (z *zoneQueue) at(t time.Time) int {
	n, _ := slices.BinarySearchFunc(z.spans, t, func(x span, t time.Time) int {
		if x.from.After(t) {
			return 1
		}
		return -1
	})
	return n - 1
}

func (z *zoneQueue) rates(t time.Time) (fast, slow float64) {
	x := z.spans[z.at(t)]
	return x.fast, x.slow
}

// end returns the end of the span with the index i.
func (z *zoneQueue) end(i int) time.Time {
	if i+1 < len(z.spans) {
		return z.spans[i+1].from
	}
	return z.never
}

// earliest returns the earliest possible time of the next taint after a taint at the time t. The rate limiter's bucket
// holds one token (scheduler.EvictionRateLimiterBurst).
func (z *zoneQueue) earliest(t time.Time) time.Time {
	need := 1.0
	for i := z.at(t); i < len(z.spans); i++ {
		rate, end := z.spans[i].fast, z.end(i)
		if at := t.Add(atRate(need, rate)); !at.After(end) {
			return at
		}
		need -= rate * end.Sub(t).Seconds()
		t = end
	}
	return z.never
}

// latest returns the latest possible time of the next taint after a taint at the time t. After a change of the rate,
// the rate limiter's bucket is empty (RateLimitedTimedQueue, SwapLimiter).
func (z *zoneQueue) latest(t time.Time) time.Time {
	for i := z.at(t); i < len(z.spans); i++ {
		if at := t.Add(atRate(1, z.spans[i].slow)); !at.After(z.end(i)) {
			return at
		}
		t = z.end(i)
	}
	return z.never
}

// atRate returns the time that the controller needs to taint n nodes at the given rate.
func atRate(n, rate float64) time.Duration {
	if seconds := n / rate; seconds < forever.Seconds() {
		return time.Duration(seconds * float64(time.Second))
	}
	return forever
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
