package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// observeControlPlane handles transitions of control-plane Leases, and direct reads of Leases.
func (l *Log) observeControlPlane(x transition.Transition) {
	c := &l.records.ControlPlane
	switch x := x.(type) {
	case transition.ControlPlaneLeaseLate:
		c.LeaseLate(x)
		l.records.AddToNodes(leaseStopped(x.Name, x.Since))
	case transition.ControlPlaneLeaseRenewed:
		c.LeaseRenewed(x)
	case transition.LeaderChanged:
		c.LeaderChanged(x.Time)
		l.records.AddToNodes(evidence.Entry{Kind: evidence.LeaderChanged, Time: x.Time, Name: x.To})
	case transition.LeasesRead:
		c.LeasesRead(x)
		l.records.AddToNodes(evidence.Entry{Kind: evidence.LeasesRead, Time: x.Time, Name: x.String()})
	}
}

// leaseStopped returns the evidence entry for a control-plane component that stopped renewing its Lease.
func leaseStopped(name string, since time.Time) evidence.Entry {
	if name == event.LeaseControllerManager {
		return evidence.Entry{Kind: evidence.LeaderLate, Time: since, Name: name}
	}
	return evidence.Entry{Kind: evidence.APIServerStopped, Time: since, Name: name}
}

// lookBack is the maximum time from a control-plane Lease's last renewal to the start of a silence. If more time has
// passed, kubeflap assumes different causes.
const lookBack = 15 * time.Second

// addStopped adds evidence of control-plane Leases that were no longer renewed. It ignores Leases whose last renewal
// was more than lookBack before the start of the silence.
func (l *nodes) addStopped(r *record.Record, began time.Time) {
	for name, since := range l.records.ControlPlane.StoppedSince(began.Add(-lookBack)) {
		r.Evidence.Add(leaseStopped(name, since))
	}
}
