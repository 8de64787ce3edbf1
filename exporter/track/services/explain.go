package services

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// changeWindow is the maximum time from a change of a Service to an address loss that the change explains.
const changeWindow = 30 * time.Second

// explanation is the most likely cause of a loss, given the evidence so far.
type explanation struct {
	cause cause.Cause
	// certain is set if no later evidence can change the cause.
	certain bool
	// lagging is set if the pod watch or the node watch seems to lag, or if Services may not have been listed again. A
	// later event can then show the cause.
	lagging bool
}

// explain determines why an address stopped being ready. What vanished may have vanished with its Service, so nothing is
// certain until Services are listed.
func (q *losses) explain(l *loss) explanation {
	x := q.explainByEvidence(l)
	if l.vanished {
		x.certain, x.lagging = false, true
	}
	if l.deleted {
		x.certain = false // the object may have been deleted with its Service, whose deletion kubeflap has not seen yet
	}
	return x
}

func (q *losses) explainByEvidence(l *loss) explanation {
	if l.manual {
		why := q.explainManual(l)
		return explanation{cause: why, certain: l.change.Foreign}
	}
	if l.edited {
		return explanation{cause: cause.ManualWrite, certain: true}
	}
	p, deleted := q.pods.Recall(l.change.ID)
	var w *pods.ReadinessLoss
	if p != nil && !l.change.Removed {
		w = q.pods.LossBefore(p, l.version, l.change.Time)
	}
	_, relabelled := l.relabelling()
	switch {
	case w != nil && (w.Recovered.IsZero() || l.change.Time.Sub(w.Recovered) <= evidenceWait):
		// The address is still listed. So the pod's readiness explains the loss better than the pod's departure.
		return q.explainByPod(l, p, w)
	case p != nil && p.RemovalCause != cause.Unknown && (deleted || q.pods.RemovedBefore(p, l.version)):
		return explanation{cause: p.RemovalCause, certain: true}
	case relabelled:
		return explanation{cause: cause.ServiceChanged, certain: true}
	case l.terminating && !deleted:
		// The pod is being deleted (endpointslice, podToEndpoint), but the pod watch has not shown this yet. The next event
		// of the pod will show the cause.
		return explanation{cause: cause.PodDeleted, lagging: !q.watches.Missing(event.KindPod)}
	case p == nil, deleted:
		l.vanished = l.vanished || deleted
		return explanation{cause: cmp.Or(q.explainByService(l), q.explainByWriter(l))}
	}
	// The last known state of the pod does not explain the loss. Either the pod is not the cause, or the pod watch lags.
	why, otherwise := q.explainByService(l), q.pods.Cause(p)
	if w != nil {
		otherwise = w.Cause // the slice watch may lag and show an old state, from which the pod has already recovered
	}
	return explanation{cause: cmp.Or(why, otherwise, q.explainByWriter(l)), lagging: why == cause.Unknown && p.IsReady() && !q.watches.Missing(event.KindPod)}
}

// explainByPod explains that an address became not ready by a readiness loss of its pod. With publishNotReadyAddresses,
// the address can be ready although the pod has been unready for a long time. The cause is then a change of the Service.
func (q *losses) explainByPod(l *loss, p *pods.Pod, w *pods.ReadinessLoss) explanation {
	longAgo := l.change.Time.Sub(w.At) > evidenceWait
	switch {
	case w.Undecided:
		return explanation{cause: w.Cause, lagging: true}
	case longAgo && q.changedAround(l):
		return explanation{cause: cause.ServiceChanged, certain: true}
	case w.Cause == cause.Unknown && p.RemovalCause != cause.Unknown:
		return explanation{cause: p.RemovalCause, certain: true}
	}
	return explanation{cause: w.Cause, certain: w.Cause != cause.Unknown && !longAgo}
}

// explainManual explains the loss of a manually managed address. If the Service has a selector, the endpoints
// controller removes such addresses from Endpoints (endpoints controller, syncService). The mirroring controller then
// removes them from the slices that mirror the Endpoints (endpointslicemirroring controller, syncEndpoints). No
// controller changes other manually managed slices, so somebody edited them.
func (q *losses) explainManual(l *loss) cause.Cause {
	switch {
	case l.vanished:
		return cause.Unknown // kubeflap did not see who deleted the object
	case (q.readFrom == event.KindEndpoints || l.keeper == mirror) && l.service.hadSelector(l.version) && l.service.manualInEndpoints() == 0 && !l.change.Foreign:
		return cause.EndpointsReset
	case l.keeper == knownManager:
		return cause.Unknown // kubeflap cannot see the reasons of a known manager
	}
	return cause.ManualWrite
}

