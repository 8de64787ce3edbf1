package incident

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Outline returns an incident as of now, without its times, and without evidence and texts.
func (f *Facts) Outline(d verdict.Decision, now time.Time) Incident {
	x := Incident{
		Cause: f.mainCause(), Scope: f.Scope(), Namespace: f.Namespace, Subject: f.Name, NodeCounts: f.NodeCounts, Counts: f.Counts,
		Verdict: d.Verdict, VerdictText: d.Words(), Considered: d.Considered, Command: d.Command, etcd: d.Etcd, together: d.Together,
		Nodes: append([]string{}, f.nodes.keys[:min(MaxNodes, len(f.nodes.keys))]...), Services: []Service{}, Evidence: []Evidence{}, Timeline: []Span{},
	}
	slices.Sort(x.Nodes)
	x.NodesLeftOut = f.nodes.len() - len(x.Nodes)
	for e, s := range f.Open {
		if e.Track == TrackOutage {
			x.OutageTime += phrase.Seconds(max(now.Sub(s.Start), 0))
		}
	}
	for _, s := range f.effects.keys[:min(MaxServices, len(f.effects.keys))] {
		x.Services = append(x.Services, f.effects.of[s].asOf(now, f.Open[OpenOutage(s)]))
	}
	x.ServicesLeftOut = f.effects.len() - len(x.Services)
	slices.SortFunc(x.Services, func(a, b Service) int {
		return cmp.Or(cmp.Compare(b.OutageTime, a.OutageTime), cmp.Compare(b.Lost, a.Lost),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return x
}

// Touched returns the nodes and the Services that the incident shows, in any order. They are valid until it changes.
func (f *Facts) Touched() ([]string, []transition.Service) {
	return f.nodes.keys[:min(MaxNodes, len(f.nodes.keys))], f.effects.keys[:min(MaxServices, len(f.effects.keys))]
}

// Describe fills in the evidence and the texts of an incident as of now. The parameter g holds the facts that determine
// the recommended grace period.
func (f *Facts) Describe(x *Incident, g advice.GracePeriod, now time.Time) {
	defer x.setFirstStep()
	x.Evidence, x.EvidenceLeftOut = f.Evidence.described(), f.Evidence.dropped
	x.Timeline, x.SpansLeftOut = f.Timeline.described(x.End.Time), f.Timeline.dropped
	x.Numbers = f.numbers(x, g, now)
	if x.Withdrawn != "" {
		x.Summary = phrase.Sentence(x.Withdrawn) + ". The heartbeats of " + phrase.Count(f.nodes.len(), "node", "nodes") + " were on time."
		x.Remedy = "Nothing is wrong with the nodes. If this happens often, look at the API server that kubeflap uses and at the network between them."
		return
	}
	x.Summary, x.Remedy = f.summary(x, g, now), f.remedy(x, g, now)
	if service, w, ok := keepsGoing(x); ok {
		x.WaitsFor = service + " waits for " + w.What()
	}
	f.addWaitRemedy(x)
}

// numbers returns the measurements that the remedy depends on.
func (f *Facts) numbers(x *Incident, g advice.GracePeriod, now time.Time) (n Numbers) {
	switch {
	case f.IsAboutNodes():
		n.GracePeriod, n.LongestInterval = phrase.Seconds(g.Period), phrase.Seconds(f.longest(now, g.Period))
		x.Numbers = n
		n.LongestAtLeast = n.LongestInterval > 0 && f.atLeast(x) != ""
		n.RecommendedGracePeriod = phrase.Seconds(lostNodes(f, x, g, now).Recommended())
	case f.Cause == cause.InPlaceUpdate:
		n.Windows = slices.Clone(f.Windows[:])
	}
	return n
}

// remedy returns the remedy for the verdict, with the numbers of this cluster.
func (f *Facts) remedy(x *Incident, g advice.GracePeriod, now time.Time) string {
	if f.IsAboutNodes() {
		return lostNodes(f, x, g, now).Remedy()
	}
	a := f.affected()
	if x.Verdict == verdict.Planned {
		// At least one of several outages lasts as long as the average.
		return a.PlannedRemedy(f.announcedBy, slices.ContainsFunc(x.Services, func(s Service) bool {
			return s.Outages > 0 && time.Duration(s.OutageTime) >= time.Duration(s.Outages)*cause.FinalAfter
		}))
	}
	a.Windows, a.Pending = x.Numbers.Windows, x.State == StatePending || a.Pending && f.Cause == cause.ManualWrite
	return a.Remedy()
}

// lostNodes returns the facts that the texts about nodes need.
func lostNodes(f *Facts, x *Incident, g advice.GracePeriod, now time.Time) advice.LostNodes {
	reason := verdict.NoReason
	switch {
	case x.Verdict == verdict.ControllerManager && leftReady(f.Silences):
		reason = verdict.LeftReady
	case f.Silences.ClocksSetBack():
		reason = verdict.ClockSetBack
	case f.Silences.Upgraded():
		reason = verdict.Upgraded
	}
	return advice.LostNodes{
		Verdict: x.Verdict, Reason: reason, Cause: x.Cause, Names: phrase.Some(x.Nodes), Count: max(f.nodes.len(), x.together), KnownNodes: f.KnownNodes,
		NotRecovered: x.State == StateOngoing && f.Open.HasNode(),
		Longest:      f.unexplained(time.Duration(x.Numbers.LongestInterval), now), Grace: g, Command: x.Command, Etcd: x.etcd,
		Said: f.told(now), Problems: f.problems,
		PlanFailed: f.Silences.Any(func(s *silence.Silence) bool { return s.IsOngoing() && s.Lasted(now) > advice.PlannedSilence }),
	}
}

// affected returns the facts that the texts about a workload or Service need.
func (f *Facts) affected() advice.Affected {
	a := advice.Affected{Cause: f.Cause, Namespace: f.Namespace, Name: f.FullName(), Replaced: f.Replaced != "", PodAddressesRemoved: f.Withdrawn, Pending: f.Resets == 0 && f.Lost == 0}
	a.ForeignAddressesGone = a.Pending && f.Foreign && !f.Withdrawn && !f.Open.Has(TrackForeign)
	if areAll(f.withNode, f.Lost) {
		a.DeletedNodes = slices.Sorted(slices.Values(f.deleted))
	}
	_, a.Probed = f.ByCause[cause.ProbeFailed]
	a.Probed = a.Probed && f.Cause == cause.ContainerExit
	a.Said, a.Relabelled = f.Quotes.most(f.Cause), f.isRelabelled()
	a.Vanished = areAll(f.vanished, f.Lost)
	a.Resolved, a.ServiceGone = f.Conflicted && !f.Pending(), f.ServiceGone
	return a
}

// mainCause returns the main cause of an incident. For a node incident, this is cause.NodeHeartbeatLost if a heartbeat
// was lost, or else the cause of the node with the most lost addresses. An eviction from a node is its consequence.
func (f *Facts) mainCause() cause.Cause {
	if !f.IsAboutNodes() || f.HeartbeatLost {
		return f.Cause
	}
	main := cause.NodeNotReady
	for _, why := range slices.Sorted(maps.Keys(f.ByCause)) {
		if n := f.ByCause[why]; why.OfNode() && (n > f.ByCause[main] || n == f.ByCause[main] && f.Turned+f.FoundNotReady == 0) {
			main = why
		}
	}
	return main
}

// Waited is what a Service waited for in an outage, and for how long.
type Waited struct {
	Service transition.Service
	transition.Wait
	Lasted time.Duration
}

// Entry returns the evidence entry for w.
func (w Waited) Entry() Entry {
	return Entry{Kind: OutageWaited, Time: w.Since, Service: w.Service, Name: advice.Waiting{Namespace: w.Service.Namespace, Wait: w.Wait}.What(), Duration: w.Lasted}
}

// keepsGoing returns what keeps the longest of the ongoing outages going. ok is false if it is unknown.
func keepsGoing(x *Incident) (service string, w advice.Waiting, ok bool) {
	for _, s := range x.Services {
		if s.Down && s.Wait.Kind != "" {
			return s.String(), advice.Waiting{Namespace: s.Namespace, Wait: s.Wait}, true
		}
	}
	return "", w, false
}

// addWaitRemedy begins the remedy with the one for what keeps an outage going, or for what kept it going for more than half
// of its time.
func (f *Facts) addWaitRemedy(x *Incident) {
	_, is, ongoing := keepsGoing(x)
	waited := ""
	if w := f.waited; !ongoing {
		if e := f.effects.of[w.Service]; w.Kind == "" || e == nil || 2*phrase.Seconds(w.Lasted) < e.OutageTime || e.OutageTime == 0 {
			return
		}
		is = advice.Waiting{Namespace: w.Service.Namespace, Wait: w.Wait}
		waited = " For " + phrase.Duration(w.Lasted) + ", " + w.Service.Namespace + "/" + w.Service.Name + " waited for " + is.What() + "."
	}
	first := is.Remedy(ongoing) + waited
	if began := x.Remedy; f.IsAboutNodes() || !is.Began(f.affected()) {
		first += " What began the outage: " + began
	}
	x.Remedy = first
}
