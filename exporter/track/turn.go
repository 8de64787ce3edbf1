package track

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// turn is a pod that is not Ready any more, and whose cause waits for what its node will show: the watches of pods and
// nodes are not ordered among each other.
type turn struct {
	id   event.UID
	pod  *pod
	node string
	at   time.Time
	// tentative is the cause as far as is known: CauseProbeFailed, which a node that is not Ready outdoes, or
	// CauseNodeHeartbeatLost of a pod that the node controller marked though its node was last seen Ready.
	tentative Cause
	// findings are to be told with the cause; to are the statuses that they lead to.
	findings []Finding
	to       []event.Status
}

// turnPod folds a change of Ready. A pod's first Ready is where its story begins.
func (f *Tracker) turnPod(p *pod, e event.Event, o *event.Pod) {
	from, to := p.ready, readyOf(o)
	if from == event.StatusTrue {
		p.namespace.unready++
		f.resolveTurn(f.turns[o.UID])
		f.blamePod(p, e, o)
	}
	if p.everReady {
		x := p.finding(e, PodReadyChanged)
		x.From, x.To, x.Cause = from.String(), to.String(), p.cause
		f.tellTurn(o.UID, p, x, to)
	}
	if to == event.StatusTrue {
		p.everReady, p.cause, p.recovered = true, CauseUnknown, p.cause
		p.updateDone = p.replaced
	}
	p.turned, p.ended = f.moment(e.Seen), 0
	f.catchUpWith(o.UID, to, e.Seen)
}

// blamePod finds why a pod is not Ready any more.
func (f *Tracker) blamePod(p *pod, e event.Event, o *event.Pod) {
	if p.cause = p.leaving; p.cause == CauseUnknown {
		c := &podChange{before: p, now: o, node: f.nodes[o.Node], at: e.Seen, updated: f.time(p.updated)}
		p.cause = c.cause()
	}
	f.observeStale(p, e.Seen)
	w := &turn{id: o.UID, pod: p, node: o.Node, at: e.Seen, tentative: p.cause}
	cause, sure := f.causeByNode(w, f.nodes[o.Node])
	if p.cause = cause; sure {
		return
	}
	f.turns[o.UID] = w
	if f.turnsOn[w.node] == nil {
		f.turnsOn[w.node] = map[event.UID]*turn{}
	}
	f.turnsOn[w.node][w.id] = w
	if w.tentative == CauseProbeFailed {
		f.probeTurns.push(w)
	} else {
		f.markTurns.push(w)
	}
}

// causeByNode is the cause of a turn as the pod's node shows it so far. It is sure if no later event of the node can change it.
func (f *Tracker) causeByNode(w *turn, n *node) (cause Cause, sure bool) {
	switch w.tentative {
	case CauseProbeFailed:
		// The evidence of the node may come after the pod's.
		switch by := w.at.Add(evidenceWait); {
		case n.notReadyAt(by):
			return CauseNodeNotReady, true
		case n.restartedBefore(by):
			return CauseKubeletRestart, true
		}
		return CauseProbeFailed, n == nil
	case CauseNodeHeartbeatLost:
		return f.causeOfMark(w, n)
	}
	return w.tentative, true
}

// causeOfMark: the node controller marks the pods of a node whose Ready it has turned Unknown (node lifecycle controller,
// monitorNodeHealth), and one by one those that change, or are bound to it, while its Ready is not True for whatever reason
// (processPod). So it depends on the node; if that was last seen Ready, its watch is behind.
func (f *Tracker) causeOfMark(w *turn, n *node) (cause Cause, sure bool) {
	if n == nil || !n.exists || f.watches[event.KindNode].missing {
		return CauseNodeHeartbeatLost, true
	}
	since := w.at.Add(-lagWait)
	switch {
	case n.ready == event.StatusUnknown:
		return CauseNodeHeartbeatLost, true
	case n.ready == event.StatusFalse:
		return CauseNodeNotReady, true
	case n.lastUnknown.After(since) && !n.lastUnknown.Before(n.lastFalse):
		return CauseNodeHeartbeatLost, true
	case n.lastFalse.After(since):
		return CauseNodeNotReady, true
	}
	return CauseUnknown, false
}

