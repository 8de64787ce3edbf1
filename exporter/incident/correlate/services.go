package correlate

import (
	"cmp"
	"slices"
	"strings"
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
			l.endOutage(x.Service, s, x.Time, incident.ServiceRemoved, s.class, max(x.Earliest.Sub(s.outage), 0), x.Time.Sub(s.outage))
		}
		delete(l.lately, x.Service)
	}
	for key, a := range l.addresses {
		if key.Service != x.Service {
			continue
		}
		if a.notReady != nil {
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

// maxLost limits the lost addresses of an incident in ledger.Past. If it has more, it may end too early after a restart.
const maxLost = 1000

// listLost adds to each ongoing incident the losses of those addresses that have not been ready since, the first losses
// first. Lists of all objects show that the addresses are not ready, but not when and why they were lost. The verdict of an
// incident of nodes depends on their silences, and lists show only the silence of a node that is still lost. An incident
// of several nodes also depends on which silences belong together. So the result omits incidents without such incident.
func (l *services) listLost(ongoing []ledger.Ongoing, t time.Time) {
	lost := map[incident.Subject][]transition.AddressLost{}
	for _, a := range l.addresses {
		if a.notReady == nil || a.notReady.Time.After(t) {
			continue
		}
		r := a.record.Root()
		if !r.Settled && (!r.IsAboutNodes() || r.Kind == incident.KindNode && (r.Open.Has(incident.TrackHeartbeat) || r.Open.Has(incident.TrackNode))) {
			lost[r.Subject] = append(lost[r.Subject], *a.notReady)
		}
	}
	for i := range ongoing {
		x := &ongoing[i]
		x.Lost = lost[x.Subject]
		slices.SortFunc(x.Lost, func(a, b transition.AddressLost) int {
			return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), a.IP.Compare(b.IP))
		})
		x.Lost = x.Lost[:min(len(x.Lost), maxLost)]
	}
}

// sweep forgets addresses and Services without recent changes.
func (l *services) sweep(t time.Time) {
	old := t.Add(-ledger.Quiet)
	for key, a := range l.addresses {
		if a.notReady == nil && a.changed.Before(old) {
			delete(l.addresses, key)
		}
	}
	for x, s := range l.lately {
		if s.record == nil && s.lossAt.Before(old) && s.gainedAt.Before(old) {
			delete(l.lately, x)
		}
	}
}
