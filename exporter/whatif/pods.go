package whatif

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// evictedByTaint is the DisruptionTarget reason that the taint eviction controller sets.
const evictedByTaint = "DeletionByTaintManager"

// pod is a pod, with the state that evictions and addresses depend on.
type pod struct {
	node      string
	tolerates *event.Toleration
	from      time.Time
	// gone is the time at which the pod was deleted or ended, or zero. evicted is set if the taint eviction controller
	// deleted the pod.
	gone    time.Time
	evicted bool
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
	p.node, p.tolerates = o.Node, o.ToleratesUnreachable
	if p.gone.IsZero() && (e.Type == event.Deleted || !o.Deletion.IsZero() || o.Phase == "Failed" || o.Phase == "Succeeded") {
		p.gone = e.Seen
		if p.evicted = o.Disruption == evictedByTaint; p.evicted {
			s.evicted++
		}
	}
	if marked := isMarked(o); marked || p.gone.IsZero() { // a deleted pod does not become ready again
		s.markedIs(p, e.Seen, marked)
	}
	if e.Type == event.Deleted {
		delete(s.pods, o.UID)
	}
}

// isMarked reports whether the node controller marked the pod: Ready is False without a reason, and the containers are
// ready (MarkPodsNotReady).
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
