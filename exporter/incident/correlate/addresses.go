package correlate

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// address is the state of an address that was lost recently or has stale re-adds. A stale re-add is a mistake of a
// simulated client: the client puts the address back while the pod's container is still being replaced.
type address struct {
	record *ledger.Record
	// The field losses is the number of times that this address was lost during the incident.
	losses int32
	// The field changed is the time of the last recorded change of the address.
	changed time.Time
	// The field away is the interval on the timeline while the lost address is missing from the Service, but may return.
	away *incident.Span
	// The field readds counts the stale re-adds until the address is lost. moveReadds then moves them to the incident.
	// The field readded is the time of the first stale re-add.
	readds  advice.Windows
	readded time.Time
}

// waits reports whether an incident waits until the address is ready. The Service lists it as not ready.
func (a *address) waits(key incident.Open) bool {
	return a.record != nil && a.record.Root().Open[key] != nil
}

func (l *services) address(x transition.Address) *address {
	key := incident.OpenAddress(x)
	a := l.addresses[key]
	if a == nil {
		a = &address{readds: advice.NewWindows()}
		l.addresses[key] = a
	}
	return a
}

// addressLost handles the loss of a ready address. The tracker may report the loss up to 15 s late, but always before
// it reports that the address is back.
func (l *services) addressLost(x transition.AddressLost) {
	if x.Foreign || x.Managed {
		l.lostForeign(x)
		return
	}
	l.lose(l.recordOfLoss(x), x)
}

// lose adds a lost address to an incident.
func (l *services) lose(r *ledger.Record, x transition.AddressLost) {
	a := l.address(x.Address)
	if a.record == nil || a.record.Root() != r {
		a.record, a.losses = r, 0
	}
	a.losses++
	a.changed = incident.Later(a.changed, x.Time)
	r.Lose(x, x.Announced == "" && (x.Cause.EndsPod() || x.Vanished) && l.nodes.WasDeleted(x.Pod.Node, x.Time))
	if x.Losses > 0 {
		r.Replaced = fmt.Sprintf("the pods were replaced again and again: %s/%s lost %d addresses within 10 minutes, and had at most %d", x.Namespace, x.Name, x.Losses, x.Of)
	}
	if x.Losses > 0 || x.Cause == cause.ManualWrite && !x.Steady || x.Cause == cause.Unknown && !x.Vanished {
		l.Show(r)
	}
	l.pods.addTo(r, x, a.losses > 1)
	r.Evidence.Add(incident.Entry{Kind: incident.AddressLost, Time: x.Time, Service: x.Service, Name: nameOf(x.Address)})
	l.moveReadds(r, a, x)
	l.takeOut(r, a, x)
	if a.losses == 2 {
		r.LostAgain++
		l.Show(r)
	}
	s := l.named(x.Service)
	s.loss, s.lossAt = r, x.Time
	l.Touch(r, x.Time)
}

// takeOut records whether the incident waits until the address is ready again. An incident waits for an address that
// the Service still lists. It does not wait for a removed address, which may never come back.
func (l *services) takeOut(r *ledger.Record, a *address, x transition.AddressLost) {
	a.away = a.away.Close(x.Time)
	switch {
	case x.Cause.EndsPod(), x.Vanished:
		return
	case !x.Removed:
		l.OpenAddress(r, x)
	case x.Cause == cause.ContainerExit:
		return
	default:
		a.away = r.Timeline.Begin(incident.TrackAddress, x.Namespace+"/"+x.Name, x.Time)
	}
	if !r.Shown && r.Cause == cause.ServiceChanged {
		l.judgeLater(x.Service, r)
	}
}

