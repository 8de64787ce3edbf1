package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// maxSeveral bounds the incidents of several nodes that are active at the same time.
const maxSeveral = 5

// ControlPlaneNear is the subject of the incident of nodes that were lost together, if one of them fell silent near to a time; else that of a new one, and
// ok is false. Zones that fall one after the other are several incidents: their nodes did not fall silent together.
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

// fellSilent reports whether a node of the incident fell silent near to a time.
func (r *Record) fellSilent(began time.Time, near time.Duration) bool {
	return slices.ContainsFunc(r.Silences, func(x *verdict.Silence) bool { return x.Began.Sub(began).Abs() <= near })
}
