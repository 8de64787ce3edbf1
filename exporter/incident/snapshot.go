package incident

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
)

// snapshot is the incident as of t.
func (r *record) snapshot(l *Log, t time.Time) Incident {
	x := Incident{
		ID: r.id, Also: slices.Clone(r.also), Start: r.start, State: r.state(t), Cause: r.mainCause(), Scope: r.scope(),
		Namespace: r.namespace, Subject: r.name,
		Nodes: slices.Sorted(slices.Values(r.nodes)), NodesLeftOut: len(r.nodesLeftOut), ServicesLeftOut: len(r.servicesLeftOut),
		Lost: r.lost, Bounces: r.bounces, Outages: r.outages, OutageTime: r.outageTime, Turned: r.turned,
		EvidenceLeftOut: r.evidence.leftOut, SpansLeftOut: r.spans.leftOut,
	}
	if x.State == StateRecovered || x.State == StateEnded {
		x.End = r.recovered
		if x.End.IsZero() {
			x.End = t
		}
	}
	for _, since := range r.down {
		x.OutageTime += max(t.Sub(since), 0)
	}
	for _, e := range r.services {
		since, down := r.down[e.key]
		s := Service{e.key.namespace, e.key.name, e.lost, e.bounces, e.outages, e.outageTime, down}
		if down {
			s.OutageTime += max(t.Sub(since), 0)
		}
		x.Services = append(x.Services, s)
	}
	slices.SortFunc(x.Services, func(a, b Service) int {
		return cmp.Or(cmp.Compare(b.OutageTime, a.OutageTime), cmp.Compare(b.Lost, a.Lost),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	x.Evidence = l.chain(r)
	x.Timeline = l.timeline(r, x.End)
	x.Numbers = l.numbers(r, t)
	x.Summary = r.summary(&x)
	x.Remedy = r.remedy(&x)
	return x
}

func (r *record) scope() Scope {
	switch r.story {
	case storyNode:
		return ScopeNode
	case storyControlPlane, storyGrace:
		return ScopeControlPlane
	case storyWorkload:
		return ScopeWorkload
	}
	return ScopeService
}

// mainCause: a node's causes follow from each other. Unknown outdoes the others,
// else what cost most addresses.
func (r *record) mainCause() cause.Cause {
	if r.story == storyWorkload || r.story == storyService || r.unknown {
		return r.cause
	}
	main := cause.NodeNotReady
	for _, why := range cause.All() {
		if n, ok := r.byCause[why]; ok && (n > r.byCause[main] || n == r.byCause[main] && r.turned == 0) {
			main = why
		}
	}
	return main
}

func (l *Log) numbers(r *record, t time.Time) Numbers {
	var n Numbers
	switch r.story {
	case storyNode, storyControlPlane, storyGrace:
		n.GracePeriod, n.LongestInterval = l.grace, l.longestBy(r, t)
	}
	switch {
	case r.story == storyNode && r.mainCause() == cause.NodeHeartbeatLost:
		n.RecommendedGracePeriod = advice.RecommendedGracePeriod(n.LongestInterval, advice.LeastGracePeriod)
	case r.story == storyGrace:
		n.RecommendedGracePeriod = advice.RecommendedGracePeriod(0, advice.DefaultGracePeriod)
	case r.cause == cause.InPlaceUpdate:
		n.Windows = r.windows()
	}
	return n
}

// longestBy is the longest interval between two heartbeats, a running one included.
func (l *Log) longestBy(r *record, t time.Time) time.Duration {
	longest := r.longest
	for _, s := range r.spans.all() {
		if lanes[s.lane] == LaneHeartbeat && s.end == 0 {
			longest = max(longest, t.Sub(l.time(s.start)))
		}
	}
	return longest
}
