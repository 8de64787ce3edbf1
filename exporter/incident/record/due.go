package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// OpenAddress notes that an address is not ready since t. If it stays so, that is harm.
func (s *Store) OpenAddress(r *Record, key AddressKey, t time.Time) {
	r.open.addresses[key] = t
	if r.harmless {
		s.Timers.Wake(&r.timer, t.Add(Quiet))
	}
}

// look does what is due for an incident by t.
func (s *Store) look(r *Record, t time.Time) {
	if !r.undecided.IsZero() && !r.undecided.After(t) {
		r.undecided = time.Time{}
		s.makeRoom()
	}
	if !r.recovered.IsZero() && !r.recovered.Add(Quiet).After(t) {
		s.Settle(r)
	}
	if due, ok := r.harmfulAt(); ok && !due.After(t) {
		s.Show(r)
	}
	if r.settled {
		return
	}
	if !r.undecided.IsZero() {
		s.Timers.Wake(&r.timer, r.undecided)
	}
	if !r.recovered.IsZero() {
		s.Timers.Wake(&r.timer, r.recovered.Add(Quiet))
	}
	if due, ok := r.harmfulAt(); ok {
		s.Timers.Wake(&r.timer, due)
	}
}

// harmfulAt is when addresses that stay out are harm. Whether a changed Service is harmed depends on its other addresses.
func (r *Record) harmfulAt() (time.Time, bool) {
	if !r.harmless || r.settled || r.Cause == cause.ServiceChanged {
		return time.Time{}, false
	}
	var first time.Time
	for _, since := range r.open.addresses {
		if first.IsZero() || since.Before(first) {
			first = since
		}
	}
	return first.Add(Quiet), !first.IsZero()
}
