package incident

import (
	"slices"
	"time"
)

// NoticeKind is what a Notice tells.
type NoticeKind uint8

// The kinds of Notice.
const (
	// Started: an incident has begun.
	Started NoticeKind = iota + 1
	// Changed: what was pending has happened.
	Changed
	// Ended: everything that it hit has recovered and stayed so.
	Ended
	// Joined: it turned out to be part of another one, which is told of instead.
	Joined
	// Dropped: it goes on, but newer ones have taken its place: its end will not be told.
	Dropped
	// GoesOn: nothing more will come, and it has not ended.
	GoesOn
)

// Notice tells of an incident that began, changed or ended.
type Notice struct {
	Kind     NoticeKind
	Incident Incident
	// Into is the ID of the incident that one that Joined is part of.
	Into string
}

// told is what of an incident has been told.
type told struct {
	started, ended bool
	state          State
}

// News tells what has happened to the incidents since it was last asked, as of t.
func (l *Log) News(t time.Time) []Notice {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(t)
	var all []Notice
	for _, r := range l.unread.since(l.now, l.shown) {
		if kind := r.news(l.now); kind != 0 {
			all = append(all, Notice{Kind: kind, Incident: r.snapshot(l, l.now)})
		}
		l.unread.again(r)
	}
	all = append(all, l.farewells...)
	l.farewells = nil
	return all
}

// unread is what may have changed since News was asked last, which is after each finding: most change one incident or none.
type unread struct {
	// one is the incident that changed, if one did; all: more than one did, or one was settled.
	one []*record
	all bool
	// end is when the first of those that have recovered may end without having changed, zero if none has.
	end time.Time
}

// note notes that an incident changed.
func (u *unread) note(r *record) {
	switch {
	case !r.isShown || r.settled || slices.Contains(u.one, r):
	case len(u.one) == 0:
		u.one = append(u.one, r)
	default:
		u.all = true
	}
}

// since returns those that there may be news of by t, in the order in which they are shown.
func (u *unread) since(t time.Time, shown []*record) []*record {
	changed := u.one
	if u.all || !u.end.IsZero() && t.After(u.end) {
		changed, u.end = shown, time.Time{}
	}
	u.one, u.all = u.one[:0], false
	return changed
}

// again sees to it that an incident is looked at again, when what was told of it may change by itself.
func (u *unread) again(r *record) {
	switch end := r.recovered.Add(quiet); {
	case r.told.ended:
	case r.told.state == StateEnded:
		// It began as well, and one thing is told at a time.
		u.all = true
	case r.told.state == StateRecovered && (u.end.IsZero() || end.Before(u.end)):
		u.end = end
	}
}

// bidFarewell keeps what is to be told of an incident that is shown no more, if its start was told.
func (l *Log) bidFarewell(r *record, kind NoticeKind, into string) {
	if !r.told.started || r.told.ended {
		return
	}
	r.told.ended = true
	l.farewells = append(l.farewells, Notice{kind, r.snapshot(l, l.now), into})
}

func (r *record) news(t time.Time) NoticeKind {
	was := r.told
	state := r.state(t)
	r.told = told{started: true, ended: was.ended || state == StateEnded, state: state}
	switch {
	case !was.started:
		// If it has ended as well, that is told next time.
		r.told.ended = false
		return Started
	case r.told.ended && !was.ended:
		return Ended
	case was.state == StatePending && state == StateRunning:
		return Changed
	}
	return 0
}

// Rest tells, when nothing more will come, how the incidents stand whose end has not been told.
func (l *Log) Rest(t time.Time) []Notice {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(t)
	all := l.farewells
	l.farewells = nil
	for _, r := range l.shown {
		if r.told.ended {
			continue
		}
		state := r.state(l.now)
		r.told = told{started: true, ended: true, state: state}
		kind := Ended
		if state == StateRunning || state == StatePending {
			kind = GoesOn
		}
		all = append(all, Notice{Kind: kind, Incident: r.snapshot(l, l.now)})
	}
	return all
}
