package correlate

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func (s *scenario) on(node string) transition.OfNode {
	return transition.OfNode{At: s.is(), Node: node}
}

// silent9 lets node-0 of nine nodes miss its heartbeats from the start on.
func (s *scenario) silent9() *scenario {
	return s.at(0).beats(nodesNamed(9)...).at(40).misses(40, "node-0")
}

// breaks breaks the watch of Leases, which worked until `since`.
func (s *scenario) breaks(since float64) *scenario {
	return s.sees(transition.WatchBroke{At: s.is(), Resource: event.KindLease, Reason: event.ReasonRefused, Since: zero.Add(seconds(since))})
}

func (s *scenario) works(blind float64) *scenario {
	return s.sees(transition.WatchWorks{At: s.is(), Resource: event.KindLease, Blind: seconds(blind)})
}

func (s *scenario) marked(node string, age float64) *scenario {
	return s.sees(transition.NodeReadyChanged{
		OfNode: s.on(node), From: event.StatusTrue, To: event.StatusUnknown, Silence: seconds(age),
		Loss: transition.NodeLoss{NodeFacts: transition.NodeFacts{MarkedAge: seconds(age)}, GracePeriod: 40 * time.Second},
	})
}

func (s *scenario) inTime(node string) *scenario {
	return s.sees(transition.HeartbeatsWereInTime{OfNode: s.on(node), Silence: 40 * time.Second})
}

// TestAMergedIncidentWasBlindUntilKubeflapWatchedAgain merges incidents while kubeflap does not watch.
func TestAMergedIncidentWasBlindUntilKubeflapWatchedAgain(t *testing.T) {
	s := newScenario(t).silent9().at(41).misses(40, "node-1")
	s.at(50).sees(transition.WatchBroke{At: s.is(), Resource: event.KindLease, Reason: event.ReasonNotRunning, Since: zero.Add(seconds(45))})
	s.at(51).misses(50, "node-2").at(60).works(15)
	blind := 0
	for _, x := range s.only().Timeline {
		if x.Track == incident.TrackBlind {
			blind++
			equal(t, "end", x.End.Time, s.now)
		}
	}
	equal(t, "blind spans", blind, 2)
}

func TestWhatKubeflapDidNotSee(t *testing.T) {
	for _, c := range []struct {
		name          string
		play          func(s *scenario)
		verdict, says string
	}{
		{"the watch breaks long after", func(s *scenario) { s.at(90).breaks(81) }, "node", "sent no heartbeat for"},
		{"the watch breaks at once, so the node may have sent heartbeats", func(s *scenario) { s.at(42).breaks(39) }, "undecided", ""},
		{"the silence ends in the break", func(s *scenario) {
			s.at(110).breaks(100).at(370).works(270).at(380).sees(transition.HeartbeatsResumed{OfNode: s.on("node-0")})
		}, "node", "sent no heartbeat for at least 100s"},
		{"the silence spans the break", func(s *scenario) { s.at(110).breaks(100).at(370).works(270).at(380).returns(380, "node-0") }, "node", "sent no heartbeat for 6m20s"},
		{"only the watch was late", func(s *scenario) { s.at(41).inTime("node-0") }, "undecided", "The watch delivered events late"},
		{"only the watch was late, but the node controller marked the node", func(s *scenario) { s.at(41).marked("node-0", 41).at(42).inTime("node-0") }, "undecided", "Ready turned Unknown"},
		{"the clock was set back", func(s *scenario) {
			s.at(41).sees(transition.ClockSetBack{OfNode: s.on("node-0"), By: 2 * time.Minute})
		}, "node", "The clock of node node-0 was set back by 2m,"},
		{"the node controller leaves silent nodes Ready", func(s *scenario) {
			s.at(60).sees(transition.NodeNotMarked{OfNode: s.on("node-0"), Silence: time.Minute, Certain: true})
			s.at(300).misses(40, "node-1").at(320).sees(transition.NodeNotMarked{OfNode: s.on("node-1"), Silence: time.Minute, Certain: true})
		}, "controller_manager", "left 2 silent nodes Ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScenario(t).silent9()
			c.play(s)
			x := s.only()
			equal(t, "verdict", x.Verdict.String(), c.verdict)
			equal(t, "at least", x.Numbers.LongestAtLeast, strings.Contains(c.says, "at least"))
			if !strings.Contains(x.Summary, c.says) || t.Failed() {
				t.Errorf("%q is not in %q; %v", c.says, x.Summary, x.Considered)
			}
			if x.Withdrawn != "" {
				equal(t, "withdrawn", x.State, incident.StateWithdrawn)
				equal(t, "resolved", len(s.Standings(s.now, ledger.Standings{}).Resolved), 0)
			}
		})
	}
}

// TestOneNodeIsLeftOfSeveral withdraws two of three silences that began together.
func TestOneNodeIsLeftOfSeveral(t *testing.T) {
	for name, before := range map[string]func(s *scenario){
		"that are in no other incident": func(*scenario) {},
		"that were not Ready before": func(s *scenario) {
			s.turns("node-1", event.StatusTrue, event.StatusFalse).turns("node-2", event.StatusTrue, event.StatusFalse)
		},
	} {
		s := newScenario(t).at(-200).beats(nodesNamed(9)...)
		before(s.at(-100))
		s.at(0).beats(nodesNamed(9)...).at(40).misses(40, "node-0").at(41).misses(40, "node-1").at(42).misses(40, "node-2")
		s.at(51).inTime("node-1").at(52).inTime("node-2").at(70)
		left := 0
		for _, x := range s.Incidents(s.now) {
			if x.Subject == "node-0" && x.Scope == incident.ScopeNode {
				left++
			}
			if x.Scope == incident.ScopeControlPlane {
				t.Errorf("%s: %s %s", name, x.Subject, x.Summary)
			}
		}
		equal(t, name, left, 1)
	}
}

// TestAKubeletThatComplainedBeforeKubeflapStarted lets it be well again, and something else happen soon.
func TestAKubeletThatComplainedBeforeKubeflapStarted(t *testing.T) {
	for name, next := range map[string]func(*scenario){
		"nothing else":      func(*scenario) {},
		"the watch is late": func(s *scenario) { s.misses(40, "node-1").at(41).inTime("node-1") },
		"somebody restarts the kubelet": func(s *scenario) {
			s.sees(transition.PodReadyChanged{At: s.is(), Pod: ofWeb("web-1").Pod, From: event.StatusTrue, To: event.StatusFalse, Cause: cause.KubeletRestart})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScenario(t).at(0)
			s.sees(transition.NodeFoundNotReady{OfNode: s.on("node-1"), Since: zero.Add(-time.Hour), Says: event.Words{Message: "PLEG is not healthy"}})
			is(t, s.only(), incident.StateOngoing, incident.ScopeNode, cause.NodeNotReady, "node-1")
			next(s.at(10).turns("node-1", event.StatusFalse, event.StatusTrue).at(40))
			s.at(50)
			x := s.only()
			is(t, x, incident.StateRecovered, incident.ScopeNode, cause.NodeNotReady, "node-1")
			equal(t, "start", x.Start, zero.Add(-time.Hour))
			if want := `reported the node as not ready when kubeflap started ("PLEG is not healthy")`; !strings.Contains(x.Summary, want) {
				t.Errorf("%q is not in %q", want, x.Summary)
			}
		})
	}
}