// explainByService explains a loss if no known change of the pod explains it. Possible causes are a change of the
// Service's selector and an edit of an object that a controller manages. Otherwise, the pod watch may lag.
func (q *losses) explainByService(l *loss) cause.Cause {
	switch {
	case l.terminating:
		return cause.PodDeleted // terminating means that the pod has a deletionTimestamp (endpointslice, podToEndpoint)
	case q.changedAround(l):
		return cause.ServiceChanged
	case l.vanished: // kubeflap did not see who deleted the object
	case l.keeper == foreigner && l.service.hasSelector(), l.deleted && l.keeper == controller && l.service.isReady(l.change.ID, q.readFrom):
		// The EndpointSlice controller would not delete a slice and add its address again immediately.
		return cause.ManualWrite
	}
	return cause.Unknown
}

// explainByWriter explains a loss that nothing else explains. Without a selector, no Kubernetes controller derives the
// addresses from pods, so whoever writes them removed this one. If they are mirrored, that is who writes the Endpoints.
func (q *losses) explainByWriter(l *loss) cause.Cause {
	switch {
	case l.vanished, l.service.hasSelector(), l.keeper == controller, l.keeper == knownManager:
	case l.keeper == mirror && !q.watches.IsSynced(event.KindEndpoints): // the writer is unknown
	default:
		return cause.ManualWrite
	}
	return cause.Unknown
}

// changedAround reports whether the Service's selection of pods changed at a loss or shortly before. A change of the
// selector removes addresses, and a change of publishNotReadyAddresses makes them not ready. A change shortly after the
// loss also counts, because events of different watches can arrive in any order.
func (q *losses) changedAround(l *loss) bool {
	changed, wait := l.service.changed, evidenceWait
	if !l.change.Removed {
		changed = l.service.unpublished
	}
	if q.watches.Now().Before(q.watches.LaggingUntil(event.KindService)) {
		wait += watches.LagWait
	}
	before := l.change.Time.Sub(q.watches.Time(changed))
	return changed != 0 && before <= changeWindow && before >= -wait
}

// relabelled is a pod whose labels were changed, so that the selector of its Service no longer matches them. The endpoints
// controllers then remove its addresses.
type relabelled struct {
	// version is the resourceVersion of the write that changed the labels, or 0 if it is unknown.
	version uint64
	// `why` names the first label that does not match.
	why string
}

// noteLabels compares the labels of a pod that the Service contains, or contained lately, with the selector. Labels are nil
// if they are unknown, or if the pod was deleted. Labels that the previous selector matches have not been changed: then a
// change of the Service explains what follows.
func (q *losses) noteLabels(s *service, id event.UID, labels map[string]string) {
	why := s.selector.Mismatch(labels)
	if labels == nil || why == "" {
		delete(s.relabelled, id)
		return
	}
	if s.hasLeft(id) || !q.concerns(s, id) || len(s.selectorBefore) > 0 && s.selectorBefore.Mismatch(labels) == "" {
		return
	}
	if s.relabelled == nil {
		s.relabelled = map[event.UID]relabelled{}
	}
	s.relabelled[id] = relabelled{q.watches.Version(), pods.Quote(why)}
}

// hasLeft reports whether a pod was relabelled, so that the Service no longer selects it.
func (s *service) hasLeft(id event.UID) bool {
	_, ok := s.relabelled[id]
	return ok
}

// relabelling returns how a label of the pod differed from the selector when a controller removed its address. ok is false
// if the labels did not explain the removal.
func (l *loss) relabelling() (why string, ok bool) {
	r, ok := l.service.relabelled[l.change.ID]
	before := r.version == 0 || l.version == 0 || r.version < l.version
	return r.why, ok && before && l.change.Removed && !l.terminating && !l.manual && l.keeper != foreigner && l.keeper != knownManager
}
