package correlate

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate/outages"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/incident/windows"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// addresses assigns lost addresses to incidents.
type addresses struct {
	records *record.Store
	nodes   *nodes
	pods    *pods
	outages *outages.Outages
	lately  map[record.AddressKey]*address
}

// address is the state of an address that was lost recently or has stale re-adds. A stale re-add is a mistake of a
// simulated client: the client puts the address back while the pod's container is still being replaced.
type address struct {
	record *record.Record
	// listedNotReady is set while the Service lists the lost address as not ready. The flag away is set while the lost
	// address is missing from the Service, but may return.
	listedNotReady, away bool
	// The field losses is the number of times that this address was lost during the incident.
	losses int32
	// The field changed is the time of the last recorded change of the address.
	changed time.Time
	span    *evidence.Span
	// The field readds counts the stale re-adds until the address is lost. moveReadds then moves them to the incident.
	// The field readded is the time of the first stale re-add.
	readds  windows.ByWindow
	readded time.Time
}

func keyOf(x transition.Address) record.AddressKey {
	return record.AddressKey{Service: x.Service, ID: x.ID}
}

// addressLost handles the loss of a ready address. The tracker may report the loss up to 15 s late, but always before
// it reports that the address is back.
func (l *addresses) addressLost(x transition.AddressLost) {
	if x.Foreign || x.Managed {
		l.outages.LostForeign(x)
		return
	}
	r := l.recordOf(x)
	key := keyOf(x.Address)
	a := l.lately[key]
	if a == nil {
		a = &address{}
		l.lately[key] = a
	}
	if a.record == nil || a.record.Root() != r {
		a.record, a.losses = r, 0
	}
	a.losses++
	if a.changed.Before(x.Time) {
		a.changed = x.Time
	}
	r.Lose(x)
	if x.Announced == "" && (x.Cause.EndsPod() || x.Vanished) && l.nodes.wasDeleted(x.Pod.Node, x.Time) {
		r.LoseWithNode(x.Pod.Node)
	}
	if x.Cause == cause.ManualWrite && !x.Steady || x.Cause == cause.Unknown && !x.Vanished {
		l.records.Show(r)
	}
	l.pods.moveNotes(r, x, a.losses > 1)
	r.Evidence.Add(evidence.Entry{Kind: evidence.AddressLost, Time: x.Time, Service: x.Service, Name: nameOf(x.Address)})
	l.moveReadds(r, a, x)
	l.takeOut(r, a, x)
	if a.losses == 2 {
		r.LostAgain++
		l.records.Show(r)
	}
	l.outages.LostAddress(r, x)
	l.records.Touch(r, x.Time)
}

// takeOut records whether the incident waits until the address is ready again. An incident waits for an address that
// the Service still lists. It does not wait for a removed address, which may never come back.
func (l *addresses) takeOut(r *record.Record, a *address, x transition.AddressLost) {
	a.span = a.span.End(x.Time)
	switch {
	case x.Cause.EndsPod(), x.Vanished:
		return
	case !x.Removed:
		a.listedNotReady = true
		l.records.OpenAddress(r, keyOf(x.Address), x.Time)
	case x.Cause == cause.ContainerExit:
		return
	default:
		a.away = true
	}
	if r.Harmless() && r.Cause == cause.ServiceChanged {
		l.outages.JudgeLater(x.Service, r)
	}
	a.span = r.Timeline.Begin(incident.TrackAddress, x.Namespace+"/"+x.Name, x.Time)
}

// addressReady handles an address that became ready.
func (l *addresses) addressReady(x transition.Address, t time.Time) {
	l.outages.GainedAddress(x.Service, t)
	l.addressReturned(keyOf(x), t)
}

// addressReturned handles a recently lost address that is back.
func (l *addresses) addressReturned(key record.AddressKey, t time.Time) {
	a := l.lately[key]
	if a == nil {
		return
	}
	a.changed = t
	if !a.listedNotReady && !a.away {
		return
	}
	r := a.record.Root()
	r.Bounce(key.Service)
	if a.away && r.Harmless() && r.Cause == cause.ServiceChanged {
		l.records.Show(r)
	}
	a.listedNotReady, a.away = false, false
	delete(r.Open.Addresses, key)
	a.span = a.span.End(t)
	r.Evidence.Add(evidence.Entry{Kind: evidence.AddressReturned, Time: t, Service: key.Service})
	l.records.Touch(r, t)
}

// addressGone handles an unready address that is no longer listed. Either the address left the Service
// (evidence.AddressRemoved), or truncated Endpoints omit it (evidence.AddressLeftOut). Incidents stop waiting for the
// address.
func (l *addresses) addressGone(x transition.Address, t time.Time, how evidence.Kind) {
	a := l.lately[keyOf(x)]
	if a == nil || !a.listedNotReady {
		return
	}
	r := a.record.Root()
	a.listedNotReady, a.changed = false, t
	delete(r.Open.Addresses, keyOf(x))
	a.span = a.span.End(t)
	if how == evidence.AddressRemoved {
		l.pods.podGone(podKey{x.Namespace, x.Pod.Name}, t)
	}
	r.Evidence.Add(evidence.Entry{Kind: how, Time: t, Service: x.Service, Name: nameOf(x)})
	l.records.Touch(r, t)
}

