package pods

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// undecided determines the final causes of the readiness losses whose cause is not certain yet. The newest losses of a
// pod are undecided, or none is. All undecided losses of a pod have the same tentative cause.
type undecided struct {
	watches *watches.Watches
	found   *transition.List
	nodes   *nodes.Nodes
	// `resolved` is called when the cause of a readiness loss has been determined. For each pod, it is called in the
	// order of the losses.
	resolved func(*ReadinessLoss)
	// byNode holds the pods with undecided losses, by node.
	byNode map[string]map[*Pod]bool
}

// await adds a loss. A pod can lose readiness again while the cause of its previous loss is not certain.
func (q *undecided) await(w *ReadinessLoss) {
	if q.byNode[w.node] == nil {
		q.byNode[w.node] = map[*Pod]bool{}
	}
	q.byNode[w.node][w.Pod] = true
	if w.tentative == cause.ProbeFailed {
		q.watches.Schedule(w.At.Add(nodeWait), watches.RankProbe, "", func() { q.resolveProbe(w) })
	} else {
		q.watches.Schedule(w.At.Add(watches.LagWait), watches.RankMark, "", func() { q.resolve(w) })
	}
}

// undecided returns the pod's undecided losses, oldest first.
func (p *Pod) undecided() (all []*ReadinessLoss) {
	for w := p.was().loss; w != nil && w.Undecided; w = w.earlier {
		all = append(all, w)
	}
	slices.Reverse(all)
	return all
}

// causeByNode returns the cause of a readiness loss according to the node's events so far. certain is false if a later
// event can change the cause.
func (q *undecided) causeByNode(w *ReadinessLoss) (why cause.Cause, certain bool) {
	switch w.tentative {
	case cause.ProbeFailed:
		switch {
		case q.nodes.NotReadyAt(w.node, w.since):
			return cause.NodeNotReady, true
		case q.nodes.RestartedBefore(w.node, w.At.Add(evidenceWait), w.since.Add(nodeWait)):
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
	if w := p.was().loss; w != nil && w.Undecided {
		w.changes = append(w.changes, change)
		return
	}
	q.reportNow(p, change)
}

func (q *undecided) reportNow(p *Pod, change transition.PodReadyChanged) {
	p.namespace.Transitions[change.To][change.Cause]++
	if change.Cause.OfNode() {
		change.Trigger, _ = q.nodes.Trigger(change.Node, change.Cause)
	}
	q.found.Add(change)
}

// NodeReadyChanged handles a change of a node's Ready condition. For each pod of the node, it resolves the readiness
// losses that now have a certain cause.
func (q *undecided) NodeReadyChanged(node string) {
	q.resolveOldest(q.byNode[node], q.isAnyCertain)
}

// ResolveAll resolves all readiness losses. Call it when no more evidence will arrive.
func (q *undecided) ResolveAll() {
	for {
		all := map[*Pod]bool{}
		for _, pods := range q.byNode {
			maps.Copy(all, pods)
		}
		if !q.resolveOldest(all, func([]*ReadinessLoss) bool { return true }) {
			return
		}
	}
}

// resolveAllOf resolves the readiness losses of a pod, oldest first.
func (q *undecided) resolveAllOf(p *Pod) {
	for _, w := range p.undecided() {
		q.resolve(w)
	}
}

// resolveOldest resolves the oldest readiness loss of each pod whose losses match. It returns false if there are none.
func (q *undecided) resolveOldest(of map[*Pod]bool, match func([]*ReadinessLoss) bool) bool {
	var some []*ReadinessLoss
	for p := range of {
		if all := p.undecided(); len(all) > 0 && match(all) {
			some = append(some, all[0])
		}
	}
	slices.SortFunc(some, func(a, b *ReadinessLoss) int {
		return cmp.Or(a.At.Compare(b.At), bytes.Compare(a.Pod.ID[:], b.Pod.ID[:]))
	})
	for _, w := range some {
		q.resolve(w)
	}
	return len(some) > 0
}

// resolve determines the final cause of a pod's oldest undecided loss, and does nothing if the loss is resolved.
// Afterwards, it resolves the pod's next loss if the cause of this next loss or of a later one is certain.
func (q *undecided) resolve(w *ReadinessLoss) {
	if !w.Undecided {
		return
	}
	w.Cause, _ = q.causeByNode(w)
	w.Undecided = false
	later := w.Pod.undecided()
	if !slices.ContainsFunc(later, func(x *ReadinessLoss) bool { return x.node == w.node }) {
		delete(q.byNode[w.node], w.Pod)
		if len(q.byNode[w.node]) == 0 {
			delete(q.byNode, w.node)
		}
	}
	for _, change := range w.changes {
		change.Cause, change.Waited = w.Cause, q.watches.Now().Sub(change.Time)
		if change.From == event.StatusTrue {
			change.Why = w.words()
		}
		q.reportNow(w.Pod, change)
	}
	w.changes = nil
	q.resolved(w)
	if q.isAnyCertain(later) {
		q.resolve(later[0])
	}
}

func (q *undecided) isAnyCertain(all []*ReadinessLoss) bool {
	return slices.ContainsFunc(all, func(w *ReadinessLoss) bool {
		_, certain := q.causeByNode(w)
		return certain
	})
}

// resolveProbe resolves a loss with the tentative cause ProbeFailed, or waits longer while the node watch is known to lag.
func (q *undecided) resolveProbe(w *ReadinessLoss) {
	limit := w.At.Add(watches.LagWait)
	if until := q.watches.LaggingUntil(event.KindNode); until.Before(limit) {
		limit = until
	}
	if w.Undecided && limit.After(q.watches.Now()) {
		q.watches.Schedule(limit, watches.RankProbe, "", func() { q.resolveProbe(w) })
		return
	}
	q.resolve(w)
}
