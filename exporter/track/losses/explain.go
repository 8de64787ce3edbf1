package losses

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// changeWindow is how long after a change of a Service its addresses may follow.
const changeWindow = 30 * time.Second

// explanation is the cause of a loss by the evidence so far.
type explanation struct {
	cause cause.Cause
	// certain: no later evidence can change it.
	certain bool
	// behind: the watch of pods or nodes is known to lag, since what it has shown contradicts the loss.
	behind bool
}

// explain finds the cause of a lost address.
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
		// Before the cause that ends the pod for good: that one removes the address.
		return q.explainByPod(l, p)
	case p.Leaving() != cause.Unknown:
		return explanation{cause: p.Leaving(), certain: true}
	case p.WasReady():
		return q.explainByPod(l, p)
	case notReady && p.Recovered() != cause.Unknown && l.Change.Time.Sub(q.watches.Time(p.Turned())).Abs() <= evidenceWait:
		// The watch of pods is ahead: it has shown the pod not ready and ready again.
		return explanation{cause: p.Recovered(), certain: true}
	}
	return q.explainAgainstPod(l, p, notReady)
}

// explainAgainstPod: the pod is ready as far as it was seen. Either the pod was not the reason, or the watch of pods lags.
func (q *Losses) explainAgainstPod(l *Loss, p *pods.Pod, notReady bool) explanation {
	why := q.explainByService(l)
	if !p.IsReady() || why != cause.Unknown && why != cause.PodDeleted || q.watches.Missing(event.KindPod) {
		return explanation{cause: why}
	}
	if since := l.Change.Time.Sub(q.watches.Time(p.Turned())); why == cause.Unknown && notReady && since >= 0 && since <= watches.LagWait {
		// Or the watch of slices lags: it shows what the pod has recovered from.
		why = p.Recovered()
	}
	return explanation{cause: why, behind: true}
}

// explainByPod: the pod is not ready. If it has not been ready for long, and its address was in rotation all the same
// (publishNotReadyAddresses), then the Service changed.
func (q *Losses) explainByPod(l *Loss, p *pods.Pod) explanation {
	longAgo := l.Change.Time.Sub(q.watches.Time(p.Turned())) > evidenceWait
	switch {
	case longAgo && l.Service.Ledger().changedAround(l.Change.Time):
		return explanation{cause: cause.ServiceChanged, certain: true}
	case l.Terminating:
		// The deletion of the pod was not seen yet. Its next event shows why it is deleted.
		return explanation{cause: cause.PodDeleted, behind: !q.watches.Missing(event.KindPod)}
	}
	return explanation{cause: p.Cause(), certain: p.Cause() != cause.Unknown && !longAgo}
}

// explainManual: the endpoints controller clears manually managed Endpoints of a
// Service with a selector, and the mirroring controller clears the slices that mirror them (endpoints controller, syncService;
// endpointslicemirroring controller, syncEndpoints). No controller touches other manually managed slices: somebody wrote them.
func (q *Losses) explainManual(l *Loss) cause.Cause {
	if l.InEndpoints && l.Service.WasCleared() && !l.Change.Foreign {
		return cause.EndpointsReset
	}
	if l.Known {
		return cause.Unknown // the manager had its reasons, which no object of this cluster shows
	}
	return cause.ManualWrite
}

// explainByService: the pod did not change and the address was lost. Either the Service
// selects other pods, or somebody edited what a controller had written, or the watch of pods lags.
func (q *Losses) explainByService(l *Loss) cause.Cause {
	s, t := l.Service.Ledger(), l.Change.Time
	lagging := q.watches.Lagging(event.KindService, q.watches.Now())
	switch {
	case l.Terminating:
		return cause.PodDeleted // endpointslice, podToEndpoint: with a deletionTimestamp, and only then
	case s.changedAround(t), lagging && s.changedAround(t.Add(watches.LagWait)):
		return cause.ServiceChanged
	case l.Foreign, !s.Edited.IsZero() && t.Sub(s.Edited).Abs() <= evidenceWait:
		return cause.ManualWrite
	case t.Equal(s.SliceDeleted) && l.Service.IsReady(l.Change.ID):
		// The EndpointSlice controller deletes slices, too, but it does not add the same addresses again at once.
		return cause.ManualWrite
	}
	return cause.Unknown
}

// changedAround reports whether the Service began to select other addresses at t or shortly before; watches of different resources are not ordered.
func (g *Ledger) changedAround(t time.Time) bool {
	return !g.Changed.IsZero() && t.Sub(g.Changed) <= changeWindow && g.Changed.Sub(t) <= evidenceWait
}
