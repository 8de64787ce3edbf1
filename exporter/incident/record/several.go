package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// maxSeveral limits the number of control-plane incidents that are active at the same time.
const maxSeveral = 5

// ControlPlaneNear returns the subject of an active control-plane incident in which a node fell silent around the time
// `began`, at most `near` before or after it. If there is no such incident, ok is false, and x is the subject for a new
// incident. If maxSeveral incidents are already active, x is the subject of the first one instead. Zones that fail one
// after another form separate incidents, because their nodes do not fall silent together.
func (s *Store) ControlPlaneNear(began, t time.Time, near time.Duration) (x Subject, ok bool) {
	free := -1
	for i := range maxSeveral {
		x := nthControlPlaneSubject(i)
		switch r := s.Find(x, t); {
		case r == nil && free < 0:
			free = i
		case r != nil && r.fellSilent(began, near):
			return x, true
		}
	}
	return nthControlPlaneSubject(max(free, 0)), false
}

func nthControlPlaneSubject(nth int) Subject {
	x := ControlPlaneSubject()
	x.Nth = nth
	return x
}

// fellSilent reports whether a node of the incident fell silent at most `near` before or after `began`.
func (r *Record) fellSilent(began time.Time, near time.Duration) bool {
	return slices.ContainsFunc(r.Silences, func(x *verdict.Silence) bool { return x.Began.Sub(began).Abs() <= near })
}
