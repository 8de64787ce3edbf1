package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// evictionDelay is the longest time that the controllers usually need to set the taint and evict a pod.
const evictionDelay = 2 * time.Second

// The type `certainly` holds the intervals in which a condition is certainly true (yes) or possibly true (maybe).
type certainly struct{ yes, maybe []interval }

// eviction is the predicted eviction of a pod from an Unknown node. replaced is the time at which the replacement of
// the pod is ready, or zero if no replacement becomes ready.
type eviction struct {
	mark         *mark
	pod          *pod
	at, replaced time.Time
}

// evictions are the predicted evictions of pods by the taint eviction controller.
type evictions struct {
	// all counts all evictions. needless counts the evictions from nodes that came back.
	all, needless answer.Range
	// The slice best holds the evictions for the case that all addresses become ready again as early as possible. The
	// slice worst holds the evictions for the case that all addresses become ready again as late as possible.
	best, worst []eviction
}

// evictor predicts which pods the taint eviction controller evicts from Unknown nodes.
type evictor struct {
	settings Settings
	tainter  tainter
	// pods maps the name of each node to its recorded pods.
	pods map[string][]*pod
	// replacementTakes is the longest recorded time from an eviction until the pod's replacement was Ready. It is 0 if
	// no replacement was recorded. Pods of StatefulSets do not count.
	replacementTakes time.Duration
}

// evict predicts the evictions from the nodes that become Unknown.
func (v *evictor) evict(marks []mark) (all evictions) {
	counted := map[*pod]answer.Range{}
	for _, t := range v.tainter.taints(marks, v.evictable) {
		pods := v.pods[t.mark.silence.node]
		all.count(v.settings, t, pods, counted)
		for _, p := range pods {
			if !t.may(v.settings, p, t.first) {
				continue
			}
			must := t.must(v.settings, p, t.last)
			if e := v.best(t, p); must || t.mark.back.IsZero() || e.at.Before(t.mark.back) {
				all.best = append(all.best, e)
			}
			if e := v.worst(t, p); must || !t.mark.back.IsZero() && (e.replaced.IsZero() || e.replaced.After(t.mark.back)) {
				all.worst = append(all.worst, e)
			}
		}
	}
	all.all, all.needless = answer.Between(all.all.AtLeast, all.all.AtMost), answer.Between(all.needless.AtLeast, all.needless.AtMost)
	return all
}

// evictable returns the number of pods that a taint can evict if the controller sets the taint as early as possible.
func (v *evictor) evictable(t *taint) (n int) {
	for _, p := range v.pods[t.mark.silence.node] {
		n += count(t.may(v.settings, p, t.mark.earliest))
	}
	return n
}

// count counts the evictions from a node. The lower and the upper bound assume different orders of the taints, because
// the order may be unknown. The eviction of a replacement pod counts only if the eviction of the pod that it replaced
// counts.
func (all *evictions) count(x Settings, t *taint, pods []*pod, evicted map[*pod]answer.Range) {
	for _, p := range pods {
		if evicted[p] != (answer.Range{}) {
			continue
		}
		one := answer.Range{AtLeast: float64(count(t.must(x, p, t.slow))), AtMost: float64(count(t.may(x, p, t.fast)))}
		if p.replaces != nil {
			one = answer.Range{AtLeast: min(one.AtLeast, evicted[p.replaces].AtLeast), AtMost: min(one.AtMost, evicted[p.replaces].AtMost)}
		}
		all.all.Add(one)
		if !t.mark.silence.failed {
			all.needless.Add(one)
		}
		evicted[p] = one
	}
}

// The method `may` reports whether it is possible that the taint evicts the pod p. tainted is the time at which the
// controller sets the taint. The controller removes the taint at most one monitor period after the node is Ready again.
func (t *taint) may(x Settings, p *pod, tainted time.Time) bool {
	m := t.mark
	tolerates, tolerated := tolerationOf(x, p)
	at, gone := tainted.Add(tolerates), p.left(m.silence.from)
	_, returned := t.returns()
	switch {
	case tolerated, p.from.After(m.at):
		return false
	case !gone.IsZero() && gone.Before(at):
		return false // something else deleted the pod first
	case t.isIdle(t.idle.yes, at):
		return false // if every node is Unknown, the controller removes the taints (master disruption mode)
	}
	return !returned.Add(t.period).Before(at)
}

// The method `must` reports whether the taint certainly evicts the pod p. tainted is the time at which the controller
// sets the taint.
func (t *taint) must(x Settings, p *pod, tainted time.Time) bool {
	tolerates, _ := tolerationOf(x, p)
	at := tainted.Add(tolerates + evictionDelay)
	returned, _ := t.returns()
	return t.may(x, p, tainted) && t.mark.outcome == answer.Yes && returned.After(at) && !t.isIdle(t.idle.maybe, at)
}

// The results are the earliest and the latest time at which the node is Ready again. If the node stays Unknown, both
// are the end of the recording.
func (t *taint) returns() (from, by time.Time) {
	if t.mark.readyBy.IsZero() {
		return t.end, t.end
	}
	return t.mark.readyFrom, t.mark.readyBy
}

// isIdle reports whether any of the intervals overlaps the period from the time at which the node becomes Unknown until
// the given time.
func (t *taint) isIdle(all []interval, until time.Time) bool {
	return slices.ContainsFunc(all, func(f interval) bool { return !f.to.Before(t.mark.at) && f.from.Before(until) })
}

// best predicts the eviction of the pod p in the best case: the replacement is ready as early as possible. A
// StatefulSet creates the replacement only after the kubelet has terminated the old pod (statefulset,
// updateStatefulSet).
func (v *evictor) best(t *taint, p *pod) eviction {
	tolerates, _ := tolerationOf(v.settings, p)
	at := t.mark.at.Add(t.first.Sub(t.mark.earliest) + tolerates)
	e := eviction{mark: t.mark, pod: p, at: at, replaced: at}
	switch {
	case p.owner == "":
		e.replaced = time.Time{}
	case p.isStateful():
		e.replaced = t.afterReturn(at)
	}
	return e
}

// worst predicts the eviction of the pod p in the worst case: the replacement is ready as late as possible. The
// replacement takes as long as the slowest recorded replacement. If no replacement was recorded, the new pod is ready
// when the node is Ready again.
func (v *evictor) worst(t *taint, p *pod) eviction {
	tolerates, _ := tolerationOf(v.settings, p)
	at := t.mark.at.Add(max(t.last.Sub(t.mark.latest), 0) + tolerates + evictionDelay)
	e := eviction{mark: t.mark, pod: p, at: at}
	switch {
	case p.owner == "", p.isEvictedByMark && (p.replacement == nil || p.replacement.readyAt.IsZero()):
	case p.isStateful(), v.replacementTakes == 0:
		e.replaced = t.afterReturn(at)
	default:
		e.replaced = at
	}
	if !e.replaced.IsZero() {
		e.replaced = e.replaced.Add(v.replacementTakes)
	}
	return e
}

// afterReturn returns the later of two times: the given time, and the time at which the node and its pods are Ready
// again. It returns zero if the node stays Unknown.
func (t *taint) afterReturn(at time.Time) time.Time {
	if t.mark.back.IsZero() {
		return time.Time{}
	}
	return later(at, t.mark.back)
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
