package correlate

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// writers assigns unexpected writes of addresses to incidents.
type writers struct{ *ledger.Ledger }

// foreignWriter returns the incident subject for a Service with an unexpected writer of addresses.
func foreignWriter(x transition.Service) incident.Subject {
	return incident.ServiceSubject(x, cause.ManualWrite)
}

// selectorConflict returns the incident subject for a Service with a selector and manually managed addresses.
func selectorConflict(x transition.Service) incident.Subject {
	return incident.ServiceSubject(x, cause.EndpointsReset)
}

// recordOfWrite returns the active incident of a Service with unexpected writes, or starts one. The Service exists.
func (l writers) recordOfWrite(s incident.Subject, x transition.Service, t time.Time, trigger uint64) *ledger.Record {
	r := l.Begin(s, t, trigger)
	if s == foreignWriter(x) {
		l.Show(r) // ready foreign addresses receive traffic, and clients may read Endpoints, even if no address was lost
	}
	r.ServiceGone = false
	r.EffectOn(x)
	return r
}

// foreignAddresses records that an EndpointSlice or Endpoints object contains foreign addresses of a Service with a
// selector, or that a writer removed ready pod addresses from Endpoints.
func (l writers) foreignAddresses(x transition.ForeignAddresses) {
	r := l.recordOfWrite(foreignWriter(x.Service), x.Service, x.Time, x.Trigger)
	kind, who := incident.ForeignAddresses, x.Object+" has addresses from an unexpected writer"
	if x.Withdrawn {
		kind, who = incident.AddressesWithdrawn, x.Object+": ready pod addresses were removed, but not by a Kubernetes controller"
	}
	r.Foreign, r.Withdrawn = r.Foreign || !x.Withdrawn, r.Withdrawn || x.Withdrawn
	r.Who = cmp.Or(r.Who, who)
	if open := incident.OpenForeign(x.Service, x.Object, x.Withdrawn); r.Open[open] == nil {
		r.Fails(open, x.Time)
	}
	l.Note(r, incident.Entry{Kind: kind, Time: x.Time, Service: x.Service, Name: x.Object, Number: x.Count})
}

// foreignEnded records that an object contains no foreign addresses any more, or that withdrawn addresses are back or no
// longer expected.
func (l writers) foreignEnded(x transition.ForeignAddressesEnded) {
	r, open := l.Find(foreignWriter(x.Service), x.Time), incident.OpenForeign(x.Service, x.Object, x.Withdrawn)
	if r == nil || r.Open[open] == nil {
		return
	}
	r.Recovers(open, x.Time)
	kind := incident.ForeignEnded
	if x.Withdrawn {
		kind = incident.WithdrawnReturned
	}
	l.Note(r, incident.Entry{Kind: kind, Time: x.Time, Service: x.Service, Name: x.Object})
}

// selectorConflicts records that the Service has both a selector and manually managed addresses. These addresses may
// already have been removed.
func (l writers) selectorConflicts(x transition.SelectorConflict) {
	r := l.recordOfWrite(selectorConflict(x.Service), x.Service, x.Time, x.Trigger)
	r.Conflicted = true
	if x.Count > 0 {
		endRemoval(r, x.Service, x.Time)
	}
	kind := incident.SelectorConflict
	if x.Overwritten {
		kind = incident.EndpointsOverwritten
		beginRemoval(r, x.Service, x.Time)
	}
	r.Fails(incident.OpenConflict(x.Service), x.Time)
	l.Note(r, incident.Entry{Kind: kind, Time: x.Time, Service: x.Service, Number: x.Count})
}

// selectorConflictEnded records that the selector or the manually managed addresses were removed.
func (l writers) selectorConflictEnded(x transition.SelectorConflictEnded) {
	if r := l.Find(selectorConflict(x.Service), x.Time); r != nil && r.Pending() {
		r.Recovers(incident.OpenConflict(x.Service), x.Time)
		r.Recovers(incident.OpenRemoval(x.Service), x.Time) // the incident stops waiting for the removed addresses
		l.Note(r, incident.Entry{Kind: incident.SelectorConflictEnded, Time: x.Time, Service: x.Service})
	}
}

// endpointsReset records that all manually managed addresses were removed.
func (l writers) endpointsReset(x transition.EndpointsReset) {
	s := foreignWriter(x.Service)
	if x.BySelector {
		s = selectorConflict(x.Service)
	}
	r := l.recordOfWrite(s, x.Service, x.Time, x.Trigger)
	if x.BySelector {
		beginRemoval(r, x.Service, x.Time)
	} else {
		r.Resets++
		r.Failed(x.Time)
	}
	l.Note(r, incident.Entry{Kind: incident.EndpointsReset, Time: x.Time, Service: x.Service, Number: x.Count})
}

// endpointsRewritten records that removed addresses are back. While the conflict lasts, the endpoints controller will
// remove them again.
func (l writers) endpointsRewritten(x transition.EndpointsRewritten) {
	if r := l.serviceRestored(x.Service, x.Time); r != nil {
		r.Evidence.Add(incident.Entry{Kind: incident.EndpointsRewritten, Time: x.Time, Service: x.Service, Number: x.Count})
	}
}

// serviceRestored records that a Service has a ready address. It returns the incident in which the Service's addresses
// had been removed, or nil.
func (l writers) serviceRestored(x transition.Service, t time.Time) *ledger.Record {
	r := l.Find(selectorConflict(x), t)
	if r == nil || !r.Removed {
		return nil
	}
	endRemoval(r, x, t)
	l.Touch(r, t)
	return r
}

// beginRemoval records that the manually managed addresses are gone.
func beginRemoval(r *ledger.Record, x transition.Service, t time.Time) {
	r.Resets++
	if !r.Removed || !r.LacksAddresses() {
		r.Removed = true
		r.Fails(incident.OpenRemoval(x), t)
	}
}

// endRemoval records that the removed addresses are back or no longer needed.
func endRemoval(r *ledger.Record, x transition.Service, t time.Time) {
	r.Removed = false
	r.Recovers(incident.OpenRemoval(x), t)
}
