package track

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// settleLossesOf settles the losses that a pod's event explains.
func (f *Tracker) settleLossesOf(pod event.UID) { f.settleOldestFirst(f.losses.of[pod]) }

func (f *Tracker) settleOldestFirst(l *loss) {
	if l != nil {
		f.settleOldestFirst(l.older)
		f.settleIfSure(l)
	}
}

// settleLossesFrom settles the losses from a place on, those of one event, for
// which there is evidence already.
func (f *Tracker) settleLossesFrom(place int) {
	for _, l := range f.losses.fresh.from(place) {
		f.settleIfSure(l)
	}
}

func (f *Tracker) settleIfSure(l *loss) {
	if l.settled {
		return
	}
	if x := f.explain(l); x.sure {
		f.settleLoss(l, x.cause)
	}
}

// settleOverdue resolves the turns and settles the losses whose waiting time is over by t, in order of time. Each may depend on the other,
// so any other order would make the causes depend on how often somebody asks.
func (f *Tracker) settleOverdue(t time.Time) {
	for {
		due, settle := f.nextDue(t)
		if settle == nil {
			return
		}
		if due.After(f.now) {
			f.now = due
		}
		settle(f)
	}
}

// nextDue is what has waited for its evidence and is due first, nil if nothing is by t.
func (f *Tracker) nextDue(t time.Time) (due time.Time, settle func(*Tracker)) {
	earlier := func(at time.Time, what func(*Tracker)) {
		if !at.After(t) && (settle == nil || at.Before(due)) {
			due, settle = at, what
		}
	}
	if q := &f.probeTurns; !q.isEmpty() {
		earlier(f.dueOfProbe(q.front()), func(f *Tracker) { f.resolveTurn(f.probeTurns.take()) })
	}
	if q := &f.markTurns; !q.isEmpty() {
		earlier(q.front().at.Add(lagWait), func(f *Tracker) { f.resolveTurn(f.markTurns.take()) })
	}
	if q := &f.losses.fresh; !q.isEmpty() {
		earlier(q.front().finding.Time.Add(evidenceWait), (*Tracker).settleFresh)
	}
	if q := &f.losses.behind; !q.isEmpty() {
		earlier(q.front().finding.Time.Add(lagWait), (*Tracker).settleBehind)
	}
	return due, settle
}

func (f *Tracker) settleFresh() {
	l := f.losses.fresh.take()
	if l.settled {
		return
	}
	if x := f.explain(l); x.behind {
		f.losses.behind.push(l)
	} else {
		f.settleLoss(l, x.cause)
	}
}

func (f *Tracker) settleBehind() {
	if l := f.losses.behind.take(); !l.settled {
		f.settleLoss(l, f.explain(l).cause)
	}
}

// settleOverdueOf settles the losses of a pod that waited only for its turn, which is resolved now.
func (f *Tracker) settleOverdueOf(pod event.UID) {
	var waiting []*loss
	for l := f.losses.of[pod]; l != nil; l = l.older {
		if !l.settled && f.now.Sub(l.finding.Time) >= evidenceWait {
			waiting = append(waiting, l)
		}
	}
	for _, l := range slices.Backward(waiting) {
		if x := f.explain(l); !l.settled && !x.behind {
			f.settleLoss(l, x.cause)
		}
	}
}

// Settle gives what still waits for its cause the best answer there is: no more evidence will come.
func (f *Tracker) Settle() (found []transition.Transition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { found = f.take() }()
	f.resolveTurns(f.turns, func(*turn) bool { return true })
	for _, q := range []*queue[*loss]{&f.losses.behind, &f.losses.fresh} {
		for !q.isEmpty() {
			if l := q.take(); !l.settled {
				f.settleLoss(l, f.explain(l).cause)
			}
		}
	}
	return nil
}
