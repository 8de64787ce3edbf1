package ledger

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// reportAfter is the time from the start of an incident until it is reported. Meanwhile, other nodes may turn out to have
// failed with the first one, and lost addresses are found.
const reportAfter = time.Second

// reported is the state, the kind of subject and its cause with which an incident was last reported. The state is empty if
// the incident has not been reported, and final once its end has been reported.
type reported struct {
	state incident.State
	kind  incident.Kind
	cause cause.Cause
}

// report returns the kind of notice that is due for an incident, or 0 if there is nothing to report. It also records
// what has been reported. The end is due once the incident has been settled, whatever the time.
func (r *Record) report(t time.Time) (kind incident.NoticeKind) {
	was, state := r.reported, r.state(time.Time{})
	switch {
	case was.state == incident.StateResolved:
		return 0
	case was.state == "" && state != incident.StateResolved && t.Sub(r.shownAt) < reportAfter:
		r.changed = true // a later call of Notices reports the start
		return 0
	case was.state == "":
		kind = incident.Started
		if state == incident.StateResolved {
			state, r.changed = incident.StateRecovered, true // the next call of Notices reports the end
		}
	case state == incident.StateResolved:
		kind = incident.Ended
	case was.state != incident.StateOngoing && state == incident.StateOngoing, was.kind != r.Kind, was.cause != r.Cause:
		kind = incident.Changed
	}
	if was.state == incident.StateOngoing && state != incident.StateResolved {
		state = was.state // what comes and goes again and again is reported once
	}
	r.reported = reported{state, r.Kind, r.Cause}
	return kind
}

// Notices returns the changes of incidents between the last call and t.
func (q *Reader) Notices(t time.Time) (notices []incident.Notice) {
	l, unlock := q.at(t)
	defer unlock()
	all := l.shown
	if !l.changed {
		all = nil
	}
	l.changed = false
	for _, r := range all {
		if !r.changed {
			continue
		}
		r.changed = false
		if kind := r.report(t); kind != 0 {
			notices = append(notices, incident.Notice{Kind: kind, Incident: l.snapshot(r, l.graceFacts())})
		}
		l.changed = l.changed || r.changed
	}
	notices = append(notices, l.departed...)
	l.departed = nil
	return notices
}

// RecordingEnds says that the transitions came from a recording, and that there are no more.
func (q *Reader) RecordingEnds() {
	q.Change(func() { q.l.recordingEnded = true })
}

// LastNotices returns a notice, as of t, for each incident whose end has not been reported. Call it after the last
// transition.
func (q *Reader) LastNotices(t time.Time) []incident.Notice {
	l, unlock := q.at(t)
	defer unlock()
	all := l.departed
	l.departed = nil
	for _, r := range l.shown {
		if r.reported.state == incident.StateResolved {
			continue
		}
		r.reported.state = incident.StateResolved
		kind := incident.Ended
		if r.isOpen() {
			kind = incident.Ongoing
		}
		all = append(all, incident.Notice{Kind: kind, Incident: l.snapshot(r, l.graceFacts())})
	}
	return all
}

// depart adds a final notice for an incident that was merged, or was dropped before its end was reported. It adds no notice if the start of the incident
// has not been reported, or if the end has already been reported. The parameter `into` is the incident into which r was
// merged, or nil.
func (l *Ledger) depart(r *Record, kind incident.NoticeKind, into *Record) {
	if r.reported.state == "" || r.reported.state == incident.StateResolved {
		return
	}
	n := incident.Notice{Kind: kind, Incident: l.snapshot(r, l.graceFacts())}
	if into != nil {
		n.Into, n.IntoSubject = into.id, into.Name
	}
	l.departed = append(l.departed, n)
}
