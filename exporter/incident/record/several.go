package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// maxSeveral limits the number of control-plane incidents that are active at the same time.
const maxSeveral = 5

// ControlPlaneNear returns the subject of an active control-plane incident in which a node fell silent at about the
// same time. The parameter began is the time to compare with. The parameter near is the maximum difference. If there is
// no such incident, the result ok is false, and x is the subject of a new incident. If maxSeveral incidents are active,
// x is then the subject of the first one. Zones that fail one after another form separate incidents, because their
// nodes do not fall silent together.
func (s *Store) ControlPlaneNear(began, t time.Time, near time.Duration) (x Subject, ok bool) {
	free := -1
	for i := range maxSeveral {
		x := controlPlane(i)
		switch r := s.Find(x, t); {
		case r == nil && free < 0:
			free = i
		case r != nil && r.fellSilent(began, near):
			return x, true
		}
	}
	return controlPlane(max(free, 0)), false
}

func controlPlane(nth int) Subject {
	x := ControlPlane()
	x.Nth = nth
	return x
}

// fellSilent reports whether a node of the incident fell silent at about the same time. The parameter began is the time
// to compare with. The parameter near is the maximum difference.
func (r *Record) fellSilent(began time.Time, near time.Duration) bool {
	return slices.ContainsFunc(r.Silences, func(x *verdict.Silence) bool { return x.Began.Sub(began).Abs() <= near })
}
