package incident

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// replacedWithin is how soon a Service that chooses other pods must have as many
// ready addresses as it lost for that to be a switch and no loss.
const replacedWithin = 10 * time.Second

type addressKey struct {
	serviceKey
	id event.UID
}

// address is an address that left rotation lately, or came back before its loss was told.
type address struct {
	record *record
	// isOut: it is in the Service and not ready; away: it was taken out of the Service.
	isOut, away bool
	losses      int32
	// at is when it last changed, back when it last came back.
	at, back event.Moment
	span     *stretch
}

func keyOfAddress(x track.Finding) addressKey { return addressKey{keyOfService(x), x.Address} }

func (l *Log) observeAddress(x track.Finding) {
	switch {
	case x.Kind == track.AddressNotReady || x.Kind == track.AddressRemoved && x.From == "ready":
		l.lostAddress(x)
	case x.Kind == track.AddressRemoved, x.Kind == track.AddressLeftOut:
		l.addressGone(x)
	case x.Kind == track.AddressReady || x.Kind == track.AddressBounced || x.To == "ready":
		l.addressBack(x)
	}
}

// lostAddress takes in the loss of a ready address. It comes in up to 15 s late; what became of the address since comes after it.
func (l *Log) lostAddress(x track.Finding) {
	r := l.recordOfLoss(x)
	key := keyOfAddress(x)
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
	if x.Node != "" {
		r.addNode(x.Node)
	}
	r.effectOn(key.serviceKey).lost++
	l.takePodNotes(r, x, a)
	r.add(fact{at: l.moment(x.Time), stage: stageLost, service: key.serviceKey, first: nameOf(x)})
	l.takeOut(r, a, key, x)
	if a.losses == 2 {
		r.again++
		l.show(r)
	}
	l.claimFor(key.serviceKey, r, x)
	l.touched(r, x.Time)
	if back := l.time(a.back); back.After(x.Time) {
		l.putBack(a, key, back)
	}
}

// takeOut keeps what must come back for the incident to end: an address that
// stayed. One that was removed may never come back.
func (l *Log) takeOut(r *record, a *address, key addressKey, x track.Finding) {
	l.end(&a.span, x.Time)
	switch {
	case goesOnPurpose(x.Cause):
		return
	case x.Kind == track.AddressNotReady:
		a.isOut = true
		r.out[key] = x.Time
		if r.harmless {
			l.timers.wake(&r.timer, x.Time.Add(quiet))
		}
	case x.Cause == track.CauseContainerExit:
		return
	default:
		a.away = true
	}
	if r.harmless && r.cause == track.CauseServiceChanged {
		l.timers.wake(&r.timer, r.start.Add(replacedWithin))
	}
	a.span = l.span(r, LaneAddress, l.serviceOf(key.serviceKey).name, x.Time)
}

// goesOnPurpose: the pod goes for good, and nobody waits for it.
func goesOnPurpose(c track.Cause) bool {
	return c == track.CausePodDeleted || c == track.CausePodEvicted || c == track.CausePodCompleted
}

func (l *Log) addressBack(x track.Finding) {
	key, at := keyOfAddress(x), l.moment(x.Time)
	if x.Kind != track.AddressBounced {
		l.serviceGained(key.serviceKey, x.Time)
	}
	a := l.addresses[key]
	if a == nil {
		if x.Kind == track.AddressBounced {
			l.addresses[key] = &address{at: at, back: at}
		}
		return
	}
	a.at = at
	if x.Kind == track.AddressBounced {
		a.back = at
	}
	if a.record != nil {
		l.putBack(a, key, x.Time)
	}
}

// putBack brings an address back into rotation; of what is back already it does nothing.
func (l *Log) putBack(a *address, key addressKey, t time.Time) {
	r := a.record.root()
	if !a.isOut && !a.away {
		return
	}
	r.bounces++
	r.effectOn(key.serviceKey).bounces++
	if a.away && r.harmless && r.cause == track.CauseServiceChanged {
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
func (l *Log) addressGone(x track.Finding) {
	key := keyOfAddress(x)
	a := l.addresses[key]
	if a == nil || !a.isOut {
		return
	}
	r := a.record.root()
	a.isOut, a.at = false, l.moment(x.Time)
	delete(r.out, key)
	l.end(&a.span, x.Time)
	how := stageGone
	if x.Kind == track.AddressLeftOut {
		how = stageLeftOut
	} else if p := l.pods[podKey{x.Namespace, x.Pod}]; p != nil {
		// Another may come under its name, as in a StatefulSet.
		l.end(&p.span, x.Time)
		p.down = 0
	}
	r.add(fact{at: l.moment(x.Time), stage: how, service: key.serviceKey, first: nameOf(x)})
	l.touched(r, x.Time)
}

// recordOfLoss is the incident that a lost address belongs to: what its cause follows.
func (l *Log) recordOfLoss(x track.Finding) *record {
	s := subject{story: storyWorkload, namespace: x.Namespace, name: workloadOf(x), cause: x.Cause}
	switch x.Cause {
	case track.CauseNodeHeartbeatLost, track.CauseNodeNotReady, track.CauseKubeletRestart:
		if x.Node != "" {
			return l.recordOfNodesPod(x)
		}
		s.story, s.name = storyService, x.Service
	case track.CauseEndpointsReset, track.CauseManualWrite, track.CauseServiceChanged:
		s.story, s.name = storyService, x.Service
	case track.CauseUnknown:
		if x.Pod == "" {
			s.story, s.name = storyService, x.Service
		}
	}
	return l.begin(s, x.Time, x.Trigger)
}

// recordOfNodesPod is the incident of the node that a pod was lost with.
func (l *Log) recordOfNodesPod(x track.Finding) *record {
	n := l.nodeNamed(x.Node)
	gap := time.Duration(0)
	if x.Cause != track.CauseNodeHeartbeatLost {
		gap = normalInterval + 1
	}
	r := l.follow(n, x, gap)
	r.unknown = r.unknown || x.Cause == track.CauseNodeHeartbeatLost
	return r
}

// safeAlphabet is what Kubernetes makes the hash of a pod template from (apimachinery, rand.SafeEncodeString).
const safeAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// workloadOf names a pod's workload. A Deployment's roll-outs each have a ReplicaSet of their own,
// named after it. Without an owner it is the pods of a Service.
func workloadOf(x track.Finding) string {
	if x.Owner == "" {
		return "Service/" + x.Service
	}
	name, ofReplicaSet := strings.CutPrefix(x.Owner, "ReplicaSet/")
	i := strings.LastIndexByte(name, '-')
	if !ofReplicaSet || i < 1 || len(name)-i < 6 || strings.Trim(name[i+1:], safeAlphabet) != "" {
		return x.Owner
	}
	return "Deployment/" + name[:i]
}

func nameOf(x track.Finding) string {
	switch {
	case x.Pod != "" && x.IP.IsValid():
		return x.IP.String() + ", pod " + x.Pod
	case x.Pod != "":
		return "pod " + x.Pod
	case x.IP.IsValid():
		return x.IP.String()
	}
	return ""
}
