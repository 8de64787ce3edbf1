package verdict

import (
	"slices"
	"time"
)

// together is the largest group of silences that began within an interval, one of which belongs to the incident. Those whose beginning was not seen
// are left out.
func (f *NodeLoss) together() []Silence {
	if !f.grouped {
		f.group, f.grouped = f.largestGroup(), true
	}
	return f.group
}

func (f *NodeLoss) largestGroup() []Silence {
	var near []Silence
	for _, s := range f.Silences {
		if f.disturbed(s) && !s.BeganBlind {
			near = append(near, s)
		}
	}
	first, last := f.from()
	for i := range f.Others {
		s := &f.Others[i]
		if s.Began.Before(first) || s.Began.After(last) || s.BeganBlind || !f.disturbed(*s) {
			continue
		}
		for j := range f.Silences {
			if x := &f.Silences[j]; s.Node != x.Node && s.Began.Sub(x.Began).Abs() <= f.Interval {
				near = append(near, *s)
				break
			}
		}
	}
	return together(near, f.Interval)
}

// from is when silences began that are near to one of the incident.
func (f *NodeLoss) from() (first, last time.Time) {
	for i := range f.Silences {
		began := f.Silences[i].Began
		if i == 0 || began.Before(first) {
			first = began
		}
		if began.After(last) {
			last = began
		}
	}
	return first.Add(-f.Interval), last.Add(f.Interval)
}

// alone are the silences of the last hour that no other one explains, nor an upgrade of the kubelet right before. Those that began together have one
// cause, or may still turn out to have one.
func (f *NodeLoss) alone() (alone []Silence) {
	rest := slices.DeleteFunc(slices.Clone(f.Others), func(s Silence) bool {
		return !f.disturbed(s) || f.Upgrades != nil && f.Upgrades.before(s.Node, s.Began)
	})
	for {
		group := together(rest, f.Interval)
		if len(group) < 2 {
			return append(alone, rest...)
		}
		if holds, _ := f.oneCause(group); holds == No {
			alone = append(alone, group...)
		}
		began := map[string]time.Time{}
		for _, s := range group {
			began[s.Node] = s.Began
		}
		rest = slices.DeleteFunc(rest, func(s Silence) bool { t, ok := began[s.Node]; return ok && t.Equal(s.Began) })
	}
}

// disturbed reports whether a silence lasts longer than an undisturbed interval. Shorter ones only miss a short grace period,
// of those that could not be seen it is not known, and an upgrade of the kubelet is no disturbance.
func (f *NodeLoss) disturbed(s Silence) bool {
	return !s.Unseen && !s.Blind && !s.Upgraded && s.ClockBack == 0 && f.lasted(&s) > f.Interval
}

// beganBlind reports whether the nodes of the incident and others fell silent while kubeflap's own watch was broken: together or not is not known.
func (f *NodeLoss) beganBlind() bool {
	for _, s := range f.Others {
		isNear := func(x Silence) bool {
			return x.BeganBlind && x.Node != s.Node && x.Began.Sub(s.Began).Abs() <= f.Interval
		}
		if s.BeganBlind && slices.ContainsFunc(f.Silences, isNear) {
			return true
		}
	}
	return false
}

const beganBlindText = "several nodes fell silent while kubeflap's own watch was broken: whether together is not known"

// lasted is how long a silence lasted, or has lasted so far.
func (f *NodeLoss) lasted(s *Silence) time.Duration {
	switch {
	case !s.Ended.IsZero():
		return s.Ended.Sub(s.Began)
	case s.isDeleted():
		return s.Deleted.Sub(s.Began)
	}
	return f.Now.Sub(s.Began)
}

// lateToo are the other nodes that have become late with those of the incident. Soon they will have missed the grace period, or be back.
func (f *NodeLoss) lateToo() (names []string) {
	for _, s := range f.Late {
		isNear := func(x Silence) bool {
			return s.Node != x.Node && x.Ended.IsZero() && s.Began.Sub(x.Began).Abs() <= f.Interval
		}
		if slices.ContainsFunc(f.Silences, isNear) {
			names = append(names, s.Node)
		}
	}
	return names
}

// together is the largest group of silences of different nodes that began within an interval.
func together(all []Silence, interval time.Duration) (most []Silence) {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b Silence) int { return a.Began.Compare(b.Began) })
	end := 0
	for i := range sorted {
		for end < len(sorted) && sorted[end].Began.Sub(sorted[i].Began) <= interval {
			end++
		}
		if end-i <= len(most) {
			continue
		}
		var group []Silence
		names := make(map[string]bool, end-i)
		for _, s := range sorted[i:end] {
			if !names[s.Node] {
				names[s.Node] = true
				group = append(group, s)
			}
		}
		if len(group) > len(most) {
			most = group
		}
	}
	return most
}

// endsOf reports whether all silences have ended, and how far apart.
func endsOf(all []Silence) (ended bool, apart time.Duration) {
	first, last := all[0].Ended, all[0].Ended
	for _, s := range all {
		if s.Ended.IsZero() {
			return false, 0
		}
		if s.Ended.Before(first) {
			first = s.Ended
		}
		if s.Ended.After(last) {
			last = s.Ended
		}
	}
	return true, last.Sub(first)
}
