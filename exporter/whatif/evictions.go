package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

const (
	// evictionInterval is the inverse of --node-eviction-rate: the interval between two NoExecute taints in a zone.
	evictionInterval = 10 * time.Second
	// evictionDelay is the longest usual time that the controllers need to set the taint and evict a pod.
	evictionDelay = 2 * time.Second
	// unhealthyZone is --unhealthy-zone-threshold. The controller sets no more taints in a zone with at most
	// largeCluster nodes if at least 3 of them, and at least this fraction, are not Ready (node lifecycle controller,
	// ComputeZoneState).
	unhealthyZone = 0.55
	largeCluster  = 50
)

// certainly holds the intervals in which a condition is certain (yes), and those in which it is possible (maybe).
type certainly struct{ yes, maybe []interval }

// evictions returns the number of pods that the taint eviction controller evicts. needless counts those whose node came
// back.
func (s *Study) evictions(x Settings, marks []mark) (all, needless answer.Range) {
	marked := slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return !m.in(true) })
	slices.SortStableFunc(marked, func(a, b mark) int { return a.at.Compare(b.at) })
	byNode := map[string][]*pod{}
	for _, p := range s.allPods {
		byNode[p.node] = append(byNode[p.node], p)
	}
	full := certainly{
		yes:   s.allUnknown(slices.DeleteFunc(slices.Clone(marked), func(m mark) bool { return m.outcome != answer.Yes })),
		maybe: s.allUnknown(marked),
	}
	next := map[string]time.Time{}
	evicted := map[*pod]bool{}
	var active []*mark
	for i := range marked {
		m, zone := &marked[i], marked[i].silence.zone
		active = append(slices.DeleteFunc(active, func(a *mark) bool { return !a.isActive(m.at) }), m)
		unhealthy := s.isUnhealthy(zone, active)
		wait := max(next[zone].Sub(m.at), 0)
		next[zone] = m.at.Add(wait + evictionInterval)
		for _, p := range byNode[m.silence.node] {
			if evicted[p] {
				continue
			}
			one := answer.Of(s.evicts(x, *m, p, wait, full))
			if unhealthy {
				one.AtLeast = 0 // the controller does not set the taint until the zone is healthy again
			}
			all.Add(one)
			if !m.silence.failed {
				needless.Add(one)
			}
			evicted[p] = one.AtMost > 0
		}
	}
	return all, needless
}

// evicts predicts whether a node's mark evicts one of its pods. wait is the time until the controller sets the taint.
// The controller removes the taint at most one monitor period after the node's return.
func (s *Study) evicts(x Settings, m mark, p *pod, wait time.Duration, full certainly) answer.Outcome {
	tolerates, forever := tolerationOf(x, p)
	earliest := m.earliest.Add(wait + tolerates)
	latest := m.latest.Add(wait + tolerates + evictionDelay)
	gone := p.gone
	if p.evicted && !gone.Before(m.silence.from) {
		gone = time.Time{} // without the recorded eviction in this silence, the pod would still exist
	}
	readyFrom, readyBy := m.readyFrom, m.readyBy
	if readyBy.IsZero() {
		readyFrom, readyBy = s.end, s.end
	}
	touches := func(f interval) bool { return !f.to.Before(m.at) && f.from.Before(latest) }
	switch {
	case forever, p.from.After(m.at):
		return answer.No
	case !gone.IsZero() && gone.Before(earliest):
		return answer.No // something else deleted the pod first
	case slices.ContainsFunc(full.yes, touches):
		return answer.No // if every node is Unknown, the controller removes the taints (master disruption mode)
	case readyBy.Add(x.MonitorPeriod).Before(earliest):
		return answer.No
	case m.outcome == answer.Yes && readyFrom.After(latest) && !slices.ContainsFunc(full.maybe, touches):
		return answer.Yes
	}
	return answer.TooClose
}

// tolerationOf returns how long a pod tolerates an unreachable node.
func tolerationOf(x Settings, p *pod) (d time.Duration, forever bool) {
	recorded := p.tolerates
	if recorded == nil {
		recorded = &event.Toleration{Seconds: int64(DefaultToleration / time.Second)}
	}
	if x.Toleration != AsRecorded {
		return x.Toleration, recorded.Forever
	}
	return time.Duration(recorded.Seconds) * time.Second, recorded.Forever
}

// allUnknown returns the intervals in which every node is Unknown.
func (s *Study) allUnknown(marked []mark) []interval {
	total := 0
	for _, zone := range s.zones {
		total += len(zone)
	}
	var all []interval
	var active []*mark
	for i := range marked {
		m := &marked[i]
		active = append(slices.DeleteFunc(active, func(a *mark) bool { return !a.isActive(m.at) }), m)
		if len(active) < total {
			continue
		}
		to := s.end
		for _, a := range active {
			if !a.back.IsZero() && a.back.Before(to) {
				to = a.back
			}
		}
		all = append(all, interval{m.at, to})
	}
	return all
}

// isUnhealthy reports whether so many nodes of a zone are Unknown that the controller sets no taints there.
func (s *Study) isUnhealthy(zone string, active []*mark) bool {
	n := 0
	for _, m := range active {
		n += count(m.silence.zone == zone)
	}
	size := len(s.zones[zone])
	return n > 2 && size <= largeCluster && float64(n) >= unhealthyZone*float64(size)
}

func (m *mark) isActive(t time.Time) bool {
	return !m.at.After(t) && (m.back.IsZero() || m.back.After(t))
}
