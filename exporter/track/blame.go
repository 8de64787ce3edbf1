package track

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// explanation is what the evidence says of a loss by now.
type explanation struct {
	cause Cause
	// sure: no later evidence can change it.
	sure bool
	// behind: the watch of pods, or that of nodes, is known to be behind: what it has shown contradicts the loss.
	behind bool
}

// explain finds the cause of a lost address.
func (f *Tracker) explain(l *loss) explanation {
	if l.byHand {
		cause := f.explainByHand(l)
		return explanation{cause: cause, sure: cause == CauseEndpointsReset}
	}
	p := f.pods[l.uid]
	if p == nil {
		if gone, ok := f.departed[l.uid]; ok {
			return explanation{cause: gone.causeOf(l), sure: true}
		}
		return explanation{cause: f.explainByService(l)}
	}
	flipped := l.finding.Kind == AddressNotReady
	unready := p.ready != event.StatusTrue && p.everReady
	switch {
	case flipped && f.turns[l.uid] != nil:
		return explanation{cause: f.turns[l.uid].tentative, behind: true}
	case flipped && unready && p.cause != CauseUnknown:
		// Before what ends it for good: that takes the address away.
		return f.explainByPod(l, p)
	case p.leaving != CauseUnknown:
		return explanation{cause: p.leaving, sure: true}
	case unready:
		return f.explainByPod(l, p)
	case flipped && p.recovered != CauseUnknown && l.finding.Time.Sub(f.time(p.turned)).Abs() <= evidenceWait:
		// The watch of pods is ahead: it has shown the pod not ready and ready again.
		return explanation{cause: p.recovered, sure: true}
	}
	return f.explainAgainstPod(l, p, flipped)
}

// explainAgainstPod: the pod is ready as far as it was seen. It was not the pod, or the watch of pods is behind.
func (f *Tracker) explainAgainstPod(l *loss, p *pod, flipped bool) explanation {
	cause := f.explainByService(l)
	if p.ready != event.StatusTrue || cause != CauseUnknown && cause != CausePodDeleted || f.watches[event.KindPod].missing {
		return explanation{cause: cause}
	}
	if since := l.finding.Time.Sub(f.time(p.turned)); cause == CauseUnknown && flipped && since >= 0 && since <= lagWait {
		// Or the watch of slices is: it shows what the pod has recovered from.
		cause = p.recovered
	}
	return explanation{cause: cause, behind: true}
}

// explainByPod: the pod is not ready. If it has not been for long, and its address was in rotation all the same
// (publishNotReadyAddresses), then it was the Service that changed.
func (f *Tracker) explainByPod(l *loss, p *pod) explanation {
	longAgo := l.finding.Time.Sub(f.time(p.turned)) > evidenceWait
	switch {
	case longAgo && l.service.changedAround(l.finding.Time):
		return explanation{cause: CauseServiceChanged, sure: true}
	case l.terminating:
		// The pod was not seen to be deleted yet. Its next event says why it is.
		return explanation{cause: CausePodDeleted, behind: !f.watches[event.KindPod].missing}
	}
	return explanation{cause: p.cause, sure: p.cause != CauseUnknown && !longAgo}
}

// explainByHand: the endpoints controller wipes all that is written by hand into the Endpoints of a
// Service with a selector, and their mirrored slices go with that (endpoints controller, syncService;
// endpointslicemirroring controller, syncEndpoints). All else is someone's doing: slices made by hand nobody touches.
func (f *Tracker) explainByHand(l *loss) Cause {
	s := l.service
	if s.selector && s.byHand.endpoints == 0 && (l.mirrored || f.source == event.KindEndpoints) {
		return CauseEndpointsReset
	}
	return CauseManualWrite
}

// explainByService: the pod is as it was and the address went. Either the Service
// chooses other pods, or someone edited what the controller had written; or the watch of pods is behind.
func (f *Tracker) explainByService(l *loss) Cause {
	s := l.service
	switch {
	case l.terminating:
		return CausePodDeleted // endpointslice, podToEndpoint: with a deletionTimestamp, and only then
	case s.changedAround(l.finding.Time), f.lags.behind(event.KindService, f.now) && s.changedAround(l.finding.Time.Add(lagWait)):
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