// consumerBounced counts an address that a simulated client put back and removed again. It ignores addresses that were
// not lost in an in-place update.
func (l *addresses) consumerBounced(x transition.ConsumerBounced) {
	if a := l.lately[keyOf(x.Address)]; a != nil && a.record != nil && a.record.Root().Cause == cause.InPlaceUpdate {
		a.record.Root().ConsumerBounces.Count(x.Window)
	}
}

// consumerReadded counts a stale re-add of an address. moveReadds later adds it to an incident.
func (l *addresses) consumerReadded(x transition.ConsumerReaddedStale) {
	key := keyOf(x.Address)
	a := l.lately[key]
	if a == nil {
		a = &address{}
		l.lately[key] = a
	}
	if a.readded.IsZero() {
		a.readded = x.Time
	}
	if a.changed.Before(x.Time) {
		a.changed = x.Time
	}
	a.readds.Count(x.Window)
}

// moveReadds moves the stale re-adds of a lost address to the incident if an in-place update caused the loss. If
// clients that batch updates made some of the re-adds, kubeflap also reports the incident.
func (l *addresses) moveReadds(r *record.Record, a *address, x transition.AddressLost) {
	if a.readded.IsZero() {
		return
	}
	if x.Cause == cause.InPlaceUpdate {
		r.StaleReadds.Take(a.readds)
		r.Evidence.Add(evidence.Entry{Kind: evidence.StaleReadd, Time: a.readded, Service: x.Service, Name: nameOf(x.Address)})
		if a.readds.Batched() > 0 {
			l.records.Show(r)
		}
	}
	a.readds, a.readded = windows.ByWindow{}, time.Time{}
}

// serviceRemoved handles a Service's deletion. Incidents stop waiting for the Service's addresses.
func (l *addresses) serviceRemoved(x transition.ServiceRemoved) {
	for key, a := range l.lately {
		if key.Service != x.Service {
			continue
		}
		if a.listedNotReady {
			r := a.record.Root()
			delete(r.Open.Addresses, key)
			a.span = a.span.End(x.Time)
			l.records.Touch(r, x.Time)
		}
		delete(l.lately, key)
	}
}

func (l *addresses) sweep(t time.Time) {
	for key, a := range l.lately {
		if !a.listedNotReady && a.changed.Before(t.Add(-record.Quiet)) {
			delete(l.lately, key)
		}
	}
}

// recordOf returns the incident of a lost address. Depending on the cause, this is an incident of the node, the
// workload or the Service.
func (l *addresses) recordOf(x transition.AddressLost) *record.Record {
	s := record.Subject{Kind: record.KindWorkload, Namespace: x.Namespace, Name: workloadOf(x.Address), Cause: x.Cause}
	switch {
	case x.Cause.OfNode() && x.Pod.Node != "":
		return l.nodes.recordOfPod(x.Pod, x.Time, x.Cause, x.Trigger)
	case x.Cause.OfNode(), x.Cause == cause.Unknown && x.Pod.Name == "",
		x.Cause == cause.EndpointsReset, x.Cause == cause.ManualWrite, x.Cause == cause.ServiceChanged:
		s = record.ServiceSubject(x.Service, x.Cause)
	}
	return l.records.Begin(s, x.Time, x.Trigger)
}

// safeAlphabet lists the characters in Kubernetes' pod template hashes (apimachinery, rand.SafeEncodeString).
const safeAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// workloadOf returns the name of a pod's workload. For a pod of a Deployment, it removes the hash from the name of the
// ReplicaSet, because each rollout creates another ReplicaSet. For a pod without an owner, it returns the name of the
// Service.
func workloadOf(x transition.Address) string {
	if x.Pod.Owner == "" {
		return "Service/" + x.Name
	}
	name, ofReplicaSet := strings.CutPrefix(x.Pod.Owner, "ReplicaSet/")
	i := strings.LastIndexByte(name, '-')
	if !ofReplicaSet || i < 1 || len(name)-i < 6 || strings.Trim(name[i+1:], safeAlphabet) != "" {
		return x.Pod.Owner
	}
	return "Deployment/" + name[:i]
}

func nameOf(x transition.Address) string {
	switch {
	case x.Pod.Name != "" && x.IP.IsValid():
		return x.IP.String() + ", pod " + x.Pod.Name
	case x.Pod.Name != "":
		return "pod " + x.Pod.Name
	case x.IP.IsValid():
		return x.IP.String()
	}
	return ""
}
