package verdict

import (
	"slices"
	"strings"
	"time"
)

// largestGroup returns the largest group of silences that began within one heartbeat interval of each other. The group
// can include silences of other incidents. It omits silences whose start kubeflap did not see.
func (f *NodeLoss) largestGroup() []*Silence {
	if !f.grouped {
		f.group, f.grouped = f.findLargestGroup(), true
	}
	return f.group
}

func (f *NodeLoss) findLargestGroup() []*Silence {
	own := byBegan(f.Silences)
	if len(own) == 0 {
		return nil
	}
	if len(f.sorted) != len(f.Recent) {
		f.sorted, f.near = byBegan(f.Recent), near{}
	}
	from, to := beganBetween(f.sorted, own[0].Began.Add(-f.Interval), own[len(own)-1].Began.Add(f.Interval))
	others := f.sorted[from:to]
	all := f.groupable(own)
	if len(own) == 1 && len(all) == 1 && slices.Contains(others, own[0]) {
		// The group of a single silence depends only on the silences around it. Incidents with the same silences around
		// them can therefore share the cache. All other silences in the range are of other nodes, because one node
		// cannot have two disturbed silences so close together.
		if f.near.from != from || f.near.to != to {
			f.near = near{from, to, largestGroupOfSorted(f.groupable(others), f.Interval)}
		}
		return f.near.group
	}
	for _, s := range f.groupable(others) {
		if hasNear(own, s, f.Interval) {
			all = append(all, s)
		}
	}
	return largestGroupOf(all, f.Interval)
}

// near is a cache for a group, with the index range of the silences from which it was computed.
type near struct {
	from, to int
	group    []*Silence
}

// groupable returns the silences for which isDisturbed returns true and whose start kubeflap saw.
func (f *NodeLoss) groupable(all []*Silence) []*Silence {
	some := make([]*Silence, 0, len(all))
	for _, s := range all {
		if !s.BeganBlind && f.isDisturbed(s) {
			some = append(some, s)
		}
	}
	return some
}

// beganBetween returns the index range of the silences that began between first and last. The slice must be sorted by
// start.
func beganBetween(sorted []*Silence, first, last time.Time) (from, to int) {
	began := func(x *Silence, t time.Time) int { return x.Began.Compare(t) }
	from, _ = slices.BinarySearchFunc(sorted, first, began)
	to, _ = slices.BinarySearchFunc(sorted[from:], last.Add(1), began)
	return from, from + to
}

// byBegan returns a copy of the silences, sorted by start and then by node.
func byBegan(all []*Silence) []*Silence {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b *Silence) int {
		if c := a.Began.Compare(b.Began); c != 0 {
			return c
		}
		return strings.Compare(a.Node, b.Node)
	})
	return sorted
}

// hasNear reports whether another node fell silent within one heartbeat interval of the start of s. The given slice
// must be sorted by start.
func hasNear(all []*Silence, s *Silence, interval time.Duration) bool {
	from, to := beganBetween(all, s.Began.Add(-interval), s.Began.Add(interval))
	return slices.ContainsFunc(all[from:to], func(x *Silence) bool { return x.Node != s.Node })
}

// independentSilences returns the silences of the last hour that have no common cause. It omits silences that began
// together, unless their causes certainly differ. It also omits silences that follow a kubelet upgrade, and silences of
// reclaimed machines, because upgrades and replacements proceed node by node.
func (f *NodeLoss) independentSilences() (alone []*Silence) {
	rest := slices.DeleteFunc(slices.Clone(f.Recent), func(s *Silence) bool {
		return !f.inLastHour(s) || !f.isDisturbed(s) || s.isGone() || f.Upgrades != nil && f.Upgrades.Before(s.Node, s.Began)
	})
	for rest = byBegan(rest); len(rest) > 0; {
		end := 1 // a gap of more than one interval separates groups
		for end < len(rest) && rest[end].Began.Sub(rest[end-1].Began) <= f.Interval {
			end++
		}
		alone = f.appendIndependent(alone, rest[:end:end])
		rest = rest[end:]
	}
	return alone
}

// appendIndependent adds to the first slice those silences of the second slice that have no common cause.
func (f *NodeLoss) appendIndependent(alone, rest []*Silence) []*Silence {
	for {
		group := largestGroupOfSorted(rest, f.Interval)
		if len(group) < 2 {
			return append(alone, rest...)
		}
		if holds, _ := f.oneCause(group); holds == No {
			alone = append(alone, group...)
		}
		rest = slices.DeleteFunc(rest, func(s *Silence) bool {
			if len(group) == 0 || s != group[0] {
				return false
			}
			group = group[1:] // group and rest are in the same order
			return true
		})
	}
}

