package correlate

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func TestOneLateNodeIsAnIncidentOfThatNode(t *testing.T) {
	s := newScenario(t)
	s.at(10).beats("node-1", "node-2", "node-3", "node-4")
	s.at(50).misses(40, "node-1").turns("node-1", event.StatusTrue, event.StatusUnknown)
	s.at(50.1).loses(cause.NodeHeartbeatLost, "pod-1", "pod-2")
	s.at(55)
	x := s.only()
	is(t, x, incident.StateOngoing, incident.ScopeNode, cause.NodeHeartbeatLost, "node-1")
	equal(t, "longest interval so far", time.Duration(x.Numbers.LongestInterval), seconds(45))

	s.at(60).returns(50, "node-1").turns("node-1", event.StatusUnknown, event.StatusTrue)
	equal(t, "state with addresses out", s.only().State, incident.StateOngoing)
	s.at(65).regains("pod-1", "pod-2")
	s.at(66)
	x = s.only()
	is(t, x, incident.StateRecovered, incident.ScopeNode, cause.NodeHeartbeatLost, "node-1")
	equal(t, "start", x.Start, zero.Add(seconds(50)))
	equal(t, "end", x.End.Time, zero.Add(seconds(65)))
	equal(t, "lost", x.Lost, 2)
	equal(t, "recommended: twice the longest interval", time.Duration(x.Numbers.RecommendedGracePeriod), 100*time.Second)
	if !strings.Contains(x.Remedy, "set the kube-controller-manager's --node-monitor-grace-period to 100s. It is currently 40s, and the longest interval of the last day was 50s") {
		t.Error(x.Remedy)
	}
	equal(t, "state after a while", s.at(65+121).only().State, incident.StateResolved)
}

// TestOnlyAFinalIncidentClaimsThatNothingWasLost checks that a summary does not say what did not happen as long as it can
// still happen. A recording that has ended adds nothing.
func TestOnlyAFinalIncidentClaimsThatNothingWasLost(t *testing.T) {
	s := newScenario(t)
	s.at(0).beats("node-1", "node-2", "node-3", "node-4")
	s.at(50).misses(40, "node-1")
	lost := func(what, lasting string, claims bool) {
		x := s.only()
		equal(t, what, x.Lasting(), lasting)
		if strings.Contains(x.Summary, "no Service lost") != claims || strings.Contains(x.Summary, "did not set Ready") != claims {
			t.Errorf("%s: %s", what, x.Summary)
		}
	}
	lost("ongoing", "for 0s so far", false)
	s.at(53)
	lost("ongoing", "for 3s so far", false)
	s.at(55).returns(45, "node-1")
	lost("recovered", "after 5s", false)
	s.at(55 + 121)
	lost("resolved", "after 5s", true)

	s = newScenario(t)
	s.at(0).beats("node-1", "node-2").at(50).misses(40, "node-1").at(53)
	s.RecordingEnds()
	lost("ongoing at the end of a recording", "for 3s until the recording ended", true)
}

func TestAFlapSoonAfterIsTheSameIncidentAndALaterOneIsNot(t *testing.T) {
	s := newScenario(t)
	s.at(0).beats("node-1", "node-2", "node-3", "node-4")
	s.at(50).misses(40, "node-1").at(52).returns(42, "node-1")
	first := s.only().ID
	s.at(150).misses(40, "node-1").at(152).returns(42, "node-1")
	equal(t, "the same", s.only().ID, first)
	s.at(300).misses(40, "node-1")
	all := s.Incidents(s.now)
	equal(t, "incidents", len(all), 2)
	equal(t, "running on top", all[0].State, incident.StateOngoing)
	equal(t, "the first has ended", all[1].ID, first)
}

