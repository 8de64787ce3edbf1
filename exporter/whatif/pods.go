package whatif

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// evictedByTaint is the DisruptionTarget reason that the taint eviction controller sets.
const evictedByTaint = "DeletionByTaintManager"

// pod is a pod, with the state that evictions and addresses depend on.
type pod struct {
	node string
	// namespace and owner identify the controller that replaces the pod. owner is empty if no controller replaces the
	// pod.
	namespace, owner string
	tolerates        *event.Toleration
	from             time.Time
	// gone is the time at which the pod was deleted or ended, or zero. evicted is set if the taint eviction controller
	// deleted the pod.
	gone    time.Time
	evicted bool
	// isEvictedByMark is set if the pod was evicted because its node was set to Unknown in the recording. replacement
	// is the pod that replaced this pod. replaces is the pod that this pod replaced.
	isEvictedByMark       bool
	replacement, replaces *pod
	// readyAt is the first time at which the pod was Ready.
	readyAt time.Time
	// marked is set if the node controller set Ready to False.
	marked    bool
	addresses []*address
}

func (s *Study) podOf(id event.UID) *pod {
	p := s.pods[id]
	if p == nil {
		p = &pod{}
		s.pods[id] = p
	}
	return p
}

func (s *Study) applyPod(e event.Event, o *event.Pod) {
	p := s.podOf(o.UID)
	if p.from.IsZero() {
		p.from = e.Seen
		s.allPods = append(s.allPods, p)
	}
	p.namespace, p.node, p.owner, p.tolerates = o.Namespace, o.Node, o.Owner, o.ToleratesUnreachable
	if p.readyAt.IsZero() && o.Ready != nil && o.Ready.Status == event.StatusTrue {
		p.readyAt = e.Seen
	}
	if p.gone.IsZero() && (e.Type == event.Deleted || !o.Deletion.IsZero() || o.Phase == "Failed" || o.Phase == "Succeeded") {
		p.gone = e.Seen
		// A pod that is terminating in the first list was evicted before the recording.
		if p.evicted = !s.gaps.first(e) && o.Disruption == evictedByTaint; p.evicted {
			s.evicted++
			s.keep(p, e.Seen)
		}
	}
	if marked := isMarked(o); marked || p.gone.IsZero() { // a deleted pod does not become ready again
		s.markedIs(p, e.Seen, marked)
	}
	if e.Type == event.Deleted {
		delete(s.pods, o.UID)
	}
}

// isStateful reports whether a StatefulSet owns the pod.
func (p *pod) isStateful() bool { return strings.HasPrefix(p.owner, "StatefulSet/") }

// left returns the time at which the pod would be gone without its eviction, or zero if the pod would stay. An evicted
// pod would stay until its last replacement is gone. An eviction before the time from counts like any other deletion.
func (p *pod) left(from time.Time) time.Time {
	switch {
	case p.replacement != nil:
		return p.replacement.left(from)
	case p.evicted && !p.gone.Before(from):
		return time.Time{}
	}
	return p.gone
}

// findReplacements finds the replacements of evicted pods. A replacement has the same owner, and is first seen after
// the eviction.
func (s *Study) findReplacements() {
	var evicted []*pod
	for _, p := range s.allPods {
		if !p.evicted {
			continue
		}
		marked := s.markedAt(p.node, p.gone)
		if p.isEvictedByMark = marked != nil; p.isEvictedByMark && p.owner != "" {
			evicted = append(evicted, p)
		}
		s.evictedNeedlessly += count(p.isEvictedByMark && !marked.failed)
	}
	slices.SortStableFunc(evicted, func(a, b *pod) int { return a.gone.Compare(b.gone) })
	type owner struct{ namespace, name string }
	waiting := map[owner][]*pod{}
	for _, p := range s.allPods {
		for ; len(evicted) > 0 && !evicted[0].gone.After(p.from); evicted = evicted[1:] {
			id := owner{evicted[0].namespace, evicted[0].owner}
			waiting[id] = append(waiting[id], evicted[0])
		}
		id := owner{p.namespace, p.owner}
		if all := waiting[id]; len(all) > 0 && all[0] != p {
			p.replaces, all[0].replacement, waiting[id] = all[0], p, all[1:]
			if !p.isStateful() && !p.readyAt.IsZero() {
				s.replacementTakes = max(s.replacementTakes, p.readyAt.Sub(p.replaces.gone))
			}
		}
	}
}

// markedAt returns the silence that explains why the node was Unknown at the time t in the recording, or nil.
func (s *Study) markedAt(node string, t time.Time) *silence {
	for _, x := range s.silences {
		if x.node == node && !x.wasUnknown && !x.marked.IsZero() && !x.marked.After(t) && (x.back.IsZero() || !x.back.Add(slow).Before(t)) {
			return x
		}
	}
	return nil
}

// isMarked reports whether the node controller marked the pod: Ready is False without a reason, and the containers are ready
// (MarkPodsNotReady).
func isMarked(o *event.Pod) bool {
	r := o.Ready
	return r != nil && r.Status == event.StatusFalse && r.Reason == "" && r.Message == "" && o.ContainersReady == event.StatusTrue
}

// markedIs records that the node controller marked the pod, or that the kubelet reverted the mark.
func (s *Study) markedIs(p *pod, t time.Time, marked bool) {
	if p.marked == marked {
		return
	}
	p.marked = marked
	if marked {
		for _, a := range p.addresses {
			s.hold(a, t)
		}
		return
	}
	if n := s.nodes[p.node]; n != nil {
		if x := n.marked; x != nil && (x.podsBack.IsZero() || t.Sub(x.podsBack) < podsReturn) {
			x.podsBack = t
		}
	}
}

// podsReturn is the longest interval between the returns of two pods on the same node.
const podsReturn = 30 * time.Second
