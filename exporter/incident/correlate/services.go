package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate/nodes"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// services assigns lost addresses, outages and unexpected writes of addresses to incidents.
type services struct {
	writers
	nodes *nodes.Nodes
	pods  *pods
	// The map addresses holds the addresses that were lost recently or have stale re-adds. The map lately holds the
	// Services that recently lost or gained addresses.
	addresses map[incident.Open]*address
	lately    map[transition.Service]*service
}

// serviceRemoved handles a Service's deletion. Its outage ends, and incidents stop waiting for its addresses.
func (l *services) serviceRemoved(x transition.ServiceRemoved) {
	if s := l.lately[x.Service]; s != nil {
		if s.record != nil {
			s.record.Root().EffectOn(x.Service).Deleted = true
			l.endOutage(x.Service, s, x.Time, incident.ServiceRemoved, s.class, max(x.Earliest.Sub(s.outage), 0), x.Time.Sub(s.outage))
		}
		delete(l.lately, x.Service)
	}
	for key, a := range l.addresses {
		if key.Service != x.Service {
			continue
		}
		if a.waits(key) {
			r := a.record.Root()
			r.Recovers(key, x.Time)
			l.Touch(r, x.Time)
		}
		delete(l.addresses, key)
	}
	for _, s := range []incident.Subject{foreignWriter(x.Service), selectorConflict(x.Service)} {
		if r := l.Find(s, x.Time); r != nil {
			r.ServiceGone = true
			r.RecoverAll(x.Time)
			l.Note(r, incident.Entry{Kind: incident.ServiceRemoved, Time: x.Time, Service: x.Service})
		}
	}
}

// sweep forgets addresses and Services without recent changes.
func (l *services) sweep(t time.Time) {
	old := t.Add(-ledger.Quiet)
	for key, a := range l.addresses {
		if a.changed.Before(old) && !a.waits(key) {
			delete(l.addresses, key)
		}
	}
	for x, s := range l.lately {
		isExpected := s.earlier != nil && !s.earlier.Root().Settled
		if s.record == nil && !isExpected && s.lossAt.Before(old) && s.gainedAt.Before(old) {
			delete(l.lately, x)
		}
	}
}
