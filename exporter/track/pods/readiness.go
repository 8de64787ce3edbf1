package pods

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/queue"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// nodeWait is the time for which kubeflap waits for an event of the node after a failed probe. When a node becomes
	// not ready, its kubelet reports the pods and the node in separate requests.
	nodeWait = 3 * time.Second
	// evidenceWait is the maximum delay between the pod's event and the node's event. The events of different watches
	// have no common order.
	evidenceWait = time.Second
)

// ReadinessLoss is a change of a pod from Ready to not Ready.
type ReadinessLoss struct {
	ID  event.UID
	Pod *Pod
	At  time.Time
	// version is the resourceVersion of the write that made the pod not Ready, or 0 if it is unknown.
	version uint64
	// `since` is the lastTransitionTime of Ready, or At if there is none.
	since time.Time
	// `ready` is the time at which the pod last became Ready, or zero if it was Ready in the first list.
	ready time.Time
	// Cause is the most likely cause so far. Undecided is set while it depends on later events of the pod's node.
	Cause     cause.Cause
	Undecided bool
	// Recovered is the time at which the pod became Ready again, or zero.
	Recovered time.Time
	// `earlier` is the pod's previous readiness loss if it was recent, or nil.
	earlier *ReadinessLoss
	node    string
	// `tentative` is the most likely cause so far. ProbeFailed can become NodeNotReady or KubeletRestart.
	// NodeHeartbeatLost means that the node controller set the pod's Ready to False, but kubeflap last saw the node
	// Ready.
	tentative cause.Cause
	// `changes` contains the changes to Ready that are reported when the loss is resolved.
	changes []transition.PodReadyChanged
}

// LossBefore returns the readiness loss that explains why a write made an address of the pod not ready, or nil. It is the
// last loss before the write. version is the resourceVersion of the write, and t is the time at which kubeflap saw it. If
// no loss is known to precede the write, the pod watch may lag, so LossBefore returns the first one that was seen soon
// after t. It does not return a loss from which the pod recovered long before t.
func (p *Pod) LossBefore(version uint64, t time.Time) (found *ReadinessLoss) {
	for w := p.loss; w != nil && (w.Recovered.IsZero() || t.Sub(w.Recovered) <= watches.LagWait); w = w.earlier {
		known := w.version > 0 && version > 0
		if known && w.version < version || !known && w.At.Sub(t) <= evidenceWait {
			return w
		}
		if w.At.Sub(t) <= watches.LagWait {
			found = w
		}
	}
	return found
}

// undecided holds the readiness losses whose cause is not certain yet, and determines their final causes.
type undecided struct {
	watches *watches.Watches
	found   *transition.List
	nodes   nodeFacts
	// `resolved` is called when the cause of a readiness loss has been determined. For each pod, it is called in the
	// order of the losses.
	resolved func(*ReadinessLoss)
	// byPod holds the losses of each pod, oldest first. All losses of a pod have the same tentative cause.
	byPod map[event.UID][]*ReadinessLoss
	// `probes` contains the losses with the tentative cause ProbeFailed, and `marks` contains all other losses. Both
	// queues are sorted by time. They can also contain losses that have been resolved.
	probes, marks queue.Queue[*ReadinessLoss]
}

// await adds a loss. A pod can lose readiness again while the cause of its previous loss is not certain.
func (q *undecided) await(w *ReadinessLoss) {
	q.byPod[w.ID] = append(q.byPod[w.ID], w)
	if w.tentative == cause.ProbeFailed {
		q.probes.Push(w)
	} else {
		q.marks.Push(w)
	}
}

// removeFirst removes a loss and returns the later losses of its pod. ok is false if the loss is not the pod's oldest.
func (q *undecided) removeFirst(w *ReadinessLoss) (later []*ReadinessLoss, ok bool) {
	all := q.byPod[w.ID]
	if len(all) == 0 || all[0] != w {
		return nil, false
	}
	if q.byPod[w.ID] = all[1:]; len(all) == 1 {
		delete(q.byPod, w.ID)
	}
	return all[1:], true
}

// readyChanged handles a change of Ready. It does not report when a pod becomes Ready for the first time, because such
// a pod has just started.
func (x *Pods) readyChanged(p *Pod, e event.Event, o *event.Pod) {
	from, to := p.ready, readyOf(o)
	if from == event.StatusTrue {
		p.namespace.Counts.Unready++
		x.blame(p, e, o)
	}
	if p.everReady {
		x.report(o.UID, p, transition.PodReadyChanged{At: transition.At{Time: e.Seen}, Pod: p.named(), From: from, To: to, Cause: p.lossCause()})
	}
	if to == event.StatusTrue {
		p.everReady, p.updateDone = true, p.replaced
		if p.loss != nil {
			p.loss.Recovered = e.Seen
		}
	}
	p.readyChangedAt, p.containerEndedAt = x.watches.Moment(e.Seen), 0
}

