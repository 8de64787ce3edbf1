package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// oldestHarmless returns the oldest 10% of the harmless incidents.
func oldestHarmless(active map[string]*Record) []*Record {
	var all []*Record
	for _, r := range active {
		if r.Harmless() {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Record) int { return cmp.Or(a.start.Compare(b.start), strings.Compare(a.id, b.id)) })
	return all[:len(all)/10]
}

// Show makes kubeflap report the incident. The incident no longer counts as harmless.
func (l *Ledger) Show(r *Record) {
	if r.shown {
		return
	}
	if !r.settled && beginsHarmless(r.Cause) {
		l.harmless--
	}
	r.shown = true
	l.shown = append(l.shown, r)
	l.notifier.note(r)
	l.makeRoom()
}

// makeRoom drops incidents if there are too many. It drops the oldest ended incidents first, and ongoing ones last. It
// ignores node incidents that can still be merged (Record.mergeableUntil). If many nodes fail, their incidents soon
// merge into one and must not displace others.
func (l *Ledger) makeRoom() {
	if len(l.shown) <= l.size {
		return
	}
	over := -l.size
	for _, r := range l.shown {
		if r.mergeableUntil.IsZero() {
			over++
		}
	}
	for ; over > 0; over-- {
		i := oldest(l.shown)
		r := l.shown[i]
		l.shown = slices.Delete(l.shown, i, i+1)
		kind := incident.Ended
		if r.recovered.IsZero() {
			kind = incident.Dropped
		}
		l.displaced.Drop(&incident.Incident{End: r.recovered}, l.now)
		l.depart(r, kind, nil)
		l.Settle(r)
	}
}

// oldest returns the index of the incident to drop first.
func oldest(shown []*Record) int {
	first, rank := -1, 0
	for i, r := range shown {
		is := 1
		switch {
		case !r.mergeableUntil.IsZero():
			continue
		case r.settled:
			return i
		case r.recovered.IsZero():
			is = 2
		}
		if first < 0 || is < rank {
			first, rank = i, is
		}
	}
	return first
}
