package correlate

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
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