// tellTurn counts and reports a change of a pod's Ready, once its cause is known.
func (f *Tracker) tellTurn(id event.UID, p *pod, x Finding, to event.Status) {
	if w := f.turns[id]; w != nil {
		w.findings, w.to = append(w.findings, x), append(w.to, to)
		return
	}
	p.namespace.transitions[to][x.Cause]++
	f.takeTrigger(&x)
	f.report(x)
}

// nodeWait is how long a pod whose probe failed waits for its node: a kubelet that is not ready reports its pods and its node in requests
// of their own, one after the other.
const nodeWait = 3 * time.Second

// dueOfProbe is until when a pod whose probe failed waits for its node: for longer while the watch of nodes is known to be behind.
func (f *Tracker) dueOfProbe(w *turn) time.Time {
	due, limit := w.at.Add(nodeWait), w.at.Add(lagWait)
	switch until := f.lags.until[event.KindNode]; {
	case !due.Before(until):
		return due
	case until.Before(limit):
		return until
	}
	return limit
}

// resolveTurnsOf resolves what a change of a node's Ready explains.
func (f *Tracker) resolveTurnsOf(n *node) {
	f.resolveTurns(f.turnsOn[n.name], func(w *turn) bool {
		_, sure := f.causeByNode(w, n)
		return sure
	})
}

// resolveTurns resolves those of some turns that which chooses, in the order in which they happened.
func (f *Tracker) resolveTurns(of map[event.UID]*turn, which func(*turn) bool) {
	var some []*turn
	for _, w := range of {
		if which(w) {
			some = append(some, w)
		}
	}
	slices.SortFunc(some, func(a, b *turn) int { return cmp.Or(a.at.Compare(b.at), bytes.Compare(a.id[:], b.id[:])) })
	for _, w := range some {
		f.resolveTurn(w)
	}
}

func (f *Tracker) resolveTurn(w *turn) {
	if w == nil || f.turns[w.id] != w {
		return // there is none, or it is resolved
	}
	delete(f.turns, w.id)
	if delete(f.turnsOn[w.node], w.id); len(f.turnsOn[w.node]) == 0 {
		delete(f.turnsOn, w.node)
	}
	p := w.pod
	cause, _ := f.causeByNode(w, f.nodes[w.node])
	if p.ready == event.StatusTrue {
		p.recovered = cause
	} else {
		p.cause = cause
	}
	for i, x := range w.findings {
		x.Cause = cause
		f.tellTurn(w.id, p, x, w.to[i])
	}
	f.settleFlipsOf(w, cause)
	f.settleLossesOf(w.id)
	f.settleOverdueOf(w.id)
}

// settleFlipsOf settles the losses that the turn of a pod explains, although the pod may be Ready again, or gone, by now: those seen while it was
// not Ready, or before it where the watch of pods is behind.
func (f *Tracker) settleFlipsOf(w *turn, cause Cause) {
	if cause == CauseUnknown {
		return
	}
	for l := f.losses.of[w.id]; l != nil; l = l.older {
		if !l.settled && l.finding.Kind == AddressNotReady && f.followed(w, l) {
			f.settleLoss(l, cause)
		}
	}
}

// followed reports whether a loss followed from a turn.
func (f *Tracker) followed(w *turn, l *loss) bool {
	after := l.finding.Time.Sub(w.at)
	if after <= evidenceWait {
		return after >= -lagWait
	}
	// The watch of slices is behind. If the pod is Ready again the loss was seen before that.
	again := w.pod.ready == event.StatusTrue && l.finding.Time.After(f.time(w.pod.turned))
	return !again && !l.service.changedAround(l.finding.Time)
}

// observeStale measures for how long Ready stood and was not true: since the container that it speaks of was to be replaced, or had ended. A
// pod that came back and leaves again had Ready False in between; if its new container was there when it came back, Ready was true.
func (f *Tracker) observeStale(p *pod, t time.Time) {
	var since time.Time
	again := p.turned > p.updated
	switch {
	case p.cause == CauseInPlaceUpdate && again && p.updateDone:
		return
	case p.cause == CauseInPlaceUpdate:
		since = f.time(max(p.updated, p.turned))
	case p.cause == CauseContainerExit:
		since = f.time(p.ended)
	default:
		return
	}
	if since.IsZero() {
		since = t
	}
	f.report(Finding{Time: t, Kind: PodReadyWasStale, Namespace: p.namespace.name, Pod: p.name(), Duration: t.Sub(since)})
}
