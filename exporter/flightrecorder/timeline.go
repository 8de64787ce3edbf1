package flightrecorder

import "time"

const (
	// clockSlack is the largest backward step of the clock that is ignored. After such a step, events are only slightly
	// out of order.
	clockSlack = 10 * time.Second
	// fileSpan is the maximum time from the start of a file to its last event. A file is closed after fileAge. It is
	// also closed if the next event comes more than fileAge after the previous one.
	fileSpan = 2 * fileAge
)

// generation is a base and the files up to the next base. The oldest generation may have lost its base.
type generation []file

// generationsOf divides the files of a directory into generations.
func generationsOf(all []file) (generations []generation) {
	begin := 0
	for i := range all {
		if i > begin && all[i].isBase() {
			generations = append(generations, generation(all[begin:i]))
			begin = i
		}
	}
	if len(all) > 0 {
		generations = append(generations, generation(all[begin:]))
	}
	return generations
}

func (g generation) begins() time.Time { return g[0].begins }

// covers reports whether the generation can contain events at t.
func (g generation) covers(t time.Time) bool { return !t.Before(g.begins()) && t.Before(g.end()) }

// end returns a time after the last event of the generation.
func (g generation) end() time.Time { return g[len(g)-1].begins.Add(fileSpan) }

// endsAfter reports whether the generation has events after t. The start of the next generation alone does not show
// this, because the clock may have been set back.
func (g generation) endsAfter(t time.Time, next generation) bool {
	return next.begins().After(t) || g[len(g)-1].begins.After(t)
}

// part is a file to read.
type part struct {
	file
	// nextStart is the start of the next generation to read. It is zero if there is none.
	nextStart time.Time
	// discontinuous is set for a base that does not continue the previous part.
	discontinuous bool
	// last is set for the last file of a session. The last line of this file may be incomplete.
	last bool
}

// partsForPeriod returns the files to read for a period, sorted by the times of their events. This is usually the order
// of their creation. If the clock was set back, several generations may cover the same time. partsForPeriod then uses
// the newest of them.
func partsForPeriod(all []file, from, to time.Time) (parts []part) {
	generations := generationsOf(all)
	if len(generations) > 0 && !generations[0][0].isBase() {
		generations = generations[1:]
	}
	discontinuous := true
	for at := firstOf(generations, from); at >= 0 && !generations[at].begins().After(to); {
		var nextStart time.Time
		next := nextOf(generations, at)
		if next >= 0 {
			nextStart = generations[next].begins()
		}
		left := false
		for i, f := range generations[at] {
			if f.begins.After(to) || next >= 0 && f.begins.After(nextStart) {
				left = true
				break
			}
			last := i == len(generations[at])-1 && (at == len(generations)-1 || generations[at+1][0].role == roleStart)
			parts = append(parts, part{file: f, nextStart: nextStart, discontinuous: discontinuous && i == 0, last: last})
		}
		discontinuous = left || next != at+1
		at = next
	}
	return parts
}

// firstOf returns the index of the generation that has the state at a point in time. It prefers the newest generation
// that covers this time. Its second choice is the last generation before this time, and its third choice the first one
// after it. firstOf returns -1 if there is no generation.
func firstOf(all []generation, at time.Time) int {
	covers, before, after := -1, -1, -1
	for i, g := range all {
		switch {
		case g.covers(at):
			covers = i
		case g.begins().After(at):
			if after < 0 || g.begins().Before(all[after].begins()) {
				after = i
			}
		case before < 0 || !g.begins().Before(all[before].begins()):
			before = i
		}
	}
	switch {
	case covers >= 0:
		return covers
	case before >= 0:
		return before
	}
	return after
}

// nextOf returns the index of the generation that follows all[at] in time, or -1. A generation that was created before
// all[at] does not follow if it overlaps all[at].
func nextOf(all []generation, at int) int {
	next := -1
	for i, g := range all {
		follows := g.begins().After(all[at].begins()) && (i > at || !g.begins().Before(all[at].end()))
		if follows && (next < 0 || !g.begins().After(all[next].begins())) {
			next = i
		}
	}
	return next
}