// addressReturned handles a recently lost address that is back.
func (l *services) addressReturned(x transition.Address, t time.Time) {
	key := incident.OpenAddress(x)
	a := l.addresses[key]
	if a == nil {
		return
	}
	a.changed = t
	if a.away == nil && !a.waits(key) {
		return
	}
	r := a.record.Root()
	if a.away != nil && r.WasQuietUntil(t) {
		a.away = nil // nobody waited for the address, and the incident has ended without it
		return
	}
	r.Bounces++
	r.EffectOn(x.Service).Bounces++
	if a.away != nil && !r.Shown && r.Cause == cause.ServiceChanged {
		l.Show(r)
	}
	a.away = a.away.Close(t)
	r.Recovers(key, t)
	l.Note(r, incident.Entry{Kind: incident.AddressReturned, Time: t, Service: x.Service})
}

// addressGone handles an unready address that is no longer listed. Incidents stop waiting for the address.
func (l *services) addressGone(x transition.AddressRemoved) {
	key := incident.OpenAddress(x.Address)
	a := l.addresses[key]
	if a == nil || !a.waits(key) {
		return
	}
	r := a.record.Root()
	a.changed = x.Time
	r.Recovers(key, x.Time)
	l.pods.podGone(podKey{x.Namespace, x.Pod.Name}, x.Time)
	l.Note(r, incident.Entry{Kind: incident.AddressRemoved, Time: x.Time, Service: x.Service, Name: nameOf(x.Address)})
}

// consumerMistaken counts an address that a simulated client put back and removed again, unless it was not lost in an in-place
// update. It also counts a stale re-add of an address, which moveReadds later adds to an incident.
func (l *services) consumerMistaken(x transition.ConsumerMistake) {
	if !x.Stale {
		if a := l.addresses[incident.OpenAddress(x.Address)]; a != nil && a.record != nil && a.record.Root().Cause == cause.InPlaceUpdate {
			a.record.Root().Windows.Of(x.Window).Bounces++
		}
		return
	}
	a := l.address(x.Address)
	if a.readded.IsZero() {
		a.readded = x.Time
	}
	a.changed = incident.Later(a.changed, x.Time)
	a.readds.Of(x.Window).StaleReadds++
}

// moveReadds moves the stale re-adds of a lost address to the incident if an in-place update caused the loss. If
// clients that batch updates made some of the re-adds, kubeflap also reports the incident.
func (l *services) moveReadds(r *ledger.Record, a *address, x transition.AddressLost) {
	if a.readded.IsZero() {
		return
	}
	if x.Cause == cause.InPlaceUpdate {
		batched := false
		for i, w := range a.readds {
			r.Windows[i].StaleReadds += w.StaleReadds
			batched = batched || w.Length > 0 && w.StaleReadds > 0
		}
		r.Evidence.Add(incident.Entry{Kind: incident.StaleReadd, Time: a.readded, Service: x.Service, Name: nameOf(x.Address)})
		if batched {
			l.Show(r)
		}
	}
	a.readds, a.readded = advice.NewWindows(), time.Time{}
}

// recordOfLoss returns the incident of a lost address. Depending on the cause, this is an incident of the node, the
// workload or the Service.
func (l *services) recordOfLoss(x transition.AddressLost) *ledger.Record {
	s := incident.Subject{Kind: incident.KindWorkload, Namespace: x.Namespace, Name: workloadOf(x.Address), Cause: x.Cause}
	p := l.pods.lately[podKey{x.Namespace, x.Pod.Name}]
	switch {
	case x.Cause == cause.PodEvicted && p != nil && p.evictedBy != nil && !p.evictedBy.Root().Settled:
		return p.evictedBy.Root()
	case x.Relabelled:
		s.Name = "Service/" + x.Name // the pod's owner may have released it
	case x.Cause.OfNode() && x.Pod.Node != "":
		return l.nodes.RecordOfPod(x.Pod, x.Time, x.Cause, x.Trigger)
	case x.Cause.OfNode(), x.Cause == cause.Unknown && x.Pod.Name == "",
		x.Cause == cause.EndpointsReset, x.Cause == cause.ManualWrite, x.Cause == cause.ServiceChanged:
		s = incident.ServiceSubject(x.Service, x.Cause)
	}
	return l.Begin(s, x.Time, x.Trigger)
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
