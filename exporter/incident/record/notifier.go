package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// notifier tracks changes of incidents until Store.Notices reports these changes.
type notifier struct {
	// The field changed is the first incident that has changed since the last call of Store.Notices, or nil.
	changed *Record
	// The field changes is a counter for the changes of all incidents. Record.change is the value of this counter after
	// the last change of that record.
	changes uint64
	// checkAll is set if the next call of Store.Notices must check all incidents. This is the case if several incidents
	// have changed, or if one has ended for good.
	checkAll bool
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
	kind           Kind
}

// note marks an incident as changed, so that the next call of Store.Notices checks it.
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
// what has been reported.
func (n *notifier) report(r *Record, t time.Time) incident.NoticeKind {
	was := r.reported
	state := r.state(t)
	r.reported = reported{started: true, ended: was.ended || state == incident.StateEnded, state: state, kind: r.Kind}
	switch {
	case !was.started:
		// If the incident has also ended, the next call of Store.Notices reports its end.
		r.reported.ended = false
		return incident.Started
	case r.reported.ended && !was.ended:
		return incident.Ended
	case was.state == incident.StatePending && state == incident.StateRunning, was.kind != r.Kind:
		return incident.Changed
	}
	return 0
}

// checkLater schedules another check of an incident whose state may change without a transition.
func (n *notifier) checkLater(r *Record) {
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
		s.notifier.checkLater(r)
	}
	return append(all, s.notifier.takeDeparted()...)
}

// LastNotices returns a notice for each incident whose end has not been reported. Call it after the last transition.
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

// depart adds a final notice for an incident that was merged or dropped. It adds no notice if the start of the incident
// has not been reported, or if the end has already been reported. The parameter `into` is the incident into which r was
// merged, or nil.
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
