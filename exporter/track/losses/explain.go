package losses

import (
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
func (q *Losses) explain(l *Loss) explanation {
	x := q.explainByEvidence(l)
	if l.Vanished {
		x.certain, x.lagging = false, true
	}
	return x
}

func (q *Losses) explainByEvidence(l *Loss) explanation {
	if l.Manual {
		why := q.explainManual(l)
		return explanation{cause: why, certain: why == cause.EndpointsReset || l.Change.Foreign}
	}
	id, notReady := l.Change.ID, !l.Change.Removed
	p := q.pods.Find(id)
	if p == nil {
		why, deleted := q.pods.Departed(id, notReady)
		if why != cause.Unknown {
			return explanation{cause: why, certain: true}
		}
		l.Vanished = l.Vanished || deleted
		return explanation{cause: q.explainByService(l)}
	}
	tentative, pending := q.pods.Pending(id)
	switch {
	case notReady && pending:
		return explanation{cause: tentative, lagging: true}
	case notReady && p.WasReady() && p.Cause() != cause.Unknown:
		// The address is still listed. So the pod's readiness explains the loss better than the pod's departure.
		return q.explainByPod(l, p)
	case p.RemovalCause() != cause.Unknown:
		return explanation{cause: p.RemovalCause(), certain: true}
	case p.WasReady():
		return q.explainByPod(l, p)
	case notReady && p.Recovered() != cause.Unknown && l.Change.Time.Sub(q.watches.Time(p.ReadyChangedAt())).Abs() <= evidenceWait:
		// The pod watch is ahead of the slice watch. It has already shown the pod as not ready and as ready again.
		return explanation{cause: p.Recovered(), certain: true}
	}
	return q.explainAgainstPod(l, p, notReady)
}

// explainAgainstPod explains a loss that the last known state of the pod does not explain. Either the pod is not the
// cause, or the pod watch lags.
func (q *Losses) explainAgainstPod(l *Loss, p *pods.Pod, notReady bool) explanation {
	why := q.explainByService(l)
	if !p.IsReady() || why != cause.Unknown && why != cause.PodDeleted || q.watches.Missing(event.KindPod) {
		return explanation{cause: why}
	}
	if since := l.Change.Time.Sub(q.watches.Time(p.ReadyChangedAt())); why == cause.Unknown && notReady && since >= 0 && since <= watches.LagWait {
		// The slice watch may lag and show an old state, from which the pod has already recovered.
		why = p.Recovered()
	}
	return explanation{cause: why, lagging: true}
}

// explainByPod explains a loss while the pod is not ready. With publishNotReadyAddresses, the address can be ready
// although the pod has been unready for a long time. The cause is then a change of the Service.
func (q *Losses) explainByPod(l *Loss, p *pods.Pod) explanation {
	longAgo := l.Change.Time.Sub(q.watches.Time(p.ReadyChangedAt())) > evidenceWait
	switch {
	case longAgo && l.Service.Ledger().changedAround(l.Change.Time):
		return explanation{cause: cause.ServiceChanged, certain: true}
	case l.Terminating:
		// The pod is being deleted, but the pod watch has not shown this yet. The next event of the pod will show the
		// cause.
		return explanation{cause: cause.PodDeleted, lagging: !q.watches.Missing(event.KindPod)}
	}
	return explanation{cause: p.Cause(), certain: p.Cause() != cause.Unknown && !longAgo}
}

// explainManual explains the loss of a manually managed address. If the Service has a selector, the endpoints
// controller removes such addresses from Endpoints (endpoints controller, syncService). The mirroring controller then
// removes them from the slices that mirror the Endpoints (endpointslicemirroring controller, syncEndpoints). No
// controller changes other manually managed slices, so somebody edited them.
func (q *Losses) explainManual(l *Loss) cause.Cause {
	switch {
	case l.Vanished:
		return cause.Unknown // kubeflap did not see who deleted the object
	case l.InEndpoints && l.Service.WasCleared() && !l.Change.Foreign:
		return cause.EndpointsReset
	case l.Known:
		return cause.Unknown // kubeflap cannot see the reasons of a known manager
	}
	return cause.ManualWrite
}

// explainByService explains a loss if no known change of the pod explains it. Possible causes are a change of the
// Service's selector and an edit of an object that a controller manages. Otherwise, the pod watch may lag.
func (q *Losses) explainByService(l *Loss) cause.Cause {
	s, t := l.Service.Ledger(), l.Change.Time
	lagging := q.watches.Now().Before(q.watches.LaggingUntil(event.KindService))
	switch {
	case l.Terminating:
		return cause.PodDeleted // terminating means that the pod has a deletionTimestamp (endpointslice, podToEndpoint)
	case s.changedAround(t), lagging && s.changedAround(t.Add(watches.LagWait)):
		return cause.ServiceChanged
	case l.Vanished: // kubeflap did not see who deleted the object
	case l.Foreign, !s.Edited.IsZero() && t.Sub(s.Edited).Abs() <= evidenceWait:
		return cause.ManualWrite
	case t.Equal(s.SliceDeleted) && l.Service.IsReady(l.Change.ID):
		// The EndpointSlice controller would not delete a slice and add its address again immediately.
		return cause.ManualWrite
	}
	return cause.Unknown
}

// changedAround reports whether the Service's selection of pods changed at t or shortly before. A change shortly after
// t also counts, because events of different watches can arrive in any order.
func (g *Ledger) changedAround(t time.Time) bool {
	return !g.Changed.IsZero() && t.Sub(g.Changed) <= changeWindow && g.Changed.Sub(t) <= evidenceWait
}
