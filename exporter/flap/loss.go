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
func (f *Fold) lose(s shift, a *address, kind FindingKind, to state) {
	x := f.addressFinding(s, a, kind)
	x.From = readiness(stateReady)
	f.losses = append(f.losses, &loss{
		service: s.service, uid: a.uid, byHand: a.byHand, mirrored: s.mirrored, terminating: to == stateTerminating, finding: x,
	})
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

// Settle gives the losses that still wait the best answer there is: no more evidence will come.
func (f *Fold) Settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.losses {
		cause, _ := f.explain(l)
		f.settleLoss(l, cause)
	}
	f.losses = nil
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
		cause = f.explainByHand(l)
		return cause, cause == CauseEndpointsReset
	}
	p := f.pods[l.uid]
	if p == nil {
		if gone, ok := f.departed[l.uid]; ok {
			return gone.cause, true
		}
		return f.explainByService(l), false
	}
	flipped := l.finding.Kind == AddressNotReady
	unready := p.ready != event.StatusTrue && p.everReady
	switch {
	case flipped && unready && p.cause != CauseUnknown:
		// Before what ends it for good: that takes the address away.
		return f.explainByPod(l, p)
	case p.leaving != CauseUnknown:
		return p.leaving, true
	case unready:
		return f.explainByPod(l, p)
	case flipped && p.recovered != CauseUnknown && l.finding.Time.Sub(f.time(p.turned)).Abs() <= evidenceWait:
		// The watch of pods is ahead: it has shown the pod not ready and ready again.
		return p.recovered, true
	}
	// The pod is ready: it was not the pod, or the watch of pods is behind.
	return f.explainByService(l), false
}

// explainByPod: the pod is not ready. If it has not been for long, and its address was in rotation all the same
// (publishNotReadyAddresses), then it was the Service that changed.
func (f *Fold) explainByPod(l *loss, p *pod) (cause Cause, sure bool) {
	longAgo := l.finding.Time.Sub(f.time(p.turned)) > evidenceWait
	switch {
	case longAgo && l.service.changedAround(l.finding.Time):
		return CauseServiceChanged, true
	case l.terminating && !f.watches[event.KindPod].live(l.finding.Time):
		return CausePodDeleted, false // what is known of the pod may be old
	case p.cause != CauseProbeFailed:
		return p.cause, p.cause != CauseUnknown && !longAgo
	}
	// The evidence of the node may come after the pod's.
	n := f.nodes[p.node.Value()]
	switch {
	case n.notReadyAt(f.time(p.turned).Add(evidenceWait)):
		return CauseNodeNotReady, true
	case n.restartedBefore(f.time(p.turned).Add(evidenceWait)):
		return CauseKubeletRestart, true
	}
	return CauseProbeFailed, false
}

// explainByHand: the endpoints controller wipes all that is written by hand into the Endpoints of a
// Service with a selector, and their mirrored slices go with that (endpoints controller, syncService;
// endpointslicemirroring controller, syncEndpoints). All else is someone's doing: slices made by hand nobody touches.
func (f *Fold) explainByHand(l *loss) Cause {
	s := l.service
	if s.selector && s.byHand.endpoints == 0 && (l.mirrored || f.source == event.KindEndpoints) {
		return CauseEndpointsReset
	}
	return CauseManualWrite
}

// explainByService: the pod is as it was and the address went. Either the Service
// chooses other pods, or someone edited what the controller had written; or the watch of pods is behind.
func (f *Fold) explainByService(l *loss) Cause {
	s := l.service
	switch {
	case l.terminating:
		return CausePodDeleted // endpointslice, podToEndpoint: with a deletionTimestamp, and only then
	case s.changedAround(l.finding.Time):
		return CauseServiceChanged
	case !s.edited.IsZero() && l.finding.Time.Sub(s.edited).Abs() <= evidenceWait:
		return CauseManualWrite
	case l.finding.Time.Equal(s.sliceDeleted) && s.addresses.has(l.uid):
		// The EndpointSlice controller deletes its own slices, too, but not to put the same addresses back at once.
		return CauseManualWrite
	}
	return CauseUnknown
}

// changedAround: the Service chose other pods at t or shortly before; watches of different resources are not ordered.
func (s *service) changedAround(t time.Time) bool {
	return !s.changed.IsZero() && t.Sub(s.changed) <= changeWindow && s.changed.Sub(t) <= evidenceWait
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
