package silence

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// endShown is the time for which Starts reports that a class no longer holds.
	endShown = time.Hour
	// deletedShown is the time for which Starts reports the silence of a deleted Node.
	deletedShown = 10 * time.Minute
)

// Start is the start of a node's silence that is longer than the grace period.
type Start struct {
	Node  string
	Class verdict.Class
	// Began is the time of the last heartbeat. It is zero if the node has no silence of this class any more.
	Began time.Time
}

// latest is the newest silence of a node, and what Starts reports about it.
type latest struct {
	*Silence
	// The field gone is the time of the Node's deletion, or zero.
	gone time.Time
	// The field class is the current class. It is NumClasses if there is nothing to report.
	class verdict.Class
	// The field until holds the time until which Starts reports each class. It is zero if the class never held.
	until [verdict.NumClasses]time.Time
}

// starts holds the newest silence of each node in which the node was lost.
type starts map[string]*latest

// Starts reports the silences at t that are longer than the grace period, and which classes of silences no longer hold.
// It is sorted by node and class.
func (h starts) Starts(t time.Time, gracePeriod time.Duration) (all []Start) {
	h.classify(t, gracePeriod)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		n := h[name]
		for class, until := range n.until {
			switch {
			case verdict.Class(class) == n.class:
				all = append(all, Start{name, n.class, n.Began})
			case t.Before(until):
				all = append(all, Start{Node: name, Class: verdict.Class(class)})
			}
		}
	}
	return all
}

// classify updates the classes of the newest silences, and forgets the nodes that have nothing to report.
func (h starts) classify(t time.Time, gracePeriod time.Duration) {
	for name, n := range h {
		is := n.classAt(t, gracePeriod)
		for _, class := range [...]verdict.Class{n.class, is} {
			if class < verdict.ClassDeleted {
				n.until[class] = t.Add(endShown)
			}
		}
		n.class = is
		if n.Silence != nil && !n.Ended.IsZero() && (n.Unseen || n.Ended.Sub(n.Began) > gracePeriod) {
			n.until[n.decided()] = n.Ended.Add(endShown) // it may have been longer than the grace period between two calls only
		}
		isOver := n.Silence == nil || !n.gone.IsZero() || !n.IsOngoing()
		if isOver && is == verdict.NumClasses && !slices.ContainsFunc(n.until[:], t.Before) {
			delete(h, name)
		}
	}
}

// classAt returns the class at t. It returns NumClasses if the silence has ended, or is not longer than the grace period.
// If kubeflap cannot see the last heartbeat, the node controller has found the silence to be longer.
func (n *latest) classAt(t time.Time, period time.Duration) verdict.Class {
	isGone, until := !n.gone.IsZero(), t
	if isGone {
		until = n.gone
	}
	switch {
	case n.Silence == nil, !n.Ended.IsZero(), !n.Unseen && until.Sub(n.Began) <= period, isGone && t.Sub(n.gone) > deletedShown:
		return verdict.NumClasses
	case isGone:
		return verdict.ClassDeleted
	}
	return n.decided()
}

// decided returns the class by the announcement and the verdict.
func (n *latest) decided() verdict.Class {
	switch {
	case n.Announced != "":
		return verdict.ClassPlanned
	case n.Judgement == nil:
		return verdict.ClassUndecided
	}
	return n.Judgement.Verdict().Class()
}

// begin records a new silence.
func (h *starts) begin(s *Silence) {
	n := (*h)[s.Node]
	if n == nil {
		if *h == nil {
			*h = starts{}
		}
		n = &latest{class: verdict.NumClasses}
		(*h)[s.Node] = n
	}
	n.Silence, n.gone = s, time.Time{}
}
