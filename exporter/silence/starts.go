package silence

import (
	"cmp"
	"maps"
	"slices"
	"strings"
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
	began := h.classify(t)
	for x, s := range began {
		x.Began = s
		all = append(all, x)
	}
	for x := range h.shown {
		if began[x].IsZero() {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b Start) int { return cmp.Or(strings.Compare(a.Node, b.Node), cmp.Compare(a.Class, b.Class)) })
	return all
}

// Sweep forgets the classes that need not be reported any more.
func (h *Store) Sweep(t time.Time) { h.classify(t) }

// classify returns when the silences began that are longer than the grace period at t, and notes until when their classes
// are reported. If kubeflap cannot see the last heartbeat, the node controller has found the silence to be longer.
func (h *Store) classify(t time.Time) map[Start]time.Time {
	newest, began := map[string]*Silence{}, map[Start]time.Time{}
	for _, s := range h.all {
		if !s.Short {
			newest[s.Node] = s
		}
	}
	if h.shown == nil {
		h.shown = map[Start]time.Time{}
	}
	for node, s := range newest {
		x := Start{Node: node, Class: s.class()}
		switch {
		case !s.Unseen && s.Lasted(t) <= h.Settings.Period:
		case s.IsOngoing():
			began[x], h.shown[x] = s.Began, t.Add(endShown)
		case !s.IsDeleted():
			h.shown[x] = s.Ended.Add(endShown) // it may have been longer than the grace period between two calls only
		case t.Sub(s.Deleted) <= deletedShown:
			began[Start{Node: node, Class: verdict.ClassDeleted}] = s.Began
		}
	}
	maps.DeleteFunc(h.shown, func(_ Start, until time.Time) bool { return !t.Before(until) })
	return began
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
