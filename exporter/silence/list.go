package silence

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// List holds several silences, for example those of an incident.
type List []*Silence

// Filter returns the silences that match.
func (x List) Filter(match func(*Silence) bool) List {
	some := make(List, 0, len(x))
	for _, s := range x {
		if match(s) {
			some = append(some, s)
		}
	}
	return some
}

// Count returns the number of silences that match.
func (x List) Count(match func(*Silence) bool) int {
	n := 0
	for _, s := range x {
		if match(s) {
			n++
		}
	}
	return n
}

// CountNodes returns the number of nodes with a silence that matches.
func (x List) CountNodes(match func(*Silence) bool) int { return len(x.Filter(match).OfEachNode()) }

// Any reports whether a silence matches.
func (x List) Any(match func(*Silence) bool) bool { return slices.ContainsFunc(x, match) }

// All reports whether there are silences, and all of them match.
func (x List) All(match func(*Silence) bool) bool { return len(x) > 0 && x.Count(match) == len(x) }

// ClocksSetBack reports whether the node controller ignored the heartbeats of all nodes because their clocks were set back.
func (x List) ClocksSetBack() bool { return x.All(func(s *Silence) bool { return s.ClockBack > 0 }) }

// Upgraded reports whether all nodes fell silent while their kubelets were upgraded.
func (x List) Upgraded() bool { return x.All(func(s *Silence) bool { return s.Upgraded }) }

// OfEachNode returns the first silence of each node.
func (x List) OfEachNode() List {
	if len(x) < 2 {
		return x
	}
	seen := make(map[string]bool, len(x))
	return x.Filter(func(s *Silence) bool {
		again := seen[s.Node]
		seen[s.Node] = true
		return !again
	})
}

// Nodes names the nodes.
func (x List) Nodes() string {
	var names []string
	for _, s := range x.OfEachNode() {
		names = append(names, s.Node)
	}
	return phrase.Some(names)
}

// ByBegan returns a copy of the silences, sorted by start and then by node.
func ByBegan(all List) List {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b *Silence) int {
		if began := a.Began.Compare(b.Began); began != 0 {
			return began
		}
		return strings.Compare(a.Node, b.Node)
	})
	return sorted
}

// BeganBetween returns the silences that began between first and last. The slice must be sorted by start.
func BeganBetween(sorted List, first, last time.Time) List {
	began := func(x *Silence, t time.Time) int { return x.Began.Compare(t) }
	from, _ := slices.BinarySearchFunc(sorted, first, began)
	to, _ := slices.BinarySearchFunc(sorted[from:], last.Add(1), began)
	return sorted[from : from+to]
}

// LargestGroup returns the largest group of silences that began within one interval of one of them. This one must itself
// have begun within one interval of a silence in the list `near`. Both lists are sorted by start. Each silence in the group
// is of a different node.
func LargestGroup(sorted, near List, interval time.Duration) (most List) {
	from, to := 0, 0
	for _, s := range sorted {
		first, last := s.Began.Add(-interval), s.Began.Add(interval)
		for sorted[from].Began.Before(first) {
			from++
		}
		for to < len(sorted) && !sorted[to].Began.After(last) {
			to++
		}
		if to-from > len(most) && len(BeganBetween(near, first, last)) > 0 {
			most = sorted[from:to]
		}
	}
	return most.OfEachNode()
}

// Ends reports whether all silences have ended, and whether kubeflap saw them end. It also returns the time between
// the first and the last end.
func Ends(all List) (ended, seen bool, apart time.Duration) {
	seen = !all.Any(func(s *Silence) bool { return s.EndedBlind })
	if all.Any(func(s *Silence) bool { return s.Ended.IsZero() }) {
		return false, seen, 0
	}
	byEnd := func(a, b *Silence) int { return a.Ended.Compare(b.Ended) }
	return true, seen, slices.MaxFunc(all, byEnd).Ended.Sub(slices.MinFunc(all, byEnd).Ended)
}