// isDisturbed reports whether something delayed the node's heartbeats. The silence must be proven, and longer than an
// undisturbed heartbeat interval. A shorter silence is normal, even if it exceeds a short grace period. The result is
// false for kubelet upgrades and clock steps.
func (f *NodeLoss) isDisturbed(s *Silence) bool {
	return !s.Unseen && !s.Blind && !s.Found.isDoubtful() && !s.Upgraded && s.ClockBack == 0 && f.lasted(s) > f.Interval
}

// beganBlind reports whether a node of the incident and at least one other node fell silent during the same break of
// kubeflap's own watch. It is then unknown whether they fell silent together.
func (f *NodeLoss) beganBlind() bool {
	for _, s := range f.Recent {
		isNear := func(x *Silence) bool {
			return x.BeganBlind && x.Node != s.Node && x.Began.Sub(s.Began).Abs() <= f.Interval
		}
		if s.BeganBlind && slices.ContainsFunc(f.Silences, isNear) {
			return true
		}
	}
	return false
}

const beganBlindText = "several nodes fell silent while kubeflap's own watch was broken, so it is unknown whether they fell silent together"

func (f *NodeLoss) lasted(s *Silence) time.Duration { return s.Lasted(f.Now) }

// lateToo returns other nodes whose heartbeats became late at the same time. These nodes may still recover within the
// grace period.
func (f *NodeLoss) lateToo() (names []string) {
	for _, s := range f.Late {
		isNear := func(x *Silence) bool {
			return s.Node != x.Node && x.Ended.IsZero() && s.Began.Sub(x.Began).Abs() <= f.Interval
		}
		if slices.ContainsFunc(f.Silences, isNear) {
			names = append(names, s.Node)
		}
	}
	return names
}

// largestGroupOf returns the largest group of silences that began within one interval of each other. Each silence in
// the group is of a different node.
func largestGroupOf(all []*Silence, interval time.Duration) []*Silence {
	return largestGroupOfSorted(byBegan(all), interval)
}

// largestGroupOfSorted is like largestGroupOf, but requires silences that are already sorted by start.
func largestGroupOfSorted(sorted []*Silence, interval time.Duration) (most []*Silence) {
	end := 0
	for i := range sorted {
		for end < len(sorted) && sorted[end].Began.Sub(sorted[i].Began) <= interval {
			end++
		}
		if end-i <= len(most) {
			continue
		}
		if group := ofEachNode(sorted[i:end]); len(group) > len(most) {
			most = group
		}
		if end == len(sorted) {
			break // later groups are subsets of this one
		}
	}
	return most
}

// ofEachNode returns the first silence of each node.
func ofEachNode(all []*Silence) []*Silence {
	group := make([]*Silence, 0, len(all))
	seen := newNameSet(len(all))
	for _, s := range all {
		if seen.add(s.Node) {
			group = append(group, s)
		}
	}
	return group
}

// nameSet is a set of names. It searches short lists linearly, which is faster than hashing.
type nameSet struct {
	few  []string
	many map[string]struct{}
}

func newNameSet(size int) nameSet {
	if size <= 16 {
		return nameSet{few: make([]string, 0, size)}
	}
	return nameSet{many: make(map[string]struct{}, size)}
}

func (x *nameSet) has(name string) bool {
	if x.many == nil {
		return slices.Contains(x.few, name)
	}
	_, ok := x.many[name]
	return ok
}

// add adds a name and reports whether it is new.
func (x *nameSet) add(name string) bool {
	if x.has(name) {
		return false
	}
	if x.many == nil {
		x.few = append(x.few, name)
	} else {
		x.many[name] = struct{}{}
	}
	return true
}

// endsOf reports whether all silences have ended, and whether kubeflap saw them end. It also returns the time between
// the first and the last end.
func endsOf(all []*Silence) (ended, seen bool, apart time.Duration) {
	first, last := all[0].Ended, all[0].Ended
	ended, seen = true, true
	for _, s := range all {
		ended, seen = ended && !s.Ended.IsZero(), seen && !s.EndedBlind
		if s.Ended.Before(first) {
			first = s.Ended
		}
		if s.Ended.After(last) {
			last = s.Ended
		}
	}
	if !ended {
		return false, seen, 0
	}
	return true, seen, last.Sub(first)
}
