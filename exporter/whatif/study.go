// Package whatif predicts how a recorded cluster would have behaved with other settings. A Study collects the
// heartbeats of nodes and the addresses of Services from the events of a recording. Study.Predict then applies a small
// model of the node lifecycle controller. In this package, a silence is an interval between two heartbeats of a node.
// To mark a node means to set its Ready condition to Unknown. To mark a pod means to set its Ready condition to False.
package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
)

// Study holds the data for predictions about a recording. All times are event times.
type Study struct {
	// least is the minimum length of the silences that the Study keeps. Shorter silences cannot make a node Unknown
	// with any of the settings.
	least      time.Duration
	begin, end time.Time
	grace      grace.Finder
	// toSpecify names the flag with which users can specify the grace period during the recording.
	toSpecify string
	nodes     map[string]*node
	zones     *zones
	silences  []*silence
	gaps      gaps
	// The map kept holds the periods in which each node was certainly Ready. The keys are node names.
	kept map[string][]kept
	// lastBeat is the time of the newest heartbeat of any node. The slices quiet and dark hold the intervals in which
	// kubeflap saw no heartbeat of any node. The watches worked during the intervals in quiet. A watch was broken
	// during the intervals in dark.
	lastBeat    time.Time
	quiet, dark []interval
	// leader is the holder of the kube-controller-manager's Lease. The slice led holds the times at which the holder
	// changed.
	leader   string
	led      []time.Time
	pods     *pods
	services services
}

// interval is a period of time. Its end is zero if the interval has not ended.
type interval struct{ from, to time.Time }

// New returns a Study for predictions with the settings. recorded is the grace period during the recording. If it is 0,
// the Study derives the grace period from the recording.
func New(settings []Settings, recorded time.Duration) *Study {
	all := newPods()
	s := &Study{
		least: alwaysKept, grace: grace.New(recorded), toSpecify: "--recorded-grace-period",
		nodes: map[string]*node{}, zones: newZones(), gaps: newGaps(), kept: map[string][]kept{},
		pods: all, services: newServices(all),
	}
	for _, x := range settings {
		earliest, _ := x.delay()
		s.least = min(s.least, earliest)
	}
	return s
}

// NewUsual returns a Study for PredictUsual. recorded is the grace period during the recording. If it is 0, the Study
// derives the grace period from the recording.
func NewUsual(recorded time.Duration) *Study {
	s := New(nil, recorded)
	s.least, s.toSpecify = usualInterval, "kubeflap's --node-monitor-grace-period"
	return s
}

// Apply adds the next event of the recording.
func (s *Study) Apply(e event.Event) {
	if s.begin.IsZero() {
		s.begin = e.Seen
	}
	if e.Seen.After(s.end) {
		s.end = e.Seen
	}
	s.watch(e)
	if !e.Type.HasObject() || e.Type == event.DirectReadLease {
		return
	}
	switch o := e.Object.(type) {
	case *event.Cluster:
		s.grace.SetVersion(o.Version)
	case *event.Node:
		s.applyNode(e, o)
	case *event.Lease:
		s.applyLease(e, o)
	case *event.ControlPlaneLease:
		s.applyLeader(e, o)
	case *event.Pod:
		s.grace.ApplyControllerManager(o)
		s.applyPod(e, o)
	case *event.Service:
		s.services.apply(s.gaps.sighting(e), o)
	case *event.EndpointSlice:
		s.services.applySlice(s.gaps.sighting(e), o)
	case *event.Endpoints:
		s.services.applyEndpoints(s.gaps.sighting(e), o)
	}
}

// applyPod updates a pod, its addresses and its node.
func (s *Study) applyPod(e event.Event, o *event.Pod) {
	p, is := s.pods.apply(s.gaps.sighting(e), o)
	if is.evicted {
		s.services.keep(p, e.Seen)
	}
	if is.marked {
		s.services.hold(p, e.Seen)
	}
	if n := s.nodes[p.node]; n != nil && is.unmarked {
		n.podIsBack(e.Seen)
	}
}

// watch records changes in the state of kubeflap's watches.
func (s *Study) watch(e event.Event) {
	switch {
	case e.Type == event.Unavailable && e.Kind == event.KindEndpointSlice:
		s.services.useEndpoints()
	case e.Type == event.Synced:
		if e.Kind == s.services.kind && !s.gaps.synced[e.Kind] {
			s.services.listed()
		}
		s.relisted(e)
	}
	s.gaps.apply(e)
}

// anyBeat records that some node sent a heartbeat at the time t.
func (s *Study) anyBeat(t time.Time) {
	if !s.lastBeat.IsZero() && t.Sub(s.lastBeat) > usualInterval && len(s.nodes) > 1 {
		s.quiet = append(s.quiet, interval{s.lastBeat, t})
	}
	s.lastBeat = t
}

// applyLeader records a new leader of the kube-controller-manager. A new leader restarts the grace period of every
// node.
func (s *Study) applyLeader(e event.Event, l *event.ControlPlaneLease) {
	if l.Name != event.LeaseControllerManager || l.Holder == "" {
		return
	}
	if s.leader != "" && s.leader != l.Holder {
		s.led = append(s.led, e.Seen)
	}
	s.leader = l.Holder
}

// Finish completes the Study after the last event of the recording. Do not call Apply after Finish.
func (s *Study) Finish() {
	s.gaps.finish()
	if s.end.After(s.lastBeat) {
		s.anyBeat(s.end)
	}
	for _, n := range s.nodes {
		if n.exists {
			n.endSilence(s, s.end, endOpen)
		}
	}
	slices.SortStableFunc(s.silences, func(a, b *silence) int {
		if c := a.from.Compare(b.from); c != 0 {
			return c
		}
		return compareText(a.node, b.node)
	})
	s.dark = slices.DeleteFunc(slices.Clone(s.quiet), func(x interval) bool { return !overlaps(s.gaps.blind, x.from, x.to) })
	s.quiet = slices.DeleteFunc(s.quiet, func(x interval) bool { return overlaps(s.gaps.blind, x.from, x.to) })
	for _, all := range s.kept {
		if last := &all[len(all)-1]; last.to.IsZero() {
			last.to = s.gaps.nodesSeenUntil(s.end)
		}
	}
	for _, x := range s.silences {
		x.blind = overlaps(s.gaps.blind, x.from, x.to)
		x.shortest, x.longest = s.gaps.bounds(x)
		x.stayed = s.stayedReady(x)
		x.newLeader = slices.ContainsFunc(s.led, func(t time.Time) bool { return t.After(x.from) && t.Before(x.to) })
		x.failed = x.failed || x.end == endOpen && !x.marked.IsZero() || x.to.Sub(x.from) > failedAfter
	}
	s.pods.findReplacements(s.markedAt)
	s.services.finish(s.begin)
}

// Recorded returns the settings during the recording. known is true if the user specified the grace period, or if the
// controller manager's pod shows it.
func (s *Study) Recorded() (x Settings, known bool) {
	found := s.grace.Current()
	x = Settings{GracePeriod: found.Period, MonitorPeriod: DefaultMonitorPeriod, Toleration: AsRecorded}
	for _, flag := range s.grace.Flags(nil) {
		if flag.Name == "node-monitor-period" && flag.Value > 0 {
			x.MonitorPeriod = max(time.Duration(flag.Value*float64(time.Second)), MinMonitorPeriod)
		}
	}
	return x, found.Source == grace.SourceFlag || found.Source == grace.SourceControllerManager
}
