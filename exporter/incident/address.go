package incident

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// replacedWithin is how soon a Service that chooses other pods must have as many
// ready addresses as it lost for that to be a switch and no loss.
const replacedWithin = 10 * time.Second

type addressKey struct {
	serviceKey
	id event.UID
}

// address is an address that left rotation lately. Its loss is reported before its return.
type address struct {
	record *record
	// isOut: it is in the Service and not ready; away: it was taken out of the Service.
	isOut, away bool
	losses      int32
	// at is when it last changed.
	at   event.Moment
	span *stretch
}

func keyOfAddress(x transition.Address) addressKey { return addressKey{keyOf(x.Service), x.ID} }

// lostAddress takes in the loss of a ready address. It comes in up to 15 s late, but before the return of the address.
func (l *Log) lostAddress(x transition.AddressLost) {
	r := l.recordOfLoss(x)
	key := keyOfAddress(x.Address)
	a := l.addresses[key]
	if a == nil {
		a = &address{}
		l.addresses[key] = a
	}
	if a.record == nil || a.record.root() != r {
		a.record, a.losses = r, 0
	}
	a.losses++
	if l.time(a.at).Before(x.Time) {
		a.at = l.moment(x.Time)
	}
	r.lost++
	r.byCause[x.Cause]++
	if x.Pod.Node != "" {
		r.addNode(x.Pod.Node)
	}
	r.effectOn(key.serviceKey).lost++
	l.takePodNotes(r, x, a)
	r.add(fact{at: l.moment(x.Time), stage: stageLost, service: key.serviceKey, first: nameOf(x.Address)})
	l.takeOut(r, a, key, x)
	if a.losses == 2 {
		r.again++
		l.show(r)
	}
	l.claimFor(key.serviceKey, r, x)
	l.touched(r, x.Time)
}

// takeOut keeps what must come back for the incident to end: an address that
// stayed. One that was removed may never come back.
func (l *Log) takeOut(r *record, a *address, key addressKey, x transition.AddressLost) {
	l.end(&a.span, x.Time)
	switch {
	case x.Cause.EndsPod():
		return
	case !x.Removed:
		a.isOut = true
		r.out[key] = x.Time
		if r.harmless {
			l.timers.wake(&r.timer, x.Time.Add(quiet))
		}
	case x.Cause == cause.ContainerExit:
		return
	default:
		a.away = true
	}
	if r.harmless && r.cause == cause.ServiceChanged {
		l.timers.wake(&r.timer, r.start.Add(replacedWithin))
	}
	a.span = l.span(r, LaneAddress, l.serviceOf(key.serviceKey).name, x.Time)
}

// addressBack takes in that an address is ready.
func (l *Log) addressBack(x transition.Address, t time.Time) {
	key := keyOfAddress(x)
	l.serviceGained(key.serviceKey, t)
	if a := l.addresses[key]; a != nil {
		l.putBack(a, key, t)
	}
}

func (l *Log) addressBounced(x transition.AddressBounced) {
	if a := l.addresses[keyOfAddress(x.Address)]; a != nil {
		l.putBack(a, keyOfAddress(x.Address), x.Time)
	}
}

// putBack brings an address back into rotation; of what is back already it does nothing.
func (l *Log) putBack(a *address, key addressKey, t time.Time) {
	a.at = l.moment(t)
	if !a.isOut && !a.away {
		return
	}
	r := a.record.root()
	r.bounces++
	r.effectOn(key.serviceKey).bounces++
	if a.away && r.harmless && r.cause == cause.ServiceChanged {
		l.show(r)
	}
	a.isOut, a.away = false, false
	delete(r.out, key)
	l.end(&a.span, t)
	r.add(fact{at: l.moment(t), stage: stageBack, service: key.serviceKey})
	l.touched(r, t)
}

// addressGone: an address that was not ready has left the Service, or is not shown
// any more: nobody waits for it.
func (l *Log) addressGone(x transition.Address, t time.Time, how stage) {
	key := keyOfAddress(x)
	a := l.addresses[key]
	if a == nil || !a.isOut {
		return
	}
	r := a.record.root()
	a.isOut, a.at = false, l.moment(t)
	delete(r.out, key)
	l.end(&a.span, t)
	if p := l.pods[podKey{x.Namespace, x.Pod.Name}]; p != nil && how == stageGone {
		// Another may come under its name, as in a StatefulSet.
		l.end(&p.span, t)
		p.down = 0
	}
	r.add(fact{at: l.moment(t), stage: how, service: key.serviceKey, first: nameOf(x)})
	l.touched(r, t)
}

// recordOfLoss is the incident that a lost address belongs to: what its cause follows.
func (l *Log) recordOfLoss(x transition.AddressLost) *record {
	s := subject{story: storyWorkload, namespace: x.Namespace, name: workloadOf(x.Address), cause: x.Cause}
	switch x.Cause {
	case cause.NodeHeartbeatLost, cause.NodeNotReady, cause.KubeletRestart:
		if x.Pod.Node != "" {
			return l.recordOfNodesPod(x.Pod, x.Time, x.Cause, x.Trigger)
		}
		s.story, s.name = storyService, x.Name
	case cause.EndpointsReset, cause.ManualWrite, cause.ServiceChanged:
		s.story, s.name = storyService, x.Name
	case cause.Unknown:
		if x.Pod.Name == "" {
			s.story, s.name = storyService, x.Name
		}
	}
	return l.begin(s, x.Time, x.Trigger)
}

// recordOfNodesPod is the incident of the node that a pod was lost with.
func (l *Log) recordOfNodesPod(x transition.Pod, t time.Time, why cause.Cause, trigger uint64) *record {
	n := l.nodeNamed(x.Node)
	gap := time.Duration(0)
	if why != cause.NodeHeartbeatLost {
		gap = normalInterval + 1
	}
	r := l.follow(n, t, transition.NodeLoss{Trigger: trigger}, gap)
	r.unknown = r.unknown || why == cause.NodeHeartbeatLost
	return r
}

// safeAlphabet is what Kubernetes makes the hash of a pod template from (apimachinery, rand.SafeEncodeString).
const safeAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// workloadOf names a pod's workload. A Deployment's roll-outs each have a ReplicaSet of their own,
// named after it. Without an owner it is the pods of a Service.
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
