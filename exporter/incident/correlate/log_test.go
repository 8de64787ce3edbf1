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

func TestHealthyOperationsAreNoIncidents(t *testing.T) {
	cases := []struct {
		name string
		play func(*scenario)
	}{
		{"a roll-out that replaces pods", func(s *scenario) {
			s.at(1).adds("new-1").at(2).removes(cause.PodDeleted, "pod-1").at(3).adds("new-2").at(4).removes(cause.PodDeleted, "pod-2")
		}},
		{"a scale-down", func(s *scenario) { s.at(1).removes(cause.PodDeleted, "pod-1", "pod-2") }},
		{"a drain", func(s *scenario) { s.at(1).removes(cause.PodEvicted, "pod-1", "pod-2").at(5).adds("new-1", "new-2") }},
		{"completed pods", func(s *scenario) { s.at(1).loses(cause.PodCompleted, "pod-1") }},
		{"a roll-out in place that takes each address out once", func(s *scenario) {
			for i := range 100 {
				pod := fmt.Sprintf("pod-%d", i)
				s.at(float64(10*i)).loses(cause.InPlaceUpdate, pod).at(float64(10*i + 15)).regains(pod)
			}
		}},
		{"an address taken out by a readiness gate for a while", func(s *scenario) { s.at(1).loses(cause.ReadinessGate, "pod-1").at(60).regains("pod-1") }},
		{"a switch from blue to green", func(s *scenario) {
			s.at(1).adds("green-1", "green-2").at(1).removes(cause.ServiceChanged, "pod-1", "pod-2")
		}},
		{"a first start", func(s *scenario) {
			s.at(1).adds("pod-1").beats("node-1").turns("node-1", event.StatusFalse, event.StatusTrue)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScenario(t)
			c.play(s)
			for range 5 {
				s.now = s.now.Add(time.Minute)
				s.none()
			}
		})
	}
}

// TestAnEarlierSwitchDoesNotExcuseALoss checks that a Service whose selector changes twice must replace what it loses each time.
func TestAnEarlierSwitchDoesNotExcuseALoss(t *testing.T) {
	s := newScenario(t)
	s.at(1).adds("green-1", "green-2", "green-3", "green-4").at(1).removes(cause.ServiceChanged, "pod-1", "pod-2")
	s.at(60).none()
	s.removes(cause.ServiceChanged, "green-1", "green-2")
	s.at(90)
	equal(t, "lost by the second change", s.only().Lost, 2)
}

func TestALossThatIsExplainedLateClaimsItsOutage(t *testing.T) {
	s := newScenario(t)
	s.at(1.2)
	at := transition.At{Time: zero.Add(seconds(1))}
	s.Observe(transition.AddressLost{At: at, Address: ofWeb("pod-1"), Removed: true, Cause: cause.ManualWrite}, transition.OutageStarted{At: at, Service: shopWeb})
	s.regains("pod-1").outageOver(0.2)
	x := s.only()
	is(t, x, incident.StateRecovered, incident.ScopeService, cause.ManualWrite, "web")
	equal(t, "outages", x.Outages, 1)
	equal(t, "came back", x.Bounces, 1)
	equal(t, "end", x.End.Time, s.now)
}

func TestAnAddressThatReturnsAfterTheEndChangesNothing(t *testing.T) {
	s := newScenario(t)
	s.at(60).removes(cause.ManualWrite, "pod-1").outage().at(61).adds("pod-2").outageOver(1)
	ended := s.at(60 + 130).only()
	equal(t, "state", ended.State, incident.StateResolved)
	s.adds("pod-1")
	if x := s.only(); !reflect.DeepEqual(x, ended) {
		t.Errorf("it has become\n%+v\nand was\n%+v", x, ended)
	}
}

func TestEveryCauseHasASummaryAndARemedy(t *testing.T) {
	for _, why := range cause.All() {
		t.Run(why.String(), func(t *testing.T) {
			s := newScenario(t)
			s.at(1).loses(why, "pod-1").outage().at(2)
			x := s.only()
			equal(t, "cause", x.Cause.String(), why.String())
			if strings.Contains(x.Summary+x.Remedy, "%!") || len(x.Remedy) < 40 || len(x.Summary) < 30 {
				t.Errorf("summary %q, remedy %q", x.Summary, x.Remedy)
			}
		})
	}
}

func TestNothingIsKeptOfEndedIncidents(t *testing.T) {
	s := newScenario(t)
	s.at(0).beats("node-1").misses(40, "node-1").loses(cause.NodeHeartbeatLost, "pod-1").at(10).returns(50, "node-1").regains("pod-1")
	s.at(20).removes(cause.PodDeleted, "pod-2")
	s.at(2000).Incidents(s.now)
	equal(t, "left", kept(s.Log), 0)
}

func TestEvidenceIsBounded(t *testing.T) {
	s := newScenario(t)
	for i := range 1000 {
		s.at(float64(40*i)).loses(cause.ProbeFailed, "pod-1").at(float64(40*i + 20)).regains("pod-1")
	}
	x := s.only()
	equal(t, "evidence and what is left out", len(x.Evidence)+x.EvidenceLeftOut, 2000)
	equal(t, "evidence", len(x.Evidence), 36)
	equal(t, "timeline", len(x.Timeline), 96)
}
