package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// notifier tracks the changes of incidents that have not been reported yet. It is asked after each transition, and most
// transitions change one incident or none.
type notifier struct {
	// changed is the incident that changed since the notifier was asked, if there is only one.
	changed *Record
	// all: several incidents changed, or one was settled.
	all bool
	// end is when the first of the recovered incidents may end without a change; zero if none has recovered.
	end time.Time
	// departed are the notices of incidents that are not shown any more.
	departed []incident.Notice
}

// reported is the last report about an incident.
type reported struct {
	started, ended bool
	state          incident.State
}

// note notes that an incident changed.
func (n *notifier) note(r *Record) {
	switch {
	case !r.shown || r.settled || n.changed == r:
	case n.changed == nil:
		n.changed = r
	default:
		n.all = true
	}
}

// due returns the incidents that may have to be reported at t, in the order in which they are shown.
func (n *notifier) due(t time.Time, shown []*Record) []*Record {
	var due []*Record
	switch {
	case n.all || !n.end.IsZero() && t.After(n.end):
		due, n.end = shown, time.Time{}
	case n.changed != nil:
		due = []*Record{n.changed}
	}
	n.changed, n.all = nil, false
	return due
}

// report is what happened to an incident since it was last reported; 0 if nothing did.
func (n *notifier) report(r *Record, t time.Time) incident.NoticeKind {
	was := r.reported
	state := r.state(t)
	r.reported = reported{started: true, ended: was.ended || state == incident.StateEnded, state: state}
	switch {
	case !was.started:
		// If it has ended as well, that is reported next time.
		r.reported.ended = false
		return incident.Started
	case r.reported.ended && !was.ended:
		return incident.Ended
	case was.state == incident.StatePending && state == incident.StateRunning:
		return incident.Changed
	}
	return 0
}

// lookAgain makes sure that an incident is looked at again when its state may change by itself.
func (n *notifier) lookAgain(r *Record) {
	switch end := r.recovered.Add(Quiet); {
	case r.reported.ended:
	case r.reported.state == incident.StateEnded:
		n.all = true
	case r.reported.state == incident.StateRecovered && (n.end.IsZero() || end.Before(n.end)):
		n.end = end
	}
}

// Notices report what has happened to the incidents since they were last asked for.
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

// LastNotices report the incidents whose end was not reported, when no more transitions will come.
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

// takeDeparted returns the notices of the incidents that are not shown any more, once.
func (n *notifier) takeDeparted() []incident.Notice {
	all := n.departed
	n.departed = nil
	return all
}

// depart keeps the last notice of an incident that is shown no more, if its start was reported.
func (s *Store) depart(r *Record, kind incident.NoticeKind, into string) {
	if !r.reported.started || r.reported.ended {
		return
	}
	r.reported.ended = true
	s.notifier.departed = append(s.notifier.departed, incident.Notice{Kind: kind, Incident: s.snapshot(r, s.graceFor(r)), Into: into})
}