func TestANodeThatStaysAwayHasItsOwnIncidentDespiteAShortGracePeriod(t *testing.T) {
	s := newScenario(t)
	s.at(5).beats("node-1", "node-2", "node-3")
	s.at(15).misses(10, "node-1").turns("node-1", event.StatusTrue, event.StatusUnknown)
	s.at(40)
	all := s.Incidents(s.now)
	equal(t, "incidents", len(all), 2)
	is(t, all[0], incident.StateOngoing, incident.ScopeNode, cause.NodeHeartbeatLost, "node-1")
	is(t, all[1], incident.StateRecovered, incident.ScopeControlPlane, cause.NodeHeartbeatLost, "kube-controller-manager")
}

func TestTurnsToFalseDoNotCountAsUnknown(t *testing.T) {
	s := newScenario(t).at(0).beats("node-1")
	for i := range 5 {
		at := 10 + 20*float64(i)
		s.at(at).turns("node-1", event.StatusTrue, event.StatusFalse).at(at+5).beats("node-1").turns("node-1", event.StatusFalse, event.StatusTrue)
	}
	s.at(140).misses(40, "node-1").at(141).turns("node-1", event.StatusTrue, event.StatusUnknown)
	s.at(160).returns(60, "node-1").turns("node-1", event.StatusUnknown, event.StatusFalse).at(161).turns("node-1", event.StatusFalse, event.StatusTrue)
	x := s.only()
	equal(t, "turned not Ready or Unknown", x.Turned, 7)
	if !strings.Contains(x.Summary, "Ready turned Unknown once.") {
		t.Error(x.Summary)
	}
}

func TestServicesLeftOutCountOnceAndTheirOutagesCount(t *testing.T) {
	s := newScenario(t).at(0).beats("node-1").at(40).misses(40, "node-1")
	for i := range 600 {
		s.sees(s.ofNode(fmt.Sprintf("web-%d", i%60), fmt.Sprintf("pod-%d", i), "node-1"))
	}
	for i := range 60 {
		s.sees(transition.OutageStarted{At: s.is(), Service: transition.Service{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)}, Cause: cause.NodeHeartbeatLost})
	}
	s.at(50)
	x := s.only()
	equal(t, "listed", len(x.Services), 50)
	equal(t, "left out", x.ServicesLeftOut, 10)
	equal(t, "outages", time.Duration(x.OutageTime), 600*time.Second)
}

func TestNodesAndServicesLeftOutCountOnceInMergedIncidents(t *testing.T) {
	nodes := nodesNamed(4)
	s := newScenario(t).at(0).beats(nodes...).at(40).misses(40, nodes[0])
	for i := range 120 {
		s.sees(s.ofNode(fmt.Sprintf("web-%d", i%60), fmt.Sprintf("pod-%d", i), nodes[0]))
	}
	s.at(41).misses(40, nodes[1])
	for i := range 120 {
		s.sees(s.ofNode(fmt.Sprintf("web-%d", 20+i%60), fmt.Sprintf("pod-%d", i), nodes[1]))
	}
	s.at(42).misses(40, nodes[2])
	x := s.only()
	equal(t, "Services", len(x.Services)+x.ServicesLeftOut, 80)
}

// kept returns the number of nodes in a map.
func (s *scenario) kept(of string) int { return reflect.ValueOf(s.nodes).Elem().FieldByName(of).Len() }

func TestOfHealthyNodesNothingIsKept(t *testing.T) {
	names := nodesNamed(5)
	s := newScenario(t).at(0).beats(names...)
	equal(t, "nodes that beat", s.kept("troubled"), 0)
	s.at(40).misses(40, names[0]).at(42).returns(42, names[0])
	for i := range 15 {
		s.at(60 * float64(i+1)).beats(names...)
	}
	equal(t, "a while after one was away", s.kept("troubled"), 0)
	s.at(1000).misses(40, names[0], names[1])
	equal(t, "two of five", s.Incidents(s.now)[0].Scope, incident.ScopeNode)
	s.sees(transition.NodeRemoved{OfNode: transition.OfNode{At: s.is(), Node: names[4]}})
	s.at(1001).misses(40, names[2])
	equal(t, "three of four", s.Incidents(s.now)[0].Scope, incident.ScopeControlPlane)
}
