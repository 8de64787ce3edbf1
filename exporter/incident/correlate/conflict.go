package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// selectorConflict is the subject of a Service with a selector and manually managed addresses.
func selectorConflict(x transition.Service) record.Subject {
	return record.Service(x, cause.EndpointsReset)
}

func (l *services) endpointsReset(x transition.EndpointsReset) {
	s := record.Service(x.Service, cause.ManualWrite)
	if x.BySelector {
		s = selectorConflict(x.Service)
	}
	r := l.records.Begin(s, x.Time, x.Trigger)
	r.Reset(x)
	l.records.Touch(r, x.Time)
}

// endpointsRewritten takes in that removed addresses are back. They will be removed again while the conflict lasts.
func (l *services) endpointsRewritten(x transition.EndpointsRewritten) {
	r := l.records.Find(selectorConflict(x.Service), x.Time)
	if r == nil || !r.AddressesRemoved() {
		return
	}
	r.Rewrite(x)
	l.records.Touch(r, x.Time)
}

// restored takes in that a Service has a ready address again.
func (l *services) restored(x transition.Service, t time.Time) {
	if r := l.records.Find(selectorConflict(x), t); r != nil && r.AddressesRemoved() {
		r.Restore(t)
		l.records.Touch(r, t)
	}
}

func (l *services) conflict(x transition.SelectorConflict) {
	r := l.records.Begin(selectorConflict(x.Service), x.Time, x.Trigger)
	r.OpenConflict(x)
	l.records.Touch(r, x.Time)
}

func (l *services) conflictEnded(x transition.Service, t time.Time) {
	if r := l.records.Find(selectorConflict(x), t); r != nil && r.CloseConflict(x, t) {
		l.records.Touch(r, t)
	}
}
