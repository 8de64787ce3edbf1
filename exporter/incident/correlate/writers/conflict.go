// Package writers handles incidents in which unexpected clients write the addresses of a Service. It covers selector
// conflicts, resets, foreign and withdrawn addresses, and writers that undo each other's changes.
package writers

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Writers handles incidents in which unexpected clients write the addresses of a Service.
type Writers struct{ records *record.Store }

// New returns Writers that keep their incidents in the given store.
func New(records *record.Store) Writers { return Writers{records} }

// ServiceRemoved records that a Service was deleted. Its incidents stop waiting for changes of its addresses.
func (l Writers) ServiceRemoved(x transition.ServiceRemoved) {
	for _, s := range []record.Subject{foreignWriter(x.Service), selectorConflict(x.Service)} {
		r := l.records.Find(s, x.Time)
		if r == nil {
			continue
		}
		r.ServiceGone = true
		clear(r.Open.Foreign)
		clear(r.Open.Withdrawn)
		r.ForeignSpan = r.ForeignSpan.End(x.Time)
		endConflict(r, x.Time)
		r.Evidence.Add(evidence.Entry{Kind: evidence.ServiceRemoved, Time: x.Time, Service: x.Service})
		l.records.Touch(r, x.Time)
	}
}

// begin returns the subject's active incident, or starts one. It also records that the Service exists.
func (l Writers) begin(s record.Subject, t time.Time, trigger uint64) *record.Record {
	r := l.records.Begin(s, t, trigger)
	r.ServiceGone = false
	return r
}

// selectorConflict returns the incident subject for a Service with a selector and manually managed addresses.
func selectorConflict(x transition.Service) record.Subject {
	return record.ServiceSubject(x, cause.EndpointsReset)
}

// SelectorConflict records that the Service has both a selector and manually managed addresses. These addresses may
// already have been removed.
func (l Writers) SelectorConflict(x transition.SelectorConflict) {
	r := l.begin(selectorConflict(x.Service), x.Time, x.Trigger)
	r.Open.Conflict, r.Conflicted = true, true
	if x.Count > 0 {
		EndRemoval(r, x.Time)
	}
	r.EffectOn(x.Service)
	kind := evidence.SelectorConflict
	if x.Overwritten {
		kind = evidence.EndpointsOverwritten
		r.Resets++
		l.manualAddressesRemoved(r, x.Service, x.Time)
	}
	r.Evidence.Add(evidence.Entry{Kind: kind, Time: x.Time, Service: x.Service, Number: x.Count})
	r.ConflictSpan = r.Timeline.Begin(incident.TrackConflict, x.Namespace+"/"+x.Name, x.Time)
	l.records.Touch(r, x.Time)
}

// SelectorConflictEnded records that the selector or the manually managed addresses were removed.
func (l Writers) SelectorConflictEnded(x transition.Service, t time.Time) {
	r := l.records.Find(selectorConflict(x), t)
	if r == nil || !r.Open.Conflict {
		return
	}
	endConflict(r, t)
	r.Evidence.Add(evidence.Entry{Kind: evidence.SelectorConflictEnded, Time: t, Service: x})
	l.records.Touch(r, t)
}

// endConflict records that the conflict has ended. The incident stops waiting for the removed addresses.
func endConflict(r *record.Record, t time.Time) {
	r.Open.Conflict = false
	r.ConflictSpan, r.RemovedSpan = r.ConflictSpan.End(t), r.RemovedSpan.End(t)
}

// EndpointsReset records that all manually managed addresses were removed.
func (l Writers) EndpointsReset(x transition.EndpointsReset) {
	s := record.ServiceSubject(x.Service, cause.ManualWrite)
	if x.BySelector {
		s = selectorConflict(x.Service)
	}
	r := l.begin(s, x.Time, x.Trigger)
	l.records.Show(r)
	r.Resets++
	r.EffectOn(x.Service)
	if x.BySelector {
		l.manualAddressesRemoved(r, x.Service, x.Time)
	}
	r.Evidence.Add(evidence.Entry{Kind: evidence.EndpointsReset, Time: x.Time, Service: x.Service, Number: x.Count})
	l.records.Touch(r, x.Time)
}

// manualAddressesRemoved records that the manually managed addresses are gone.
func (l Writers) manualAddressesRemoved(r *record.Record, x transition.Service, t time.Time) {
	if !r.Removed || r.RemovedSpan == nil {
		r.Removed = true
		r.RemovedSpan = r.Timeline.Begin(incident.TrackAddress, x.Namespace+"/"+x.Name, t)
	}
}

// EndpointsRewritten records that removed addresses are back. While the conflict lasts, the endpoints controller will
// remove them again.
func (l Writers) EndpointsRewritten(x transition.EndpointsRewritten) {
	r := l.ServiceRestored(x.Service, x.Time)
	if r != nil {
		r.Evidence.Add(evidence.Entry{Kind: evidence.EndpointsRewritten, Time: x.Time, Service: x.Service, Number: x.Count})
	}
}

// ServiceRestored records that a Service has a ready address. It returns the incident in which the Service's addresses
// had been removed, or nil.
func (l Writers) ServiceRestored(x transition.Service, t time.Time) *record.Record {
	r := l.records.Find(selectorConflict(x), t)
	if r == nil || !r.Removed {
		return nil
	}
	EndRemoval(r, t)
	l.records.Touch(r, t)
	return r
}

// EndRemoval records that the removed addresses are back or no longer needed.
func EndRemoval(r *record.Record, t time.Time) {
	r.Removed = false
	r.RemovedSpan = r.RemovedSpan.End(t)
}
