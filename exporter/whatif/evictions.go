package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// evictionDelay is the usual maximum time that the controllers need to set the taint and evict a pod.
const evictionDelay = 2 * time.Second

// In the intervals of yes, a condition is certainly true. In the intervals of maybe, it may be true.
type certainly struct{ yes, maybe []interval }

// eviction is the eviction of a pod from a marked node. replaced is the time at which the replacement of the pod is
// ready, or zero.
type eviction struct {
	mark         *mark
	pod          *pod
	at, replaced time.Time
}

// evictions are the predicted evictions of pods by the taint eviction controller.
type evictions struct {
	// all counts all evictions. needless counts the evictions from nodes that came back.
	all, needless answer.Range
	// best holds the evictions if all addresses become ready again as early as possible. worst holds the evictions if
	// they become ready again as late as possible.
	best, worst []eviction
}

// evictor predicts which pods the taint eviction controller evicts from marked nodes.
type evictor struct {
	settings Settings
	tainter  tainter
	// pods maps the name of each node to its recorded pods.
	pods map[string][]*pod
	// replacementTakes is the longest recorded time until the replacement of an evicted pod was Ready, or 0.
	replacementTakes time.Duration
}

// evict predicts the evictions from marked nodes.
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

// evictable returns the number of pods that a taint can evict if the controller sets it as early as possible.
func (v *evictor) evictable(t *taint) (n int) {
	for _, p := range v.pods[t.mark.silence.node] {
		n += count(t.may(v.settings, p, t.mark.earliest))
	}
	return n
}

// count counts the evictions from a node. The lower and the upper limit assume different orders of the taints, because
// the order may be unknown. A replacement counts only if the replaced pod counts.
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

// may reports whether the taint can evict the pod p. tainted is the time at which the controller sets the taint. The
// controller removes the taint at most one monitor period after the node is Ready again.
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

// must reports whether the taint certainly evicts the pod p. tainted is the time at which the controller sets the
// taint.
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

// isIdle reports whether any of the intervals overlaps the time from the mark until the eviction.
func (t *taint) isIdle(all []interval, until time.Time) bool {
	return slices.ContainsFunc(all, func(f interval) bool { return !f.to.Before(t.mark.at) && f.from.Before(until) })
}

// best predicts an eviction whose replacement is ready as early as possible. A StatefulSet creates the replacement only
// after the kubelet has terminated the old pod (statefulset, updateStatefulSet).
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

// worst predicts an eviction whose replacement is ready as late as possible. The replacement takes as long as the
// slowest recorded replacement. If no replacement was recorded, the new pod is ready when the node is Ready again.
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
