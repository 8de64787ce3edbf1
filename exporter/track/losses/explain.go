package losses

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// changeWindow is the longest time from a Service change to an address loss that the change causes.
const changeWindow = 30 * time.Second

// explanation is the cause of a loss, based on the evidence so far.
type explanation struct {
	cause cause.Cause
	// certain is set if no later evidence can change the cause.
	certain bool
	// behind is set if the events of the pod watch or the node watch contradict the loss, so this watch lags.
	behind bool
}

// explain determines the cause of a lost address.
func (q *Losses) explain(l *Loss) explanation {
	if l.Manual {
		why := q.explainManual(l)
		return explanation{cause: why, certain: why == cause.EndpointsReset || l.Change.Foreign}
	}
	id, notReady := l.Change.ID, !l.Change.Removed
	p := q.pods.Find(id)
	if p == nil {
		if why, ok := q.pods.Departed(id, notReady); ok {
			return explanation{cause: why, certain: true}
		}
		return explanation{cause: q.explainByService(l)}
	}
	tentative, pending := q.pods.Pending(id)
	switch {
	case notReady && pending:
		return explanation{cause: tentative, behind: true}
	case notReady && p.WasReady() && p.Cause() != cause.Unknown:
		// This case precedes the next one, the permanent removal of the pod's addresses, because this address is still
		// listed.
		return q.explainByPod(l, p)
	case p.Leaving() != cause.Unknown:
		return explanation{cause: p.Leaving(), certain: true}
	case p.WasReady():
		return q.explainByPod(l, p)
	case notReady && p.Recovered() != cause.Unknown && l.Change.Time.Sub(q.watches.Time(p.ReadyChangedAt())).Abs() <= evidenceWait:
		// The pod watch is ahead: it has already shown the pod as not ready, and then as ready again.
		return explanation{cause: p.Recovered(), certain: true}
	}
	return q.explainAgainstPod(l, p, notReady)
}

// explainAgainstPod explains a loss although kubeflap last saw the pod ready. Either the pod is not the cause, or the
// pod watch lags.
func (q *Losses) explainAgainstPod(l *Loss, p *pods.Pod, notReady bool) explanation {
	why := q.explainByService(l)
	if !p.IsReady() || why != cause.Unknown && why != cause.PodDeleted || q.watches.Missing(event.KindPod) {
		return explanation{cause: why}
	}
	if since := l.Change.Time.Sub(q.watches.Time(p.ReadyChangedAt())); why == cause.Unknown && notReady && since >= 0 && since <= watches.LagWait {
		// Alternatively, the slice watch lags and shows a state from which the pod has recovered.
		why = p.Recovered()
	}
	return explanation{cause: why, behind: true}
}

// explainByPod explains a loss while the pod is not ready. If the pod has been unready for a long time, but its address
// was ready (publishNotReadyAddresses), the cause is a change of the Service.
func (q *Losses) explainByPod(l *Loss, p *pods.Pod) explanation {
	longAgo := l.Change.Time.Sub(q.watches.Time(p.ReadyChangedAt())) > evidenceWait
	switch {
	case longAgo && l.Service.Ledger().changedAround(l.Change.Time):
		return explanation{cause: cause.ServiceChanged, certain: true}
	case l.Terminating:
		// The pod is being deleted, but the pod watch has not shown the deletion yet. The pod's next event will show
		// the cause.
		return explanation{cause: cause.PodDeleted, behind: !q.watches.Missing(event.KindPod)}
	}
	return explanation{cause: p.Cause(), certain: p.Cause() != cause.Unknown && !longAgo}
}

// explainManual explains the loss of a manually managed address. If the Service has a selector, the endpoints
// controller clears its manually managed Endpoints (endpoints controller, syncService). The mirroring controller then
// clears the slices that mirror them (endpointslicemirroring controller, syncEndpoints). No controller changes other
// manually managed slices, so somebody edited them.
func (q *Losses) explainManual(l *Loss) cause.Cause {
	if l.InEndpoints && l.Service.WasCleared() && !l.Change.Foreign {
		return cause.EndpointsReset
	}
	if l.Known {
		return cause.Unknown // the manager's reason is not visible in this cluster
	}
	return cause.ManualWrite
}

// explainByService explains a loss without a pod change: the Service selects other pods, somebody edited a controller's
// object, or the pod watch lags.
func (q *Losses) explainByService(l *Loss) cause.Cause {
	s, t := l.Service.Ledger(), l.Change.Time
	lagging := q.watches.Lagging(event.KindService, q.watches.Now())
	switch {
	case l.Terminating:
		return cause.PodDeleted // terminating means that the pod has a deletionTimestamp (endpointslice, podToEndpoint)
	case s.changedAround(t), lagging && s.changedAround(t.Add(watches.LagWait)):
		return cause.ServiceChanged
	case l.Foreign, !s.Edited.IsZero() && t.Sub(s.Edited).Abs() <= evidenceWait:
		return cause.ManualWrite
	case t.Equal(s.SliceDeleted) && l.Service.IsReady(l.Change.ID):
		// The EndpointSlice controller also deletes slices, but does not immediately add the same addresses again.
		return cause.ManualWrite
	}
	return cause.Unknown
}

// changedAround reports whether the Service began to select other addresses at t or shortly before. It tolerates events
// in the wrong order.
func (g *Ledger) changedAround(t time.Time) bool {
	return !g.Changed.IsZero() && t.Sub(g.Changed) <= changeWindow && g.Changed.Sub(t) <= evidenceWait
}
