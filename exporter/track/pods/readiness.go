package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
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
	// `because` is what the API says about the tentative cause.
	because string
	// `changes` contains the changes to Ready that are reported when the loss is resolved.
	changes []transition.PodReadyChanged
}

// LossBefore returns the readiness loss that explains why a write made an address of the pod not ready, or nil. It is the
// last loss before the write. version is the resourceVersion of the write, and t is the time at which kubeflap saw it. If
// no loss is known to precede the write, the pod watch may lag, so LossBefore returns the first one that was seen soon
// after t. It does not return a loss from which the pod recovered long before t.
func (x *store) LossBefore(p *Pod, version uint64, t time.Time) (found *ReadinessLoss) {
	for w := x.was(p).loss; w != nil && (w.Recovered.IsZero() || t.Sub(w.Recovered) <= watches.LagWait); w = w.earlier {
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

// readyChanged handles a change of Ready. It does not report when a pod becomes Ready for the first time, because such
// a pod has just started.
func (x *Pods) readyChanged(p *Pod, e event.Event, o *event.Pod) {
	from, to := p.ready, readyOf(o)
	if from == event.StatusTrue {
		x.of(p).namespace.Unready++
		x.blame(p, e, o)
	}
	if p.everReady {
		change := transition.PodReadyChanged{At: transition.At{Time: e.Seen}, Pod: x.named(p), From: from, To: to, Cause: x.lossCause(p)}
		if from == event.StatusTrue {
			change.Why = x.was(p).loss.why()
		}
		x.report(p, change)
	}
	if to == event.StatusTrue {
		p.everReady = true
	}
	p.ReadyChangedAt = x.watches.Moment(e.Seen)
	if x.pasts.find(p.ID) == 0 {
		return
	}
	if was := x.note(p); to == event.StatusTrue {
		switch {
		case was.replaced:
			was.staleSince = 0
		case was.staleSince != 0:
			was.staleSince = p.ReadyChangedAt // the image changed while the pod was not Ready
		}
		was.updateDone, was.readyAgain = was.replaced, was.replaced
		if was.loss != nil {
			was.loss.Recovered = e.Seen
		}
	}
}

func (x *Pods) blame(p *Pod, e event.Event, o *event.Pod) {
	c, was := x.evidence(p, o, e.Seen), x.note(p)
	tentative := p.RemovalCause
	if tentative == cause.Unknown {
		tentative = c.cause()
	}
	w := &ReadinessLoss{Pod: p, node: o.Node, At: e.Seen, since: e.Seen, ready: x.watches.Time(p.ReadyChangedAt), tentative: tentative, version: x.watches.Version()}
	if w.because = Quote(c.why(tentative)); tentative == p.RemovalCause && was.removedBecause != "" {
		w.because = was.removedBecause
	}
	if o.Ready != nil && !o.Ready.LastTransitionTime.IsZero() {
		w.since = o.Ready.LastTransitionTime
	}
	why, certain := x.causeByNode(w)
	if certain && why == cause.NodeHeartbeatLost {
		x.nodes.PodMarked(e.Seen)
	}
	before := was.loss
	if certain || before != nil && before.tentative != tentative {
		x.resolveAllOf(p) // a pod's unresolved losses must have the same tentative cause
	}
	x.observeStale(p, tentative, endsNow(c), e.Seen)
	if w.Cause, w.Undecided = why, !certain; w.Undecided {
		w.Cause = tentative
		x.await(w)
	}
	if before != nil && e.Seen.Sub(before.At) <= watches.LagWait {
		w.earlier = before
	}
	w.forgetOld(e.Seen)
	was.loss = w
}

// forgetOld drops the earlier losses that are too old for LossBefore, even if the write was seen up to watches.LagWait
// ago. Otherwise, a pod that flaps all the time would need more and more memory.
func (w *ReadinessLoss) forgetOld(now time.Time) {
	for ; w.earlier != nil; w = w.earlier {
		if now.Sub(w.earlier.Recovered) > 2*watches.LagWait {
			w.earlier = nil
			return
		}
	}
}

// observeStale reports for how long Ready was wrongly True after a container had exited or its image had been changed.
// It reports this once for each update and for each end of a container, because the pod can lose readiness again before
// the container is replaced, or while the new container starts. The parameter ends is set if a container has just ended.
func (x *Pods) observeStale(p *Pod, why cause.Cause, ends bool, t time.Time) {
	was := x.note(p)
	since := was.staleSince
	was.staleSince = 0
	switch {
	case why == cause.InPlaceUpdate && since != 0, why == cause.ContainerExit && since > was.updatedAt:
	case why == cause.ContainerExit && ends:
		since = x.watches.Moment(t)
	default:
		return
	}
	named := transition.Pod{Namespace: x.of(p).namespace.Name, Name: x.name(p)}
	x.found.Add(transition.PodReadyWasStale{At: transition.At{Time: t}, Pod: named, Stale: t.Sub(x.watches.Time(since))})
}
