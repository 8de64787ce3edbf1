package pods

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// undecided determines the final causes of the readiness losses whose cause is not certain yet. The newest losses of a
// pod are undecided, or none is. All undecided losses of a pod have the same tentative cause.
type undecided struct {
	*facts
	// `resolved` is called when the cause of a readiness loss has been determined. For each pod, it is called in the
	// order of the losses.
	resolved func(*ReadinessLoss)
	// byNode holds the undecided losses, by node, oldest first.
	byNode map[string][]*ReadinessLoss
}

// await adds a loss. A pod can lose readiness again while the cause of its previous loss is not certain.
func (q *undecided) await(w *ReadinessLoss) {
	q.byNode[w.node] = append(q.byNode[w.node], w)
	if w.tentative == cause.ProbeFailed {
		q.watches.Schedule(w.At.Add(nodeWait), watches.RankPods, func() {
			if !q.watches.Now().Before(q.watches.LaggingUntil(event.KindNode)) { // otherwise, its event may still come
				q.resolve(w)
			}
		})
	}
	q.watches.Schedule(w.At.Add(watches.LagWait), watches.RankPods, func() { q.resolve(w) })
}

// causeByNode returns the cause of a readiness loss according to the node's events so far. certain is false if a later
// event can change the cause.
func (q *undecided) causeByNode(w *ReadinessLoss) (why cause.Cause, certain bool) {
	switch w.tentative {
	case cause.ProbeFailed:
		switch {
		case q.nodes.NotReadyAt(w.node, w.since):
			return cause.NodeNotReady, true
		case q.nodes.RestartedBefore(w.node, w.At, w.since.Add(nodeWait)):
			return cause.KubeletRestart, true
		}
		return cause.ProbeFailed, !q.nodes.Known(w.node)
	case cause.NodeHeartbeatLost:
		return q.nodes.CauseOfMark(w.node, w.At, w.ready)
	}
	return w.tentative, true
}

// report counts and reports a change of Ready. A change whose cause is not certain yet is stored until resolve
// determines the cause.
func (q *undecided) report(p *Pod, change transition.PodReadyChanged) {
	if w := q.was(p).loss; w != nil && w.Undecided {
		w.changes = append(w.changes, change)
		return
	}
	q.reportNow(p, change)
}

func (q *undecided) reportNow(p *Pod, change transition.PodReadyChanged) {
	q.of(p).namespace.Transitions[change.To][change.Cause]++
	if change.Cause.OfNode() {
		change.Trigger, _ = q.nodes.Trigger(change.Node, change.Cause)
	}
	q.found.Add(change)
}

// NodeReadyChanged handles a change of a node's Ready condition. For each pod of the node, it resolves the readiness
// losses that now have a certain cause, and older ones.
func (q *undecided) NodeReadyChanged(node string) {
	for _, w := range slices.Clone(q.byNode[node]) {
		if _, certain := q.causeByNode(w); certain {
			q.resolve(w)
		}
	}
}

// ResolveAll resolves all readiness losses. Call it when no more evidence will arrive.
func (q *undecided) ResolveAll() {
	all := slices.Concat(slices.Collect(maps.Values(q.byNode))...)
	slices.SortFunc(all, func(a, b *ReadinessLoss) int {
		return cmp.Or(a.At.Compare(b.At), bytes.Compare(a.Pod.ID[:], b.Pod.ID[:]))
	})
	for _, w := range all {
		q.resolve(w)
	}
}

// resolveAllOf resolves the readiness losses of a pod.
func (q *undecided) resolveAllOf(p *Pod) {
	if w := q.was(p).loss; w != nil {
		q.resolve(w)
	}
}

// resolve determines the final cause of a readiness loss, and before that those of the pod's older ones. It does nothing if the
// loss is resolved.
func (q *undecided) resolve(w *ReadinessLoss) {
	if !w.Undecided {
		return
	}
	if w.earlier != nil {
		q.resolve(w.earlier)
	}
	w.Cause, _ = q.causeByNode(w)
	w.Undecided = false
	if rest := slices.DeleteFunc(q.byNode[w.node], func(other *ReadinessLoss) bool { return other == w }); len(rest) > 0 {
		q.byNode[w.node] = rest
	} else {
		delete(q.byNode, w.node)
	}
	for _, change := range w.changes {
		change.Cause, change.Waited = w.Cause, q.watches.Now().Sub(change.Time)
		if change.From == event.StatusTrue {
			change.Why = w.why()
		}
		q.reportNow(w.Pod, change)
	}
	w.changes = nil
	q.resolved(w)
}
