package ledger

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// Show makes kubeflap report the incident. The incident no longer counts as harmless.
func (l *Ledger) Show(r *Record) {
	if !r.Shown {
		r.Shown, r.shownAt, r.changed, l.changed = true, l.now, true, true
		l.shown = append(l.shown, r)
	}
}

// makeRoom drops the oldest incidents that have ended for good if there are too many. The others stay, because the size of
// the cluster limits their number.
func (l *Ledger) makeRoom() {
	isOver := func(r *Record) bool { return r.Settled }
	ended := 0
	for _, r := range l.shown {
		if isOver(r) {
			ended++
		}
	}
	for ; ended > l.size; ended-- {
		r := l.shown[slices.IndexFunc(l.shown, isOver)]
		l.shown = without(l.shown, r)
		l.displaced.Displace(r.recovered())
		l.depart(r, incident.Ended, nil)
	}
}

// without returns the incidents except r.
func without(all []*Record, r *Record) []*Record {
	return slices.DeleteFunc(all, func(x *Record) bool { return x == r })
}