func (x *Pods) blame(p *Pod, e event.Event, o *event.Pod) {
	tentative := p.removalCause
	if tentative == cause.Unknown {
		c := &lossEvidence{before: p, now: o, at: e.Seen, updated: x.watches.Time(p.updatedAt)}
		tentative = c.cause()
	}
	w := &ReadinessLoss{ID: o.UID, Pod: p, node: o.Node, At: e.Seen, since: e.Seen, ready: x.watches.Time(p.readyChangedAt), tentative: tentative, version: x.watches.Version()}
	if o.Ready != nil && !o.Ready.LastTransitionTime.IsZero() {
		w.since = o.Ready.LastTransitionTime
	}
	why, certain := x.causeByNode(w)
	if older := x.byPod[o.UID]; len(older) > 0 && (certain || older[0].tentative != tentative) {
		x.resolveAllOf(o.UID) // a pod's unresolved losses must have the same tentative cause
	}
	x.observeStale(p, tentative, e.Seen)
	if w.Cause, w.Undecided = why, !certain; w.Undecided {
		w.Cause = tentative
		x.await(w)
	}
	if w.earlier, p.loss = p.loss, w; w.earlier != nil && e.Seen.Sub(w.earlier.At) > watches.LagWait {
		w.earlier = nil
	}
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
func (q *undecided) report(id event.UID, p *Pod, change transition.PodReadyChanged) {
	if all := q.byPod[id]; len(all) > 0 {
		newest := all[len(all)-1]
		newest.changes = append(newest.changes, change)
		return
	}
	q.reportNow(p, change)
}

func (q *undecided) reportNow(p *Pod, change transition.PodReadyChanged) {
	p.namespace.Counts.Transitions[change.To][change.Cause]++
	if change.Cause.OfNode() {
		change.Trigger, _ = q.nodes.Trigger(change.Node, change.Cause)
	}
	q.found.Add(change)
}

// NodeReadyChanged handles a change of a node's Ready condition. For each pod of the node, it resolves the readiness
// losses that now have a certain cause.
func (q *undecided) NodeReadyChanged(node string) {
	q.resolveEach(func(all []*ReadinessLoss) bool { return all[0].node == node && q.isAnyCertain(all) })
}

// ResolveAll resolves all readiness losses. Call it when no more evidence will arrive.
func (q *undecided) ResolveAll() {
	for len(q.byPod) > 0 {
		q.resolveEach(func([]*ReadinessLoss) bool { return true })
	}
}

// resolveAllOf resolves the readiness losses of a pod, oldest first.
func (q *undecided) resolveAllOf(id event.UID) {
	for all := q.byPod[id]; len(all) > 0; all = q.byPod[id] {
		q.resolve(all[0])
	}
}

// resolveEach resolves the oldest readiness loss of each pod whose losses match.
func (q *undecided) resolveEach(match func([]*ReadinessLoss) bool) {
	var some []*ReadinessLoss
	for _, all := range q.byPod {
		if match(all) {
			some = append(some, all[0])
		}
	}
	slices.SortFunc(some, func(a, b *ReadinessLoss) int { return cmp.Or(a.At.Compare(b.At), bytes.Compare(a.ID[:], b.ID[:])) })
	for _, w := range some {
		q.resolve(w)
	}
}

// resolve determines the final cause of a pod's oldest readiness loss, and does nothing for other losses. Afterwards,
// it resolves the pod's next loss if the cause of this next loss or of a later one is certain.
func (q *undecided) resolve(w *ReadinessLoss) {
	later, ok := q.removeFirst(w)
	if !ok {
		return
	}
	why, _ := q.causeByNode(w)
	w.Cause, w.Undecided = why, false
	for _, change := range w.changes {
		change.Cause, change.Waited = why, q.watches.Now().Sub(change.Time)
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

// Due returns the earliest time at which a readiness loss must be resolved, and a function that resolves it. The
// function is nil if this time is later than `by`.
func (q *undecided) Due(by time.Time) (due time.Time, resolve func()) {
	var next *queue.Queue[*ReadinessLoss]
	if !q.probes.IsEmpty() {
		due, next = q.dueOfProbe(q.probes.Front()), &q.probes
	}
	if !q.marks.IsEmpty() {
		if at := q.marks.Front().At.Add(watches.LagWait); next == nil || at.Before(due) {
			due, next = at, &q.marks
		}
	}
	if next == nil || due.After(by) {
		return time.Time{}, nil
	}
	return due, func() { q.resolve(next.Take()) }
}

// dueOfProbe returns the time at which a loss with the tentative cause ProbeFailed must be resolved. kubeflap waits
// longer while the node watch is known to lag.
func (q *undecided) dueOfProbe(w *ReadinessLoss) time.Time {
	due, limit := w.At.Add(nodeWait), w.At.Add(watches.LagWait)
	switch until := q.watches.LaggingUntil(event.KindNode); {
	case !due.Before(until):
		return due
	case until.Before(limit):
		return until
	}
	return limit
}

// observeStale reports for how long Ready was wrongly True after a container had exited or its image had been changed.
// It reports nothing if the pod has been Ready with the new container.
func (x *Pods) observeStale(p *Pod, why cause.Cause, t time.Time) {
	var since time.Time
	switch {
	case why == cause.InPlaceUpdate && p.readyChangedAt > p.updatedAt && p.updateDone:
		return
	case why == cause.InPlaceUpdate:
		since = x.watches.Time(max(p.updatedAt, p.readyChangedAt))
	case why == cause.ContainerExit:
		since = x.watches.Time(p.containerEndedAt)
	default:
		return
	}
	if since.IsZero() {
		since = t
	}
	named := transition.Pod{Namespace: p.namespace.Name, Name: p.name()}
	x.found.Add(transition.PodReadyWasStale{At: transition.At{Time: t}, Pod: named, Stale: t.Sub(since)})
}
