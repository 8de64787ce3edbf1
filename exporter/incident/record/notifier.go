package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// notifier tracks changes of incidents until they are reported. Store.Notices queries it.
type notifier struct {
	// changed is the first incident that has changed since the last query, or nil.
	changed *Record
	// changes counts the changes of all incidents. Record.change is the value of changes after the last change of that
	// incident.
	changes uint64
	// checkAll is set if the next query must check all incidents, because several have changed or one has ended for
	// good.
	checkAll bool
	// end is the earliest time at which a recovered incident will end if nothing changes. It is zero if there is no
	// recovered incident.
	end time.Time
	// departed holds the final notices of incidents that were merged or dropped.
	departed []incident.Notice
}

// reported holds the last reported state of an incident.
type reported struct {
	started, ended bool
	state          incident.State
}

// note records that an incident changed.
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

// due returns the incidents that may have unreported changes at t. It selects them from the list shown.
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

// report returns how an incident has changed since its last report. It returns 0 if there is nothing to report.
func (n *notifier) report(r *Record, t time.Time) incident.NoticeKind {
	was := r.reported
	state := r.state(t)
	r.reported = reported{started: true, ended: was.ended || state == incident.StateEnded, state: state}
	switch {
	case !was.started:
		// If the incident has also ended, the next query reports its end.
		r.reported.ended = false
		return incident.Started
	case r.reported.ended && !was.ended:
		return incident.Ended
	case was.state == incident.StatePending && state == incident.StateRunning:
		return incident.Changed
	}
	return 0
}

// lookAgain schedules another check of an incident whose state may change without a transition.
func (n *notifier) lookAgain(r *Record) {
	switch end := r.recovered.Add(Quiet); {
	case r.reported.ended:
	case r.reported.state == incident.StateEnded:
		n.checkAll = true
	case r.reported.state == incident.StateRecovered && (n.end.IsZero() || end.Before(n.end)):
		n.end = end
	}
}

// Notices returns the changes of incidents since the last call.
func (s *Store) Notices() []incident.Notice {
	var all []incident.Notice
	for _, r := range s.notifier.due(s.now, s.shown) {
		if kind := s.notifier.report(r, s.now); kind != 0 {
			all = append(all, incident.Notice{Kind: kind, Incident: s.snapshot(r, s.graceFor(r))})
		}
		s.notifier.lookAgain(r)
	}
	return append(all, s.notifier.takeDeparted()...)
}

// LastNotices returns a notice for each incident whose end was not reported. Call it after the last transition.
func (s *Store) LastNotices() []incident.Notice {
	all := s.notifier.takeDeparted()
	for _, r := range s.shown {
		if r.reported.ended {
			continue
		}
		r.reported = reported{started: true, ended: true, state: r.state(s.now)}
		kind := incident.Ended
		if r.reported.state == incident.StateRunning || r.reported.state == incident.StatePending {
			kind = incident.Ongoing
		}
		all = append(all, incident.Notice{Kind: kind, Incident: s.snapshot(r, s.graceFor(r))})
	}
	return all
}

func (n *notifier) takeDeparted() []incident.Notice {
	all := n.departed
	n.departed = nil
	return all
}

// depart adds a final notice for an incident that was merged or dropped. It adds none if the start was never reported,
// or if the end already was. The parameter into is the incident into which r was merged, or nil.
func (s *Store) depart(r *Record, kind incident.NoticeKind, into *Record) {
	if !r.reported.started || r.reported.ended {
		return
	}
	r.reported.ended = true
	n := incident.Notice{Kind: kind, Incident: s.snapshot(r, s.graceFor(r))}
	if into != nil {
		n.Into, n.IntoSubject = into.id, into.Name
	}
	s.notifier.departed = append(s.notifier.departed, n)
}
