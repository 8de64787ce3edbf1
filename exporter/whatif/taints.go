package whatif

import (
	"math"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// forever is longer than any recording.
const forever = 100 * 365 * 24 * time.Hour

// limits are the flags that limit how many nodes the node lifecycle controller taints.
type limits struct {
	// rate is --node-eviction-rate, and secondary is --secondary-node-eviction-rate, in nodes per second and zone.
	rate, secondary float64
	// unhealthy is --unhealthy-zone-threshold, as a fraction of the zone's nodes.
	unhealthy float64
}

// largeZone is the default of --large-cluster-size-threshold. Recordings do not contain the flag.
const largeZone = 50

// limits returns the recorded flags, and the defaults of those that are not recorded (kube-controller-manager,
// pkg/controller/nodelifecycle/config/v1alpha1).
func (s *Study) limits() limits {
	l := limits{rate: 0.1, secondary: 0.01, unhealthy: 0.55}
	for _, flag := range s.grace.Flags(nil) {
		switch flag.Name {
		case "node-eviction-rate":
			l.rate = flag.Value
		case "secondary-node-eviction-rate":
			l.secondary = flag.Value
		case "unhealthy-zone-threshold":
			l.unhealthy = flag.Value
		}
	}
	return l
}

// size holds the minimum and the maximum number of nodes in a zone.
type size struct{ least, most int }

// size returns the number of a zone's nodes. Nodes that were deleted in the recording count only toward the maximum.
func (s *Study) size(zone string) size {
	all := len(s.zones[zone])
	return size{max(all-s.deleted[zone], 0), all}
}

// rates returns the limits of the rate at which the controller taints nodes of a zone. The parameters low and high are
// the minimum and the maximum number of Unknown nodes in the zone. The reduced rate applies in partial disruption: more
// than two nodes, and at least the fraction unhealthy of the zone's nodes, are Unknown. If all nodes of the zone are
// Unknown, the usual rate applies, because the zone itself may be at fault. The controller stops tainting only if all
// nodes in all zones are Unknown (node lifecycle controller, ComputeZoneState, handleDisruption and ReducedQPSFunc).
func (l limits) rates(zone size, low, high int, onlyZone bool) (fast, slow float64) {
	least := func(size int) int { return max(3, int(math.Ceil(l.unhealthy*float64(size)))) }
	most := func(size int) int { return size - count(!onlyZone) }
	reduced := func(size int) float64 { return l.secondary * float64(count(size > largeZone)) }
	switch {
	case least(zone.least) > most(zone.most) || high < least(zone.least) || low > most(zone.most):
		return l.rate, l.rate
	case low >= least(zone.most) && high <= most(zone.least):
		return reduced(zone.most), reduced(zone.least)
	}
	return max(l.rate, reduced(zone.most)), min(l.rate, reduced(zone.least))
}

// span is a period with constant limits of the tainting rate. It ends when the next span begins.
type span struct {
	from       time.Time
	fast, slow float64
}

// zone is a zone with its queue of nodes to taint.
type zone struct {
	spans []span
	// together is the longest time between two heartbeats that the controller may notice in the same pass. The nodes of
	// a pass are queued in random order (node lifecycle controller, monitorNodeHealth).
	together time.Duration
	never    time.Time
	taints   []*taint
}

// taint holds the limits of the time at which the controller sets a node's NoExecute taint.
type taint struct {
	mark *mark
	// period is the monitor period. end is the end of the recording. idle holds the intervals in which every node is
	// Unknown.
	period time.Duration
	end    time.Time
	idle   *certainly
	// pods is the number of pods that the taint may evict.
	pods int
	// fast is the time for the case in which the controller taints nodes with many pods first, and as early as
	// possible. slow is the time for the case in which it taints these nodes last, and as late as possible. first and
	// last are the earliest and the latest time for this node alone, in any order of the nodes.
	fast, slow, first, last time.Time
	// allowed is the time at which the limiter allows the taint, in the calculation of the field fast.
	allowed time.Time
}

// leaves returns the latest time at which the node leaves the queue because it is Ready again.
func (t *taint) leaves(z *zone) time.Time {
	if t.mark.readyBy.IsZero() {
		return z.never
	}
	return t.mark.readyBy.Add(z.together)
}

// taints computes the times of a zone's taints. The taints must be sorted by the earliest times of their marks.
func (s *Study) taints(name string, x Settings, all []*taint) {
	z := &zone{together: x.MonitorPeriod + pass + jitter, never: s.end.Add(forever), taints: all}
	z.spans = s.spans(name, z)
	z.fastest()
	z.slowest(s.begin)
	first := z.never
	for i, j := len(all)-1, len(all)-1; i >= 0; i-- {
		for ; j >= 0 && !all[j].mark.earliest.Before(all[i].mark.earliest.Add(-z.together)); j-- {
			first = earlier(first, all[j].allowed)
		}
		all[i].first = later(first, all[i].mark.earliest)
	}
	last := time.Time{}
	for i, j := 0, 0; i < len(all); i++ {
		for ; j < len(all) && !all[j].mark.earliest.After(all[i].mark.earliest.Add(z.together)); j++ {
			last = later(last, earlier(all[j].slow, all[j].leaves(z)))
		}
		all[i].last = later(last, all[i].slow)
	}
}

// fastest sets the times for the case in which the controller taints nodes with many pods first, and as early as
// possible. A node delays other nodes only if it is certainly Unknown.
func (z *zone) fastest() {
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

// slowest sets the times for the case in which the controller taints nodes with few pods first, and as late as
// possible.
func (z *zone) slowest(begin time.Time) {
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

// take removes and returns the best of the taints that may be the first in the queue. The function better compares two
// taints.
func (z *zone) take(queue *[]*taint, better func(a, b *taint) bool) *taint {
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

// spans returns the rates of a zone over time.
func (s *Study) spans(name string, z *zone) []span {
	type step struct {
		at        time.Time
		low, high int
	}
	var steps []step
	for _, t := range z.taints {
		m := t.mark
		steps = append(steps, step{at: m.earliest, high: 1}, step{at: t.leaves(z), high: -1})
		if m.outcome == answer.Yes {
			from, to := m.latest.Add(z.together), z.never
			if !m.readyFrom.IsZero() {
				to = m.readyFrom
			}
			if from.Before(to) {
				steps = append(steps, step{at: from, low: 1}, step{at: to, low: -1})
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	l, size, low, high := s.limits(), s.size(name), 0, 0
	all := []span{{fast: l.rate, slow: l.rate}}
	for i, x := range steps {
		low, high = low+x.low, high+x.high
		if i+1 < len(steps) && steps[i+1].at.Equal(x.at) {
			continue
		}
		fast, slow := l.rates(size, low, min(high, size.most), len(s.zones) == 1)
		if last := all[len(all)-1]; last.fast != fast || last.slow != slow {
			all = append(all, span{x.at, fast, slow})
		}
	}
	return all
}

// at returns the index of the span at a time.
func (z *zone) at(t time.Time) int {
	n, _ := slices.BinarySearchFunc(z.spans, t, func(x span, t time.Time) int {
		if x.from.After(t) {
			return 1
		}
		return -1
	})
	return n - 1
}

func (z *zone) rates(t time.Time) (fast, slow float64) {
	x := z.spans[z.at(t)]
	return x.fast, x.slow
}

// end returns the end of a span.
func (z *zone) end(i int) time.Time {
	if i+1 < len(z.spans) {
		return z.spans[i+1].from
	}
	return z.never
}

// earliest returns the earliest time at which the controller may taint another node if it tainted a node at the time t.
// The limiter's bucket holds one node (scheduler.EvictionRateLimiterBurst).
func (z *zone) earliest(t time.Time) time.Time {
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

// latest returns the latest time at which the controller may taint another node if it tainted a node at the time t. A
// new rate begins with an empty bucket (RateLimitedTimedQueue, SwapLimiter).
func (z *zone) latest(t time.Time) time.Time {
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
