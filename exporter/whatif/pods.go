package whatif

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// evictedByTaint is the DisruptionTarget reason that the taint eviction controller sets.
const evictedByTaint = "DeletionByTaintManager"

// pod is the part of a pod's state that evictions and addresses depend on.
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
	// isEvictedByMark is set if the pod was evicted because its node became Unknown in the recording. replacement is
	// the pod that replaced this pod. replaces is the pod that this pod replaced.
	isEvictedByMark       bool
	replacement, replaces *pod
	// readyAt is the first time at which the pod was Ready.
	readyAt time.Time
	// marked is set if the node controller set the pod's Ready condition to False.
	marked    bool
	addresses []*address
}

// pods holds the pods of a recording, with their evictions and replacements.
type pods struct {
	// The map byUID holds the existing pods, including pods that are known only from an address. The slice all holds
	// the pods that have events in the recording, including deleted pods, in the order of their first events.
	byUID map[event.UID]*pod
	all   []*pod
	// evicted is the number of evictions, and evictedNeedlessly is the number of evictions from nodes that came back.
	// replacementTakes is the longest time from an eviction until the pod's replacement was Ready. Pods of StatefulSets
	// do not count.
	evicted, evictedNeedlessly int
	replacementTakes           time.Duration
}

// podChange describes what an event changed for a pod. evicted is set if the taint eviction controller deleted the pod.
// marked is set if the node controller set the pod's Ready condition to False. unmarked is set if the kubelet overwrote
// that condition.
type podChange struct{ evicted, marked, unmarked bool }

func newPods() *pods { return &pods{byUID: map[event.UID]*pod{}} }

func (all *pods) of(id event.UID) *pod {
	p := all.byUID[id]
	if p == nil {
		p = &pod{}
		all.byUID[id] = p
	}
	return p
}

// apply updates a pod from its object.
func (all *pods) apply(seen sighting, o *event.Pod) (p *pod, is podChange) {
	p = all.of(o.UID)
	if p.from.IsZero() {
		p.from = seen.at
		all.all = append(all.all, p)
	}
	p.namespace, p.node, p.owner, p.tolerates = o.Namespace, o.Node, o.Owner, o.ToleratesUnreachable
	if p.readyAt.IsZero() && o.Ready != nil && o.Ready.Status == event.StatusTrue {
		p.readyAt = seen.at
	}
	if p.gone.IsZero() && (seen.deleted || !o.DeletionTimestamp.IsZero() || o.Phase == "Failed" || o.Phase == "Succeeded") {
		p.gone = seen.at
		// An eviction in the first list happened before the recording.
		p.evicted = !seen.first && o.Disruption == evictedByTaint
		is.evicted = p.evicted
		all.evicted += count(p.evicted)
	}
	if marked := isMarked(o); marked != p.marked && (marked || p.gone.IsZero()) { // a deleted pod does not become ready again
		p.marked, is.marked, is.unmarked = marked, marked, !marked
	}
	if seen.deleted {
		delete(all.byUID, o.UID)
	}
	return p, is
}

// isStateful reports whether a StatefulSet owns the pod.
func (p *pod) isStateful() bool { return strings.HasPrefix(p.owner, "StatefulSet/") }

// left returns the time at which the pod would have disappeared without an eviction, or zero if it would still exist.
// If the pod was replaced, this is the time at which its last replacement disappeared. An eviction before the given
// time counts as a normal deletion.
func (p *pod) left(from time.Time) time.Time {
	switch {
	case p.replacement != nil:
		return p.replacement.left(from)
	case p.evicted && !p.gone.Before(from):
		return time.Time{}
	}
	return p.gone
}

// findReplacements finds the replacements of evicted pods.
func (all *pods) findReplacements(markedAt func(node string, t time.Time) *silence) {
	var evicted []*pod
	for _, p := range all.all {
		if !p.evicted {
			continue
		}
		marked := markedAt(p.node, p.gone)
		if p.isEvictedByMark = marked != nil; p.isEvictedByMark && p.owner != "" {
			evicted = append(evicted, p)
		}
		all.evictedNeedlessly += count(p.isEvictedByMark && !marked.failed)
	}
	slices.SortStableFunc(evicted, func(a, b *pod) int { return a.gone.Compare(b.gone) })
	all.link(evicted)
}

// link links evicted pods with their replacements. A replacement has the same owner as the evicted pod, and is first
// seen after the eviction. The evicted pods must be sorted by the times of the evictions.
func (all *pods) link(evicted []*pod) {
	type owner struct{ namespace, name string }
	waiting := map[owner][]*pod{}
	for _, p := range all.all {
		for ; len(evicted) > 0 && !evicted[0].gone.After(p.from); evicted = evicted[1:] {
			id := owner{evicted[0].namespace, evicted[0].owner}
			waiting[id] = append(waiting[id], evicted[0])
		}
		id := owner{p.namespace, p.owner}
		if same := waiting[id]; len(same) > 0 && same[0] != p {
			p.replaces, same[0].replacement, waiting[id] = same[0], p, same[1:]
			if !p.isStateful() && !p.readyAt.IsZero() {
				all.replacementTakes = max(all.replacementTakes, p.readyAt.Sub(p.replaces.gone))
			}
		}
	}
}

// byNode maps the name of each node to its pods.
func (all *pods) byNode() map[string][]*pod {
	nodes := map[string][]*pod{}
	for _, p := range all.all {
		nodes[p.node] = append(nodes[p.node], p)
	}
	return nodes
}

// isMarked reports whether the node controller set the pod's Ready condition to False (MarkPodsNotReady). In this case,
// the condition has no reason and no message, although the containers are ready.
func isMarked(o *event.Pod) bool {
	r := o.Ready
	return r != nil && r.Status == event.StatusFalse && r.Reason == "" && r.Message == "" && o.ContainersReady == event.StatusTrue
}
