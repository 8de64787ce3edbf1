package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// tainter predicts when the node lifecycle controller sets the NoExecute taints of Unknown nodes.
type tainter struct {
	// period is the monitor period. begin and end are the start and the end of the recording.
	period     time.Duration
	begin, end time.Time
	limits     limits
	zones      *zones
}

// taints returns the taints that can result from the marks, sorted by the times of the marks. It also computes when the
// controller sets each taint. The function pods returns the number of pods that a taint can evict.
func (r tainter) taints(marks []mark, pods func(*taint) int) (all []*taint) {
	marked := slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return !m.in(true) })
	slices.SortStableFunc(marked, func(a, b mark) int { return a.at.Compare(b.at) })
	idle := certainly{
		yes:   r.allUnknown(slices.DeleteFunc(slices.Clone(marked), func(m mark) bool { return m.outcome != answer.Yes })),
		maybe: r.allUnknown(marked),
	}
	queues := map[string][]*taint{}
	for i := range marked {
		m := &marked[i]
		t := &taint{mark: m, period: r.period, end: r.end, idle: &idle}
		t.pods = pods(t)
		all, queues[m.silence.zone] = append(all, t), append(queues[m.silence.zone], t)
	}
	for name, queue := range queues {
		slices.SortStableFunc(queue, func(a, b *taint) int { return a.mark.earliest.Compare(b.mark.earliest) })
		r.schedule(name, queue)
	}
	return all
}

// taint is a NoExecute taint of an Unknown node, with the possible times at which the controller sets it.
type taint struct {
	mark *mark
	// period is the monitor period. end is the end of the recording. idle holds the intervals in which every node is
	// Unknown.
	period time.Duration
	end    time.Time
	idle   *certainly
	// pods is the number of pods that the taint can evict.
	pods int
	// fast is the time of the taint for the case that as many pods as possible are evicted. In this case, the
	// controller taints early, and taints nodes with many pods first. slow is the time of the taint for the case that
	// as few pods as possible are evicted. In this case, the controller taints late, and taints nodes with many pods
	// last. first and last are the earliest and the latest possible time of this taint.
	fast, slow, first, last time.Time
	// allowed is the earliest time at which the rate limiter allows the taint.
	allowed time.Time
}

// schedule computes the times of a zone's taints. The taints must be sorted by mark.earliest.
func (r tainter) schedule(name string, all []*taint) {
	z := &zoneQueue{together: r.period + pass + jitter, never: r.end.Add(forever), taints: all}
	z.spans = r.spans(name, z)
	z.fastest()
	z.slowest(r.begin)
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

// spans returns the bounds on the rate at which the controller taints the nodes of a zone, over time.
func (r tainter) spans(name string, z *zoneQueue) []span {
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
	size, low, high := r.zones.size(name), 0, 0
	all := []span{{fast: r.limits.rate, slow: r.limits.rate}}
	for i, x := range steps {
		low, high = low+x.low, high+x.high
		if i+1 < len(steps) && steps[i+1].at.Equal(x.at) {
			continue
		}
		fast, slow := r.limits.rates(size, low, min(high, size.most), r.zones.count() == 1)
		if last := all[len(all)-1]; last.fast != fast || last.slow != slow {
			all = append(all, span{x.at, fast, slow})
		}
	}
	return all
}

// allUnknown returns the intervals in which every node is Unknown.
func (r tainter) allUnknown(marked []mark) []interval {
	total := r.zones.total()
	var all []interval
	var active []*mark
	for i := range marked {
		m := &marked[i]
		active = append(slices.DeleteFunc(active, func(a *mark) bool { return !a.isActive(m.at) }), m)
		if len(active) < total {
			continue
		}
		to := r.end
		for _, a := range active {
			if !a.back.IsZero() && a.back.Before(to) {
				to = a.back
			}
		}
		all = append(all, interval{m.at, to})
	}
	return all
}

func (m *mark) isActive(t time.Time) bool {
	return !m.at.After(t) && (m.back.IsZero() || m.back.After(t))
}
