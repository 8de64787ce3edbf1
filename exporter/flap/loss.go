package flap

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// evidenceWait is how long a loss waits for its evidence: watches of different
// resources are not ordered among each other.
const evidenceWait = time.Second

// changeWindow is how long after a change of a Service its addresses may follow.
const changeWindow = 5 * time.Second

// loss is a ready address that was lost, until its cause is known.
type loss struct {
	service *service
	uid     event.UID
	finding Finding
	byHand  bool
	// outage: with it the Service lost its last ready address; over is the finding
	// of that outage's end, if it has ended already.
	outage bool
	over   Finding
	// settled: its cause is known and told.
	settled bool
}

// departure is what is left of a pod that is gone: its watch may be ahead.
type departure struct {
	pod   *pod
	cause Cause
	at    time.Time
}

// lose begins to look for the cause of a lost address.
func (f *Fold) lose(s shift, a *address, kind FindingKind) {
	x := f.addressFinding(s, a, kind)
	x.From = readiness(stateReady)
	f.losses = append(f.losses, &loss{service: s.service, uid: a.uid, byHand: a.byHand, finding: x})
}

// blameLastLoss makes the cause of the last loss that of the outage that began with it.
func (f *Fold) blameLastLoss(s *service) {
	if n := len(f.losses); n > 0 && f.losses[n-1].service == s && !f.losses[n-1].outage {
		f.losses[n-1].outage = true
		s.untold = append(s.untold, f.losses[n-1])
	}
}

// endOutage reports an outage that ended, when its cause is known.
func (f *Fold) endOutage(s *service, x Finding) {
	if n := len(s.untold); n > 0 && s.untold[n-1].over.Kind == 0 {
		s.untold[n-1].over = x
		return
	}
	x.Cause = s.outageCause
	f.reportOf(s, x)
}

// settleLossesOf settles the losses that a pod's event explains.
func (f *Fold) settleLossesOf(pod event.UID) {
	f.losses = slices.DeleteFunc(f.losses, func(l *loss) bool { return l.uid == pod && f.settleIfSure(l) })
}

// settleLossesFrom settles the losses from a place on, those of one event, for
// which there is evidence already.
func (f *Fold) settleLossesFrom(place int) {
	rest := slices.DeleteFunc(f.losses[place:], f.settleIfSure)
	f.losses = f.losses[:place+len(rest)]
}

func (f *Fold) settleIfSure(l *loss) bool {
	cause, sure := f.explain(l)
	if sure {
		f.settleLoss(l, cause)
	}
	return sure
}

// settleOverdue settles the losses that have waited long enough by t: those in front.
func (f *Fold) settleOverdue(t time.Time) {
	n := 0
	for ; n < len(f.losses) && t.Sub(f.losses[n].finding.Time) >= evidenceWait; n++ {
		cause, _ := f.explain(f.losses[n])
		f.settleLoss(f.losses[n], cause)
	}
	if n > 0 {
		f.losses = slices.Delete(f.losses, 0, n)
	}
}

func (f *Fold) settleLoss(l *loss, cause Cause) {
	s := l.service
	s.losses[cause]++
	s.lastLoss, s.lastCause = l.finding.Time, cause
	l.finding.Cause = cause
	l.finding.takePod(f.podOf(l.uid))
	f.reportOf(s, l.finding)
	l.settled = true
	if l.outage {
		f.tellOutages(s)
	}
}

// tellOutages reports the outages whose cause is known, in the order in which they
// began: one whose cause shows at once does not overtake another that waits for its own.
func (f *Fold) tellOutages(s *service) {
	for len(s.untold) > 0 && s.untold[0].settled {
		l := s.untold[0]
		s.untold = slices.Delete(s.untold, 0, 1)
		cause := l.finding.Cause
		// Not before its cause: a Service that is deleted loses its addresses, too, and is no outage.
		f.reportOf(s, Finding{Time: l.finding.Time, Kind: OutageStarted, Cause: cause})
		if l.over.Kind == 0 {
			s.outageCause = cause
			continue
		}
		l.over.Cause = cause
		f.reportOf(s, l.over)
	}
	if len(s.untold) == 0 {
		s.untold = nil
	}
}

// podOf is a pod, also one that went a moment ago; nil if it was never seen.
func (f *Fold) podOf(id event.UID) *pod {
	if p := f.pods[id]; p != nil {
		return p
	}
	return f.departed[id].pod
}

// explain finds the cause of a lost address; sure says that no later evidence can change it.
func (f *Fold) explain(l *loss) (cause Cause, sure bool) {
	if l.byHand {
		return f.explainByHand(l), true
	}
	p := f.pods[l.uid]
	if p == nil {
		if gone, ok := f.departed[l.uid]; ok {
			return gone.cause, true
		}
		return f.explainByService(l), false
	}
	switch {
	case p.leaving != CauseUnknown:
		return p.leaving, true
	case p.ready != event.StatusTrue && p.everReady:
		return p.cause, p.cause != CauseUnknown
	case l.finding.Kind == AddressNotReady && p.recovered != CauseUnknown && l.finding.Time.Sub(p.turned).Abs() <= evidenceWait:
		// The watch of pods is ahead: it has shown the pod not ready and ready again.
		return p.recovered, true
	}
	// The pod is ready: it was not the pod, or the watch of pods is behind.
	return f.explainByService(l), false
}

// explainByHand: the endpoints controller wipes what is written by hand for a
// Service with a selector (endpoints controller, syncService); all else is someone's doing.
func (f *Fold) explainByHand(l *loss) Cause {
	if l.service.selector {
		return CauseEndpointsReset
	}
	return CauseManualWrite
}

// explainByService: the pod is as it was and the address went. Either the Service
// chooses other pods, or someone edited what the controller had written.
func (f *Fold) explainByService(l *loss) Cause {
	s := l.service
	if !s.changed.IsZero() && l.finding.Time.Sub(s.changed).Abs() <= changeWindow {
		return CauseServiceChanged
	}
	if !s.edited.IsZero() && l.finding.Time.Sub(s.edited).Abs() <= evidenceWait {
		return CauseManualWrite
	}
	return CauseUnknown
}

// departedFor is how long a pod that is gone can explain the loss of its addresses.
const departedFor = 30 * time.Second

// depart keeps what explains the losses of a pod that goes.
func (f *Fold) depart(id event.UID, p *pod, t time.Time) {
	cause := p.leaving
	if cause == CauseUnknown {
		cause = CausePodDeleted
	}
	f.departed[id] = departure{p, cause, t}
	if t.Before(f.departedSwept.Add(departedFor)) {
		return
	}
	f.departedSwept = t
	for id, d := range f.departed {
		if t.Sub(d.at) > departedFor {
			delete(f.departed, id)
		}
	}
}
