package ledger

import (
	"cmp"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// Show makes kubeflap report the incident. The incident no longer counts as harmless.
func (l *Ledger) Show(r *Record) {
	if r.Shown {
		return
	}
	r.Shown, r.shownAt, r.changed = true, l.now, true
	l.shown = append(l.shown, r)
	l.makeRoom()
}

// makeRoom drops incidents if there are too many. It drops the oldest ended incidents first, and ongoing ones last. It
// ignores node incidents that can still be merged (Record.mergeableUntil). If many nodes fail, their incidents soon
// merge into one and must not displace others.
func (l *Ledger) makeRoom() {
	over := -l.size
	for _, r := range l.shown {
		if r.mergeableUntil.IsZero() {
			over++
		}
	}
	for ; over > 0; over-- {
		r := slices.MinFunc(l.shown, func(a, b *Record) int { return cmp.Compare(a.keepRank(), b.keepRank()) })
		l.shown = without(l.shown, r)
		kind := incident.Ended
		if r.recovered.IsZero() {
			kind = incident.Dropped
		}
		l.displaced.Displace(cmp.Or(r.recovered, l.now))
		l.depart(r, kind, nil)
		l.Settle(r)
	}
}

// keepRank returns the position of the incident in the order in which makeRoom drops incidents.
func (r *Record) keepRank() int {
	switch {
	case !r.mergeableUntil.IsZero():
		return 3
	case r.Settled:
		return 0
	case !r.recovered.IsZero():
		return 1
	}
	return 2
}

// without returns the incidents except r.
func without(all []*Record, r *Record) []*Record {
	return slices.DeleteFunc(all, func(x *Record) bool { return x == r })
}
