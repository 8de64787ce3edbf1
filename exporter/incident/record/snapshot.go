package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Incidents returns copies of the reported incidents as of now. Running incidents come first, then pending ones, then
// all others. Within each group, the newest come first.
func (s *Store) Incidents() []incident.Incident {
	g := s.GracePeriodFacts()
	return s.copies(func(r *Record) incident.Incident { return s.snapshot(r, g) })
}

// Overview is like Incidents, but omits the most expensive fields: Evidence, Timeline, Numbers, Summary and Remedy.
func (s *Store) Overview() []incident.Incident { return s.copies(s.outline) }

// Changed is like Overview, but returns only the incidents that have changed since an earlier call. Their order is
// undefined. For `since`, pass the result `until` of the earlier call. To get all incidents, pass 0.
func (s *Store) Changed(since uint64) (all []incident.Incident, until uint64) {
	for _, r := range s.shown {
		if r.change > since {
			all = append(all, s.outline(r))
		}
	}
	return all, s.notifier.changes
}

// Incident returns a copy of the reported incident that has or had the given ID. The result ok reports whether the
// incident exists.
func (s *Store) Incident(id string) (x incident.Incident, ok bool) {
	i := slices.IndexFunc(s.shown, func(r *Record) bool { return r.id == id || slices.Contains(r.also, id) })
	if i < 0 {
		return incident.Incident{}, false
	}
	return s.snapshot(s.shown[i], s.GracePeriodFacts()), true
}

func (s *Store) copies(of func(*Record) incident.Incident) []incident.Incident {
	all := make([]incident.Incident, 0, len(s.shown))
	// The newest incidents are at the end of s.shown.
	for _, r := range slices.Backward(s.shown) {
		all = append(all, of(r))
	}
	slices.SortStableFunc(all, func(a, b incident.Incident) int {
		return incident.Compare(&a, &b)
	})
	return all
}

// snapshot returns a copy of an incident as of now. The parameter g holds the facts that determine the recommended
// grace period.
func (s *Store) snapshot(r *Record, g advice.GracePeriod) incident.Incident {
	x := s.outline(r)
	x.Evidence, x.EvidenceLeftOut = r.Evidence.Evidence(), r.Evidence.LeftOut()
	x.Timeline, x.SpansLeftOut = r.Timeline.Spans(x.End), r.Timeline.LeftOut()
	x.Numbers = s.numbers(r, x.Verdict, g)
	if r.withdrawn {
		x.Summary, x.Remedy = r.withdrawnSummary(), withdrawnRemedy
		return x
	}
	x.Summary = phrase.Sentence(r.happened(&x)) + "; " + cmp.Or(lossText(&x), r.noLossText(&x)) + evictedText(x.Evicted) + "."
	x.Remedy = s.remedy(r, &x, g)
	return x
}

// outline returns a copy of an incident as of now, without the fields that Overview omits.
func (s *Store) outline(r *Record) incident.Incident {
	x := incident.Incident{
		ID: r.id, Also: slices.Clone(r.also), Start: r.start, End: r.end(s.now), State: r.state(s.now), Cause: r.mainCause(), Scope: r.scope(),
		Namespace: r.Namespace, Subject: r.Name,
		Nodes: slices.Sorted(slices.Values(r.nodes)), NodesLeftOut: len(r.nodesLeftOut), ServicesLeftOut: len(r.servicesLeftOut),
		Lost: r.Lost, Bounces: r.bounces, Outages: r.Outages, OutageTime: r.OutageTime, Turned: r.Turned, Evicted: r.Evicted,
		Services: r.servicesAsOf(s.now), Decision: s.decide(r),
	}
	for _, since := range r.Open.Outages {
		x.OutageTime += max(s.now.Sub(since), 0)
	}
	if r.withdrawn {
		x.Withdrawn = watchLagged
	}
	return x
}

// end returns the time by which everything had recovered, or zero if something has not recovered.
func (r *Record) end(now time.Time) time.Time {
	state := r.state(now)
	if state != incident.StateRecovered && state != incident.StateEnded {
		return time.Time{}
	}
	if r.recovered.IsZero() {
		return now
	}
	return r.recovered
}

// servicesAsOf returns the affected Services, longest outage first.
func (r *Record) servicesAsOf(t time.Time) (all []incident.Service) {
	for _, e := range r.services {
		since, down := r.Open.Outages[e.service]
		x := incident.Service{
			Namespace: e.service.Namespace, Name: e.service.Name,
			Lost: e.lost, Bounces: e.bounces, Outages: e.Outages, OutageTime: e.OutageTime, Inexact: e.Inexact, Down: down,
		}
		if down {
			x.OutageTime += max(t.Sub(since), 0)
		}
		all = append(all, x)
	}
	sortServices(all)
	return all
}

// mainCause returns the main cause of an incident. For a node incident, this is cause.NodeHeartbeatLost if a heartbeat
// was lost, or else the cause with the most lost addresses.
func (r *Record) mainCause() cause.Cause {
	if !r.IsAboutNodes() || r.HeartbeatLost {
		return r.Cause
	}
	main := cause.NodeNotReady
	for _, why := range cause.All() {
		if n, ok := r.ByCause[why]; ok && (n > r.ByCause[main] || n == r.ByCause[main] && r.Turned == 0) {
			main = why
		}
	}
	return main
}

// numbers returns the measurements that the remedy depends on. The parameter v is the incident's verdict.
func (s *Store) numbers(r *Record, v verdict.Verdict, g advice.GracePeriod) (n incident.Numbers) {
	if r.IsAboutNodes() {
		n.GracePeriod = s.GracePeriod
		n.LongestInterval = r.longest(s.now, s.GracePeriod)
		n.LongestAtLeast = n.LongestInterval > 0 && r.atLeast(n.LongestInterval) != ""
	}
	switch {
	case r.IsAboutNodes() && (v == verdict.GracePeriod || g.Unsafe() || v == verdict.Node && r.mainCause() == cause.NodeHeartbeatLost && !r.clockSetBack() && !r.upgraded()):
		n.RecommendedGracePeriod = g.Recommended()
	case r.Cause == cause.InPlaceUpdate:
		n.Windows = r.windows()
	}
	return n
}

// remedy returns the remedy for the verdict, with the numbers of this cluster.
func (s *Store) remedy(r *Record, x *incident.Incident, g advice.GracePeriod) string {
	if r.IsAboutNodes() {
		return advice.LostNodes{
			Verdict: x.Verdict, Cause: x.Cause, Names: phrase.Some(x.Nodes), Count: r.nodeCount(), KnownNodes: r.KnownNodes,
			NotMarked: r.NotMarked > 0, ClockSetBack: r.clockSetBack(), Upgraded: r.upgraded(),
			NotRecovered: x.State == incident.StateRunning && len(r.Open.Nodes) > 0, EndUnseen: r.atLeast(x.Numbers.LongestInterval) != "",
			Longest: r.unexplained(x.Numbers.LongestInterval, s.now), Grace: g, Command: x.Command, Etcd: x.Etcd,
		}.Remedy()
	}
	a := r.affected()
	if x.Verdict == verdict.Planned {
		return a.PlannedRemedy(r.AnnouncedBy)
	}
	a.Windows, a.Pending = x.Numbers.Windows, x.State == incident.StatePending || a.Pending && r.Cause == cause.ManualWrite
	return a.Remedy()
}

func (c *counts) windows() []advice.Window {
	var all []advice.Window
	for i, window := range consumers.Windows() {
		all = append(all, advice.Window{Length: window, Bounces: c.ConsumerBounces[i], StaleReadds: c.StaleReadds[i]})
	}
	return all
}
