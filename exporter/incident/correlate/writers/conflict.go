// Package writers finds the incidents of Services whose addresses somebody writes
// beside the controllers: selector conflicts, resets, foreign addresses.
package writers

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Writers find these incidents.
type Writers struct{ records *record.Store }

// New makes writers that keep their incidents in a store.
func New(records *record.Store) Writers { return Writers{records} }

// ServiceRemoved takes in that the Service was deleted.
func (l Writers) ServiceRemoved(x transition.ServiceRemoved) {
	l.serviceForeignEnded(x.Service, x.Time)
	l.ConflictEnded(x.Service, x.Time)
}

// selectorConflict is the subject of a Service with a selector and manually managed addresses.
func selectorConflict(x transition.Service) record.Subject {
	return record.Service(x, cause.EndpointsReset)
}

// Conflict takes in that the Service has a selector and manually managed addresses, or had them.
func (l Writers) Conflict(x transition.SelectorConflict) {
	r := l.records.Begin(selectorConflict(x.Service), x.Time, x.Trigger)
	r.Open.Conflict = true
	r.EffectOn(x.Service)
	kind := evidence.SelectorConflict
	if x.Overwritten {
		kind = evidence.EndpointsOverwritten
		r.Resets++
		l.cleared(r, x.Service, x.Time)
	}
	r.Evidence.Add(evidence.Entry{Kind: kind, Time: x.Time, Service: x.Service, Number: x.Count})
	r.ConflictSpan = r.Timeline.Begin(incident.TrackConflict, x.Namespace+"/"+x.Name, x.Time)
	l.records.Touch(r, x.Time)
}

// ConflictEnded takes in that the selector or the manually managed addresses are gone.
func (l Writers) ConflictEnded(x transition.Service, t time.Time) {
	r := l.records.Find(selectorConflict(x), t)
	if r == nil || !r.Open.Conflict {
		return
	}
	r.Open.Conflict = false
	Restore(r, t)
	r.ConflictSpan = r.ConflictSpan.End(t)
	r.Evidence.Add(evidence.Entry{Kind: evidence.SelectorConflictEnded, Time: t, Service: x})
	l.records.Touch(r, t)
}

// EndpointsReset takes in that all manually managed addresses were removed.
func (l Writers) EndpointsReset(x transition.EndpointsReset) {
	s := record.Service(x.Service, cause.ManualWrite)
	if x.BySelector {
		s = selectorConflict(x.Service)
	}
	r := l.records.Begin(s, x.Time, x.Trigger)
	l.records.Show(r)
	r.Resets++
	r.EffectOn(x.Service)
	if x.BySelector {
		l.cleared(r, x.Service, x.Time)
	}
	r.Evidence.Add(evidence.Entry{Kind: evidence.EndpointsReset, Time: x.Time, Service: x.Service, Number: x.Count})
	l.records.Touch(r, x.Time)
}

// cleared notes that the manually managed addresses are gone.
func (l Writers) cleared(r *record.Record, x transition.Service, t time.Time) {
	if !r.Open.Removed {
		r.Open.Removed = true
		r.RemovedSpan = r.Timeline.Begin(incident.TrackAddress, x.Namespace+"/"+x.Name, t)
	}
}

// EndpointsRewritten takes in that removed addresses are back. They will be removed again while the conflict lasts.
func (l Writers) EndpointsRewritten(x transition.EndpointsRewritten) {
	r := l.Restored(x.Service, x.Time)
	if r != nil {
		r.Evidence.Add(evidence.Entry{Kind: evidence.EndpointsRewritten, Time: x.Time, Service: x.Service, Number: x.Count})
	}
}

// Restored takes in that a Service has a ready address. It returns the incident whose addresses are back, nil if there is none.
func (l Writers) Restored(x transition.Service, t time.Time) *record.Record {
	r := l.records.Find(selectorConflict(x), t)
	if r == nil || !r.Open.Removed {
		return nil
	}
	Restore(r, t)
	l.records.Touch(r, t)
	return r
}

// Restore notes that the removed addresses are back, or not wanted any more.
func Restore(r *record.Record, t time.Time) {
	r.Open.Removed = false
	r.RemovedSpan = r.RemovedSpan.End(t)
}
