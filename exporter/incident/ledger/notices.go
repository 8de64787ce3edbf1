package ledger

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// notifier tracks changes of incidents until Reader.Notices reports these changes.
type notifier struct {
	// The field changed is the first incident that has changed since the last call of Notices, or nil. The field
	// checkAll is set if Notices must check all incidents. This is the case if several incidents have changed, or if one
	// has ended for good.
	changed  *Record
	checkAll bool
	// The field changes is a counter for the changes of all incidents. Record.change is the value of this counter after
	// the last change of that record.
	changes uint64
	// The field end is the time at which the first of the recovered incidents will end if nothing changes. It is zero
	// if there are no recovered incidents.
	end time.Time
	// The field departed holds the final notices about incidents that were merged or dropped.
	departed []incident.Notice
}

// reported is what kubeflap has reported about an incident: its start, its end, its last state and its kind of subject.
type reported struct {
	started, ended bool
	state          incident.State
	kind           incident.Kind
}

// note marks an incident as changed, so that the next call of Notices checks it.
func (n *notifier) note(r *Record) {
	n.mark(r)
	switch {
	case !r.shown || r.settled || n.changed == r:
	case n.changed == nil:
		n.changed = r
	default:
		n.checkAll = true
	}
}

// mark records a change that needs no notice.
func (n *notifier) mark(r *Record) {
	n.changes++
	r.change = n.changes
}

// due returns the incidents that may have unreported changes at t. It selects them from `shown`.
func (n *notifier) due(t time.Time, shown []*Record) []*Record {
	var due []*Record
	switch {
	case n.checkAll || !n.end.IsZero() && t.After(n.end):
		due, n.end = shown, time.Time{}
	case n.changed != nil:
		due = []*Record{n.changed}
	}
	n.changed, n.checkAll = nil, false
	return due
}

// report returns the kind of notice that is due for an incident, or 0 if there is nothing to report. It also records
// what has been reported, and when the incident may change without a transition.
func (n *notifier) report(r *Record, t time.Time) (kind incident.NoticeKind) {
	was, state := r.reported, r.state(t)
	r.reported = reported{true, was.ended || was.started && state == incident.StateEnded, state, r.Kind}
	switch {
	case !was.started:
		// If the incident has also ended, the next call of Notices reports its end.
		kind = incident.Started
		n.checkAll = n.checkAll || state == incident.StateEnded
	case r.reported.ended && !was.ended:
		kind = incident.Ended
	case was.state == incident.StatePending && state == incident.StateRunning, was.kind != r.Kind:
		kind = incident.Changed
	}
	if end := r.recovered.Add(Quiet); !r.reported.ended && state == incident.StateRecovered && (n.end.IsZero() || end.Before(n.end)) {
		n.end = end
	}
	return kind
}

// Notices returns the changes of incidents between the last call and t.
func (q *Reader) Notices(t time.Time) (all []incident.Notice) {
	l, unlock := q.at(t)
	defer unlock()
	for _, r := range l.notifier.due(l.now, l.shown) {
		if kind := l.notifier.report(r, l.now); kind != 0 {
			all = append(all, l.notice(kind, r))
		}
	}
	return append(all, l.notifier.takeDeparted()...)
}

// LastNotices returns a notice, as of t, for each incident whose end has not been reported. Call it after the last
// transition.
func (q *Reader) LastNotices(t time.Time) []incident.Notice {
	l, unlock := q.at(t)
	defer unlock()
	all := l.notifier.takeDeparted()
	for _, r := range l.shown {
		if r.reported.ended {
			continue
		}
		r.reported = reported{started: true, ended: true, state: r.state(l.now)}
		kind := incident.Ended
		if r.reported.state == incident.StateRunning || r.reported.state == incident.StatePending {
			kind = incident.Ongoing
		}
		all = append(all, l.notice(kind, r))
	}
	return all
}

func (l *Ledger) notice(kind incident.NoticeKind, r *Record) incident.Notice {
	var g advice.GracePeriod
	if r.IsAboutNodes() {
		g = l.graceFacts()
	}
	return incident.Notice{Kind: kind, Incident: l.snapshot(r, g)}
}

func (n *notifier) takeDeparted() []incident.Notice {
	all := n.departed
	n.departed = nil
	return all
}

// depart adds a final notice for an incident that was merged or dropped. It adds no notice if the start of the incident
// has not been reported, or if the end has already been reported. The parameter `into` is the incident into which r was
// merged, or nil.
func (l *Ledger) depart(r *Record, kind incident.NoticeKind, into *Record) {
	if !r.reported.started || r.reported.ended {
		return
	}
	r.reported.ended = true
	n := l.notice(kind, r)
	if into != nil {
		n.Into, n.IntoSubject = into.id, into.Name
	}
	l.notifier.departed = append(l.notifier.departed, n)
}
