package track

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// evidenceWait is how long a loss waits for its evidence: watches of different
	// resources are not ordered among each other.
	evidenceWait = time.Second
	// lagWait is how long it waits if the watch that must bring the evidence is known to be behind: the address says
	// of its pod what the pod, as far as it was seen, does not say of itself.
	lagWait = 15 * time.Second
)

// changeWindow is how long after a change of a Service its addresses may follow.
const changeWindow = 30 * time.Second

// loss is a ready address that was lost, until its cause is known.
type loss struct {
	service *service
	uid     event.UID
	finding Finding
	byHand  bool
	// mirrored: it was in a slice made from Endpoints; terminating: it goes because its pod is deleted.
	mirrored, terminating bool
	// outage: with it the Service lost its last ready address; over is the finding
	// of that outage's end, if it has ended already.
	outage bool
	over   Finding
	// after is what became of the address since, to be told after the loss.
	after []Finding
	// settled: its cause is known.
	settled bool
	// older is the loss of the same address before this one that is not told either, nil if there is none.
	older *loss
}

// lossQueue are the losses that wait for their cause.
type lossQueue struct {
	// fresh are in the order in which they happened; behind have waited for evidenceWait, and their evidence is known
	// to be on its way. Those that are settled leave when it is their turn.
	fresh, behind queue[*loss]
	// of are those that are not told, the newest of each address.
	of map[event.UID]*loss
}

func (q *lossQueue) add(l *loss) {
	q.fresh.push(l)
	l.older = q.of[l.uid]
	q.of[l.uid] = l
}

// forget takes out a loss that is told.
func (q *lossQueue) forget(l *loss) {
	newest := q.of[l.uid]
	if newest == l {
		if l.older == nil {
			delete(q.of, l.uid)
		} else {
			q.of[l.uid] = l.older
		}
		return
	}
	for x := newest; x != nil; x = x.older {
		if x.older == l {
			x.older = l.older
			return
		}
	}
}

// departure is what is left of a pod that is gone: its watch may be ahead.
type departure struct {
	pod   *pod
	cause Cause
	at    time.Time
}

// causeOf is why an address of a pod that is gone was lost: one that was not ready before it went, for what made the pod so.
func (d *departure) causeOf(l *loss) Cause {
	if l.finding.Kind == AddressNotReady && d.pod.ready != event.StatusTrue && d.pod.everReady && d.pod.cause != CauseUnknown {
		return d.pod.cause
	}
	return d.cause
}

// departed is which pod is gone, and since when.
type departed struct {
	id event.UID
	at time.Time
}

// lose counts a lost address, and begins to look for its cause.
func (f *Tracker) lose(s shift, a *address, kind FindingKind, to state) {
	s.lost++
	x := f.addressFinding(s, a, kind)
	x.From, x.Trigger = readiness(stateReady), f.trigger(s.service)
	l := &loss{
		service: s.service, uid: a.uid, byHand: a.byHand, mirrored: s.mirrored, terminating: to == stateTerminating, finding: x,
	}
	f.losses.add(l)
	s.untold.push(l)
}

// blameLastLoss makes the cause of the last loss of an event that of the outage that began with it.
func (f *Tracker) blameLastLoss(s *service, lossesBefore int) {
	made := f.losses.fresh.from(lossesBefore)
	if len(made) == 0 {
		return
	}
	if last := made[len(made)-1]; last.service == s && !last.outage {
		last.outage, s.lastOutage = true, last
	}
}

// endOutage reports an outage that ended, when its cause is known.
func (f *Tracker) endOutage(s *service, x Finding) {
	if s.lastOutage != nil && s.lastOutage.over.Kind == 0 {
		s.lastOutage.over = x
		return
	}
	x.Cause = s.outageCause
	f.reportOf(s, x)
}

func (f *Tracker) settleLoss(l *loss, cause Cause) {
	s := l.service
	l.settled = true
	s.losses[cause]++
	s.noteLastLoss(l.finding.Time, cause)
	l.finding.Cause = cause
	l.finding.takePod(f.podOf(l.uid))
	f.takeTrigger(&l.finding)
	for !s.untold.isEmpty() && s.untold.front().settled {
		f.tellLoss(s, s.untold.take())
	}
}

// tellLoss reports a loss and the outage that began with it. Losses of a Service are told in the order in which they happened, which is
// the same for everybody: one whose cause shows at once does not overtake another that waits for its own.
func (f *Tracker) tellLoss(s *service, l *loss) {
	f.losses.forget(l)
	f.reportOf(s, l.finding)
	if l.outage {
		// Not before its cause: a Service that is deleted loses its addresses, too, and is no outage.
		f.reportOf(s, Finding{Time: l.finding.Time, Kind: OutageStarted, Cause: l.finding.Cause, Trigger: l.finding.Trigger})
	}
	for _, x := range l.after {
		f.reportOf(s, x)
	}
	if !l.outage {
		return
	}
	if s.lastOutage == l {
		s.lastOutage = nil
	}
	if l.over.Kind == 0 {
		s.outageCause = l.finding.Cause
		return
	}
	l.over.Cause = l.finding.Cause
	f.reportOf(s, l.over)
}

// tellOfAddress reports what became of an address, after the loss before it if that is not told yet: who hears that it is back, or gone,
// and then that it was lost, would wait for it for ever.
func (f *Tracker) tellOfAddress(s *service, x Finding) {
	for l := f.losses.of[x.Address]; l != nil; l = l.older {
		if l.service == s {
			l.after = append(l.after, x)
			return
		}
	}
	f.reportOf(s, x)
}

// noteLastLoss keeps the newest by time: a loss whose cause shows at once overtakes one that waits for its own. Of several at the
// same time the cause does not depend on which was settled first.
func (s *service) noteLastLoss(t time.Time, cause Cause) {
	switch {
	case t.Before(s.lastLoss):
	case t.Equal(s.lastLoss) && s.lastCause != CauseUnknown && (cause == CauseUnknown || cause > s.lastCause):
	default:
		s.lastLoss, s.lastCause = t, cause
	}
}

// podOf is a pod, also one that went a moment ago; nil if it was never seen.
func (f *Tracker) podOf(id event.UID) *pod {
	if p := f.pods[id]; p != nil {
		return p
	}
	return f.departed[id].pod
}

// departedFor is how long a pod that is gone can explain the loss of its addresses.
const departedFor = 30 * time.Second

// depart keeps what explains the losses of a pod that goes.
func (f *Tracker) depart(id event.UID, p *pod, t time.Time) {
	cause := p.leaving
	if cause == CauseUnknown {
		cause = CausePodDeleted
	}
	f.departed[id] = departure{p, cause, t}
	f.departures.push(departed{id, t})
}

// forgetDeparted forgets the pods that are gone for long enough by t.
func (f *Tracker) forgetDeparted(t time.Time) {
	for q := &f.departures; !q.isEmpty() && t.Sub(q.front().at) > departedFor; {
		x := q.take()
		if f.departed[x.id].at.Equal(x.at) {
			delete(f.departed, x.id)
		}
	}
}
