package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// tally counts a Service's addresses. `manual` counts the manually managed addresses in one resource, either Endpoints
// or EndpointSlices. `managed` counts the addresses with a targetRef in both resources.
type tally struct{ manual, managed int32 }

// tally counts a Service's addresses. For a Service with a selector, it omits manually managed addresses in slices that
// no Kubernetes controller manages, because no controller removes them.
func (s *service) tally(k event.Kind) (n tally) {
	for _, h := range s.sources {
		n.managed += h.managed
		if h.kind == k && (k == event.KindEndpoints || !s.hasSelector() || h.keeper == controller || h.keeper == mirror) {
			n.manual += h.manual
		}
	}
	return n
}

func (s *service) hasSelector() bool { return len(s.selector) > 0 }

// hadSelector reports whether the Service had a selector at the write with a resourceVersion. If the order is unknown, it
// reports whether the Service has one.
func (s *service) hadSelector(version uint64) bool {
	return s.hasSelector() != (version > 0 && s.selectorSince > version)
}

// hasPods reports whether the Service has an address of a pod.
func (s *service) hasPods() bool { return s.tally(event.KindEndpoints).managed > 0 }

// manualInEndpoints returns the number of manually managed addresses in the Endpoints object.
func (s *service) manualInEndpoints() int { return int(s.tally(event.KindEndpoints).manual) }

// endpoints returns the Endpoints object of a Service. If it has none, the result has no addresses.
func (s *service) endpoints() *source {
	for _, h := range s.sources {
		if h.kind == event.KindEndpoints {
			return h
		}
	}
	return &source{}
}

// countManual updates the number of manually managed addresses, and reports a reset if none are left. It counts Endpoints
// and slices separately. This way, it also detects Endpoints that are emptied and rewritten before the mirroring controller
// runs.
func (q *facts) countManual(u *update, h *source, w *written) {
	had := h.manual
	if h.count(w); h.kind == event.KindEndpoints && had == 0 && h.manual > 0 {
		h.appeared = u.version
	}
	if h.keeper == mirror && q.watches.IsSynced(event.KindEndpoints) {
		h.manual = 0 // these addresses are counted in the Endpoints object, also if they were counted here before its list
		u.before.manual -= min(had, u.before.manual)
		if relist := u.service.relist; relist != nil { // an interrupted list can have begun before they were counted
			relist.before.manual -= min(h.relisted, relist.before.manual)
			h.relisted = 0
		}
	}
	q.compare(u, h.kind, h.kind == event.KindEndpoints || h.keeper == mirror)
}

// compare reports a reset, or the return of addresses after a reset. If the selector matches pods now, or matched pods
// before the event, there is no reset. In this case, the removed addresses were foreign addresses. After a list of
// EndpointSlices, if Endpoints have been listed, the tallies omit the addresses in slices that mirror them.
func (q *facts) compare(u *update, k event.Kind, inEndpoints bool) {
	s, before, now, selector := u.service, u.before, u.tally(k), u.hasSelector()
	switch {
	case u.quiet || u.vanished || selector && before.managed+now.managed > 0:
	case before.manual > 0 && now.manual == 0:
		q.settleReset(s)
		r := &reset{transition.EndpointsReset{
			At: at(u.at), Service: s.name, Count: int(before.manual), BySelector: inEndpoints, Trigger: transition.Trigger(s.uid, u.version),
		}, q.watches.Version(), before.managed+now.managed > 0}
		s.reset, s.cleared = r, selector
		q.watches.Schedule(u.at.Add(evidenceWait), watches.RankServices, func() {
			if s.reset == r {
				q.settleReset(s)
				q.checkWriters(s, q.watches.Now())
			}
		})
	case before.manual == 0 && now.manual > 0:
		if q.settleReset(s); s.cleared && selector {
			q.report(s, transition.EndpointsRewritten{At: at(u.at), Service: s.name, Count: int(now.manual)})
		}
	}
	q.checkWriters(s, u.at)
}

// reset is the removal of all manually managed addresses of a Service. It waits for evidenceWait, because the watch of Services
// can be behind: the Service may have been deleted, or have got or lost a selector. version is the resourceVersion of the
// removal, or 0 if it is unknown. hadPods is set if the Service had addresses of pods.
type reset struct {
	transition.EndpointsReset
	version uint64
	hadPods bool
}

// settleReset counts and reports a Service's reset, if one waits. If a selector matches pods, the removed addresses were
// foreign addresses.
func (q *facts) settleReset(s *service) {
	r := s.reset
	if s.reset = nil; r == nil {
		return
	}
	selector := s.hadSelector(r.version)
	if selector && r.hadPods {
		return
	}
	if r.Waited = q.watches.Now().Sub(r.Time); selector {
		s.ResetsWithSelector++
		s.LastReset.WithSelector = r.Time
	} else {
		s.ResetsSelectorless++
		s.LastReset.Selectorless = r.Time
	}
	s.cleared, r.BySelector = selector, r.BySelector && selector
	if r.BySelector && !s.conflict { // kubeflap saw the selector after the removal
		s.conflict = true
		q.report(s, transition.SelectorConflict{At: r.At, Service: s.name, Count: r.Count, Trigger: transition.Trigger(s.uid, s.endpoints().appeared)})
	}
	q.report(s, r.EndpointsReset)
}

// inConflict reports whether a Service has manually managed Endpoints and a selector that matches no pods. The
// endpoints controller has cleared these Endpoints, or will clear them at its next sync (see syncService in
// pkg/controller/endpoint). Manually managed slices cause no conflict, because this controller does not change them. If
// pods match the selector, manually managed addresses count as foreign addresses.
func (s *service) inConflict() bool {
	return s.hasSelector() && !s.hasPods() && (s.manualInEndpoints() > 0 || s.cleared || s.endpoints().overwritten)
}

// checkWriters reports when a conflict begins or ends, when foreign addresses appear or disappear, and when addresses are
// withdrawn or return.
func (q *facts) checkWriters(s *service, t time.Time) {
	endpoints, isPossible := s.endpoints(), s.hasSelector() && !s.hasPods()
	s.cleared, endpoints.overwritten = s.cleared && isPossible, endpoints.overwritten && isPossible
	s.everManual = s.everManual || endpoints.overwritten || slices.ContainsFunc(s.sources, func(h *source) bool { return h.manual > 0 })
	switch is := s.inConflict(); {
	case is == s.conflict:
	case is:
		// The trigger does not depend on the order in which the Service and its Endpoints were seen.
		q.report(s, transition.SelectorConflict{
			At: at(t), Service: s.name, Count: s.manualInEndpoints(), Overwritten: endpoints.overwritten, Trigger: transition.Trigger(s.uid, endpoints.appeared),
		})
	default:
		q.settleReset(s)
		q.report(s, transition.SelectorConflictEnded{At: at(t), Service: s.name})
	}
	s.conflict = s.inConflict()
	for _, h := range s.sources {
		q.checkNotices(h, t, s.hasSelector())
	}
}
