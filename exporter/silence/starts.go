package silence

import (
	"cmp"
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

// Starts reports the silences at t that are longer than the grace period, and which classes of silences no longer hold.
// It is sorted by node and class.
func (h *Store) Starts(t time.Time) (all []Start) {
	h.classify(t)
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		n := h.nodes[name]
		is := n.classAt(t, h.Settings.Period)
		for class, until := range n.until {
			switch {
			case verdict.Class(class) == is:
				all = append(all, Start{name, is, n.lost.Began})
			case t.Before(until):
				all = append(all, Start{Node: name, Class: verdict.Class(class)})
			}
		}
	}
	return all
}

// classify records the classes of the newest silences at t.
func (h *Store) classify(t time.Time) {
	for _, n := range h.nodes {
		if is := n.classAt(t, h.Settings.Period); is < verdict.ClassDeleted {
			n.until[is] = t.Add(endShown)
		}
		if x := n.lost; x != nil && !x.Ended.IsZero() && (x.Unseen || x.Ended.Sub(x.Began) > h.Settings.Period) {
			n.until[x.class()] = x.Ended.Add(endShown) // it may have been longer than the grace period between two calls only
		}
	}
}

// classAt returns the class at t. It returns NumClasses if the silence has ended, or is not longer than the grace period.
// If kubeflap cannot see the last heartbeat, the node controller has found the silence to be longer.
func (n *node) classAt(t time.Time, period time.Duration) verdict.Class {
	x, until := n.lost, cmp.Or(n.gone, t)
	switch {
	case x == nil, !x.Ended.IsZero(), !x.Unseen && until.Sub(x.Began) <= period:
		return verdict.NumClasses
	case n.gone.IsZero():
		return x.class()
	case t.Sub(n.gone) > deletedShown:
		return verdict.NumClasses
	}
	return verdict.ClassDeleted
}

// class returns the class by the announcement and the verdict.
func (s *Silence) class() verdict.Class {
	switch {
	case s.Announced != "":
		return verdict.ClassPlanned
	case s.Judgement == nil:
		return verdict.ClassUndecided
	}
	return s.Judgement.Verdict().Class()
}
