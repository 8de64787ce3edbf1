package correlate

import (
	"slices"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// restarts returns a scenario that goes on with what this one knows.
func (s *scenario) restarts() *scenario {
	next := newScenario(s.t)
	next.Restore(s.Past(s.now), s.now)
	next.now = s.now
	return next
}

// TestRestartsInANodesIncident restarts kubeflap after a node has recovered, or its Service has an outage. What happens next
// belongs to the incident from before, which is only then reported.
func TestRestartsInANodesIncident(t *testing.T) {
	for _, test := range []struct {
		name string
		next func(*scenario)
	}{
		{"the kubelet reports the node as not ready", func(s *scenario) { s.turns("node-1", event.StatusTrue, event.StatusFalse) }},
		{"a pod is not Ready because of its node", func(s *scenario) { s.loses(cause.NodeNotReady, "web-1") }},
		{"the outage goes on", func(s *scenario) { s.outage() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScenario(t).at(60).misses(50, "node-1").turns("node-1", event.StatusTrue, event.StatusUnknown)
			id := s.removes(cause.NodeHeartbeatLost, "web-0").outage().only().ID
			s = s.at(70).returns(60, "node-1").turns("node-1", event.StatusUnknown, event.StatusTrue).restarts()
			s.none()
			test.next(s.at(80))
			equal(t, "ID", s.only().ID, id)
		})
	}
}

// TestALaterOutageIsNotTheOneFromBeforeTheRestart has two outages after a restart, while a node is still lost.
func TestALaterOutageIsNotTheOneFromBeforeTheRestart(t *testing.T) {
	s := newScenario(t).at(60).misses(50, "node-1").removes(cause.NodeHeartbeatLost, "web-0").outage().restarts()
	s.at(70).misses(60, "node-1").outage().at(80).adds("web-1").outageOver(20).at(4000).outage()
	equal(t, "incidents", len(s.Incidents(s.now)), 2)
}

// TestANodesOwnIncidentStandsAfterARestart restarts kubeflap while the kubelet of a node complains. Meanwhile, a stall has
// silenced this node and others. What the kubelet reports next belongs to the node's own incident, in any order of the two.
func TestANodesOwnIncidentStandsAfterARestart(t *testing.T) {
	for _, ownFirst := range []bool{true, false} {
		s := newScenario(t).at(0).beats(nodesNamed(9)...).at(30).turns("node-1", event.StatusTrue, event.StatusFalse)
		own := s.only().ID
		s.at(140).beats(nodesNamed(9)...).at(180).misses(40, "node-1", "node-2", "node-3").at(190).returns(50, "node-1", "node-2", "node-3")
		past := s.Past(s.now)
		equal(t, "incidents", len(past.Ongoing), 2)
		if !ownFirst {
			slices.Reverse(past.Ongoing)
		}
		next := newScenario(t)
		next.Restore(past, s.now)
		next.at(200).turns("node-1", event.StatusTrue, event.StatusFalse)
		equal(t, "ID", next.only().ID, own)
		is(t, next.only(), incident.StateOngoing, incident.ScopeNode, cause.NodeNotReady, "node-1")
	}
}

// TestTheLastFailureOutlastsARestart restarts kubeflap while one address is still lost, and another one, which was lost later, is
// ready again. A check of the time in between must not pass.
func TestTheLastFailureOutlastsARestart(t *testing.T) {
	s := newScenario(t).at(60).loses(cause.ProbeFailed, "web-1").at(100).loses(cause.ProbeFailed, "web-2").at(110).regains("web-2")
	before := s.only()
	equal(t, "last failure", before.LastFailure.Sub(before.Start), seconds(40))
	equal(t, "last failure", s.restarts().only().LastFailure, before.LastFailure)
}
