package writers

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// foreignWriter returns the incident subject for a Service with an unexpected writer of addresses.
func foreignWriter(x transition.Service) record.Subject {
	return record.ServiceSubject(x, cause.ManualWrite)
}

// ForeignAddresses records that an EndpointSlice or Endpoints object contains foreign addresses of a Service with a
// selector. kubeflap reports the incident even if no address was lost, because ready foreign addresses receive traffic.
func (l Writers) ForeignAddresses(x transition.ForeignAddresses) {
	r := l.begin(foreignWriter(x.Service), x.Time, x.Trigger)
	l.records.Show(r)
	r.EffectOn(x.Service)
	if len(r.Open.Foreign) == 0 {
		r.ForeignSpan = r.Timeline.Begin(incident.TrackForeign, x.Namespace+"/"+x.Name, x.Time)
	}
	r.Open.Foreign[x.Object], r.Foreign = struct{}{}, true
	if r.Writers == "" {
		r.Writers = x.Object + " has addresses from an unexpected writer"
	}
	r.Evidence.Add(evidence.Entry{Kind: evidence.ForeignAddresses, Time: x.Time, Service: x.Service, Name: x.Object, Number: x.Count})
	l.records.Touch(r, x.Time)
}

// ForeignAddressesEnded records that an EndpointSlice or Endpoints object no longer contains foreign addresses.
func (l Writers) ForeignAddressesEnded(x transition.Service, object string, t time.Time) {
	r := l.records.Find(foreignWriter(x), t)
	if r == nil {
		return
	}
	if _, open := r.Open.Foreign[object]; !open {
		return
	}
	delete(r.Open.Foreign, object)
	if len(r.Open.Foreign) == 0 {
		r.ForeignSpan = r.ForeignSpan.End(t)
	}
	r.Evidence.Add(evidence.Entry{Kind: evidence.ForeignEnded, Time: t, Service: x, Name: object})
	l.records.Touch(r, t)
}

// AddressesWithdrawn records that a writer removed ready pod addresses from Endpoints. kubeflap reports this even if it
// reads EndpointSlices, because clients may still read Endpoints.
func (l Writers) AddressesWithdrawn(x transition.AddressesWithdrawn) {
	r := l.begin(foreignWriter(x.Service), x.Time, x.Trigger)
	l.records.Show(r)
	r.EffectOn(x.Service)
	r.Open.Withdrawn[x.Object], r.Withdrawn = struct{}{}, true
	if r.Writers == "" {
		r.Writers = x.Object + ": ready pod addresses were removed, but not by a Kubernetes controller"
	}
	r.Evidence.Add(evidence.Entry{Kind: evidence.AddressesWithdrawn, Time: x.Time, Service: x.Service, Name: x.Object, Number: x.Count})
	l.records.Touch(r, x.Time)
}

// WithdrawnAddressesReturned records that the withdrawn addresses are in the Endpoints again, or that they are no
// longer expected there.
func (l Writers) WithdrawnAddressesReturned(x transition.Service, object string, t time.Time) {
	r := l.records.Find(foreignWriter(x), t)
	if r == nil {
		return
	}
	if _, open := r.Open.Withdrawn[object]; !open {
		return
	}
	delete(r.Open.Withdrawn, object)
	r.Evidence.Add(evidence.Entry{Kind: evidence.WithdrawnReturned, Time: t, Service: x, Name: object})
	l.records.Touch(r, t)
}

// AddressesContested records that two writers keep undoing each other's changes to a Service without a selector.
func (l Writers) AddressesContested(x transition.AddressesContested) {
	r := l.begin(foreignWriter(x.Service), x.Time, x.Trigger)
	l.records.Show(r)
	r.EffectOn(x.Service)
	r.Writers, r.Contested = fmt.Sprintf("%s and %s undo each other's changes to %s", x.Writers[0], x.Writers[1], x.Object), true
	r.Evidence.Add(evidence.Entry{Kind: evidence.Contested, Time: x.Time, Service: x.Service, Name: r.Writers})
	l.records.Touch(r, x.Time)
}
