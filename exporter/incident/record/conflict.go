package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// OpenConflict notes that a Service has a selector and manually managed addresses.
func (r *Record) OpenConflict(x transition.SelectorConflict) {
	r.open.conflict = true
	r.effectOn(x.Service)
	r.Evidence.Add(evidence.Entry{Kind: evidence.SelectorConflict, Time: x.Time, Service: x.Service, Number: x.Count})
	r.conflictSpan = r.Timeline.Begin(incident.TrackConflict, x.Namespace+"/"+x.Name, x.Time)
}

// CloseConflict notes that the selector conflict is over. It reports whether there was one.
func (r *Record) CloseConflict(x transition.Service, t time.Time) bool {
	if !r.open.conflict {
		return false
	}
	r.open.conflict = false
	r.Restore(t)
	r.conflictSpan = r.conflictSpan.End(t)
	r.Evidence.Add(evidence.Entry{Kind: evidence.SelectorConflictEnded, Time: t, Service: x})
	return true
}

// Reset notes that all manually managed addresses of a Service were removed.
func (r *Record) Reset(x transition.EndpointsReset) {
	r.resets++
	r.effectOn(x.Service)
	if x.BySelector && !r.open.removed {
		r.open.removed = true
		r.removedSpan = r.Timeline.Begin(incident.TrackAddress, x.Namespace+"/"+x.Name, x.Time)
	}
	r.Evidence.Add(evidence.Entry{Kind: evidence.EndpointsReset, Time: x.Time, Service: x.Service, Number: x.Count})
}

// Rewrite notes that removed addresses are back. The endpoints controller removes them again while the conflict lasts.
func (r *Record) Rewrite(x transition.EndpointsRewritten) {
	r.Restore(x.Time)
	r.Evidence.Add(evidence.Entry{Kind: evidence.EndpointsRewritten, Time: x.Time, Service: x.Service, Number: x.Count})
}

// AddressesRemoved reports whether manually managed addresses were removed and are not back.
func (r *Record) AddressesRemoved() bool { return r.open.removed }

// Restore notes that the removed addresses are back, or not wanted any more.
func (r *Record) Restore(t time.Time) {
	r.open.removed = false
	r.removedSpan = r.removedSpan.End(t)
}
