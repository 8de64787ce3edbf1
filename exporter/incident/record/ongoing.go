package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// continuedWithin is the time after Restore in which an incident that was ongoing before must be found again.
const continuedWithin = time.Minute

// Ongoing is an incident that has not ended for good. If the same is found again after a restart, the incident keeps its
// ID and its start.
type Ongoing struct {
	Subject Subject   `json:"subject"`
	ID      string    `json:"id"`
	Start   time.Time `json:"start"`
	// Recovered is the time by which everything had recovered, or zero.
	Recovered time.Time            `json:"recovered,omitzero"`
	Outages   []transition.Service `json:"outages,omitempty"`
}

// ongoing holds the incidents that were ongoing before kubeflap's observation, and may be found until the given time.
type ongoing struct {
	until time.Time
	all   []Ongoing
}

// Ongoing returns the incidents that began by t and have not ended for good.
func (s *Store) Ongoing(t time.Time) (all []Ongoing) {
	for _, r := range s.shown {
		if r.settled || r.start.After(t) {
			continue
		}
		x := Ongoing{Subject: r.Subject, ID: r.id, Start: r.start, Recovered: r.recovered}
		for service := range r.Open.Outages {
			x.Outages = append(x.Outages, service)
		}
		all = append(all, x)
	}
	return all
}

// Restore makes the given incidents keep their IDs and starts if they are found again. The observation begins at t.
func (s *Store) Restore(all []Ongoing, t time.Time) { s.ongoing = ongoing{t.Add(continuedWithin), all} }

// SubjectOfOutage returns the subject of the incident to which a Service's outage belonged before kubeflap's observation.
func (s *Store) SubjectOfOutage(x transition.Service) (subject Subject, ok bool) {
	for _, o := range s.ongoing.all {
		if slices.Contains(o.Outages, x) && !s.now.After(s.ongoing.until) {
			return o.Subject, true
		}
	}
	return Subject{}, false
}

// resume gives a new incident the ID and the start of the one that was ongoing before, if there was one. An incident of
// several nodes may have become one of a single node.
func (s *Store) resume(r *Record) {
	for _, o := range s.ongoing.all {
		until := s.ongoing.until
		if !o.Recovered.IsZero() {
			until = o.Recovered.Add(Quiet)
		}
		if (o.Subject.key() == r.key() || o.ID == r.id) && !s.now.After(until) {
			r.id = o.ID
			r.MoveStartBack(o.Start)
			return
		}
	}
}

// Forget removes those ended incidents for which drop returns true. It does not count them as displaced.
func (s *Store) Forget(drop func(incident.Incident) bool) {
	s.shown = slices.DeleteFunc(s.shown, func(r *Record) bool { return r.state(s.now) == incident.StateEnded && drop(s.outline(r)) })
}
