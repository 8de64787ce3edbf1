package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// single adds a Service whose only pod runs on a node.
func (s *fakeCluster) single(node int) *fakeCluster {
	service := s.service("single", true)
	service.start(s, s.nodes[node-1]).serve()
	service.fill()
	return s
}

// only returns the only incident.
func (r *restarted) only() incident.Incident {
	r.t.Helper()
	all := r.incidents()
	if len(all) != 1 {
		r.t.Fatalf("got %d incidents, want one: %+v", len(all), all)
	}
	return all[0]
}

// TestAnOutageLastsThroughRestarts restarts kubeflap twice while a Service has no ready address. The new processes
// never saw a ready address, but the outage must continue to count until it ends.
func TestAnOutageLastsThroughRestarts(t *testing.T) {
	r := newRestarted(t, newFakeCluster(9).silence(300, 4000, 5).single(5))
	r.runUntil(3300)
	r.restart(3330)
	down := func(at float64) time.Duration {
		r.t.Helper()
		r.runUntil(at)
		x := r.only()
		s := x.Services[0]
		if s.Name != "single" || x.Outages != 1 || x.OutageTime != s.OutageTime {
			t.Errorf("at %g s: %d outages of %s, the longest %s", at, x.Outages, x.OutageTime, s.OutageTime)
		}
		if s.Down != (at < 4000) {
			t.Errorf("at %g s: %+v", at, s)
		}
		if s.Down && !strings.Contains(x.Summary, "has had none for ") || strings.Contains(x.Summary, "no heartbeat for 68") {
			t.Errorf("at %g s: %s", at, x.Summary)
		}
		return s.OutageTime.Round(time.Second)
	}
	began := 3300*time.Second - down(3331) + 31*time.Second
	if got, want := down(3600), 3600*time.Second-began; (got - want).Abs() > 2*time.Second {
		t.Errorf("down for %s, want %s", got, want)
	}
	r.restart(3700)
	if got, want := down(3900), 3900*time.Second-began; (got - want).Abs() > 3*time.Second {
		t.Errorf("after the second restart: down for %s, want %s", got, want)
	}
	if got, want := down(4400), 4010*time.Second-began; (got - want).Abs() > 15*time.Second {
		t.Errorf("in the end: down for %s, want about %s", got, want)
	}
	if x := r.only(); x.State != incident.StateEnded || x.End.Before(storyBegin.Add(4000*time.Second)) {
		t.Errorf("%s, ended at %s", x.State, x.End)
	}
}

// TestAnOutageThatOutlastsItsNode covers a node that returns during the restart, while its Service still has no ready
// address. No current incident shows this.
func TestAnOutageThatOutlastsItsNode(t *testing.T) {
	r := newRestarted(t, newFakeCluster(9).silence(300, 520, 5).single(5))
	r.runUntil(400)
	before := r.only()
	r.restart(522)
	r.runUntil(523)
	if x := r.only(); x.ID != before.ID || x.State != incident.StateRunning {
		t.Errorf("just after the restart: %+v", x)
	}
	r.runUntil(900)
	if x := r.only(); x.ID != before.ID || x.State != incident.StateEnded || x.Services[0].Down || x.Outages != 1 {
		t.Errorf("in the end: %+v", x)
	}
	last := r.reported[len(r.reported)-1]
	if n := strings.Count(r.notices(), "ended"); n != 1 || last.Incident.Outages != 1 {
		t.Errorf("reported %s, with %d outages", r.notices(), last.Incident.Outages)
	}
}

// TestPodsThatAreStillNotReadyAfterARestart restarts kubeflap while the only pod of a Service is not ready. No list
// shows that it ever was.
func TestPodsThatAreStillNotReadyAfterARestart(t *testing.T) {
	for _, pods := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d pods", pods), func(t *testing.T) {
			c := newFakeCluster(9)
			service := c.service("solo", true)
			var broken *fakePod
			for i := range pods {
				broken = service.start(c, c.nodes[i])
				broken.serve()
			}
			service.fill()
			r := newRestarted(t, c)
			c.at(360, func() { broken.setReady(c, false, "ContainersNotReady") })
			c.at(1000, func() { broken.setReady(c, true, "") })
			r.runUntil(500)
			before := r.only()
			r.restart(520)
			for _, at := range []float64{521, 700, 990} {
				r.runUntil(at)
				if x := r.only(); x.ID != before.ID || x.State != incident.StateRunning || !x.End.IsZero() || x.Services[0].Down != (pods == 1) {
					t.Errorf("at %g s: %+v", at, x)
				}
			}
			r.runUntil(1200)
			x := r.only()
			if x.State != incident.StateEnded || x.End.Sub(storyBegin) < 1000*time.Second || strings.Contains(x.Summary, "not watching") {
				t.Errorf("in the end: %+v", x)
			}
			if n := r.notices(); strings.Count(n, "ended") != 1 {
				t.Errorf("reported %s", n)
			}
		})
	}
}

// TestALaterIncidentDoesNotContinueARecoveredOne restarts kubeflap long after a node has recovered, when the node is
// silent again.
func TestALaterIncidentDoesNotContinueARecoveredOne(t *testing.T) {
	r := newRestarted(t, newFakeCluster(9).silence(300, 400, 5).silence(9000, 20000, 5))
	r.runUntil(450)
	before := r.only()
	r.restart(9200)
	r.runUntil(9300)
	all := r.incidents()
	if len(all) != 2 || all[0].ID == before.ID || all[1].ID != before.ID || !all[1].End.Equal(before.End) || all[1].State != incident.StateEnded {
		t.Errorf("got %+v", all)
	}
	if strings.Contains(all[1].Summary, "not watching") {
		t.Error(all[1].Summary)
	}
}

// TestTheRemedyFollowsALongSilence restarts kubeflap while a node is down. The remedy must fit the length of the
// silence.
func TestTheRemedyFollowsALongSilence(t *testing.T) {
	withoutRaceDetector(t)
	r := newRestarted(t, newFakeCluster(9).silence(300, 4000, 5))
	r.runUntil(3300)
	before := r.only()
	r.restart(3330)
	r.runUntil(3500)
	after := r.only()
	if after.Remedy != before.Remedy || after.Numbers.LongestInterval <= before.Numbers.LongestInterval {
		t.Errorf("before: %s (%s)\nafter: %s (%s)", before.Remedy, before.Numbers.LongestInterval, after.Remedy, after.Numbers.LongestInterval)
	}
}

// TestTheLastSecondsBeforeARestartAreKept stops kubeflap when a Service has just lost its last address.
func TestTheLastSecondsBeforeARestartAreKept(t *testing.T) {
	for _, stops := range []bool{false, true} {
		t.Run(fmt.Sprintf("stops by itself: %v", stops), func(t *testing.T) {
			r := newRestarted(t, newFakeCluster(9).silence(300, 4000, 5).single(5))
			for at := 330.0; at < 400; at++ {
				if r.runUntil(at); len(r.incidents()) > 0 && r.only().Outages > 0 {
					break
				}
			}
			wait := 2.0
			if stops {
				wait = 0
			}
			r.runUntil(r.cluster.second() + wait)
			before := r.only()
			r.stops = stops
			r.restart(r.cluster.second() + 5)
			r.runUntil(r.cluster.second() + 5)
			after := r.only()
			if after.Lost < before.Lost || after.Outages < before.Outages || after.Turned < before.Turned || before.Outages == 0 {
				t.Errorf("before: %d lost, %d outages, turned %d times; after: %d, %d, %d",
					before.Lost, before.Outages, before.Turned, after.Lost, after.Outages, after.Turned)
			}
			if strings.Contains(after.Summary, "no Service lost") {
				t.Error(after.Summary)
			}
		})
	}
}

// TestAnIncidentThatIsSeenAsSeveralStaysOne restarts kubeflap while some of the nodes of one incident return. The
// others are too few to be one incident again.
func TestAnIncidentThatIsSeenAsSeveralStaysOne(t *testing.T) {
	for name, c := range map[string]*fakeCluster{
		"two of three": newFakeCluster(12).silence(300, 2000, 4, 5).silence(300, 450, 6),
		"two of five":  newFakeCluster(12).silence(300, 2000, 4, 5).silence(300, 450, 6, 8, 9),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRestarted(t, c)
			r.runUntil(400)
			before := r.only()
			r.restart(600)
			for _, at := range []float64{601, 700, 1900} {
				r.runUntil(at)
				if x := r.only(); x.ID != before.ID || x.State != incident.StateRunning || x.Verdict != before.Verdict || len(x.Nodes) != len(before.Nodes) {
					t.Errorf("at %g s: %+v, want %s with %d nodes", at, x, before.ID, len(before.Nodes))
				}
			}
			for _, also := range r.only().Also {
				if x, ok := r.pipeline.cluster("").Incident(also); !ok || x.ID != before.ID {
					t.Errorf("%s opens %v %s, want %s", also, ok, x.ID, before.ID)
				}
			}
			r.runUntil(2300)
			if x := r.only(); x.State != incident.StateEnded {
				t.Errorf("in the end: %s", x.State)
			}
			if n := r.notices(); strings.Count(n, "continued") != 1 || strings.Count(n, "ended control plane") != 1 || strings.Count(n, "ended") != 1 {
				t.Errorf("reported %s", n)
			}
		})
	}
}

// TestTwoRestartsInARow kills the second process before it knows whether the incident is still ongoing.
func TestTwoRestartsInARow(t *testing.T) {
	r := newRestarted(t, newFakeCluster(9).silence(300, 450, 5))
	r.runUntil(400)
	r.restart(600)
	r.runUntil(640)
	r.restart(900)
	r.runUntil(1100)
	x := r.only()
	if x.State != incident.StateEnded || !strings.Contains(x.Summary, "for at least 106.5s") || r.ends(x.ID) != 1 {
		t.Errorf("%s, reported %s: %s", described(x), r.notices(), x.Summary)
	}
	if got := blindSpans(x); len(got) != 1 || got[0][1] != 600 {
		t.Errorf("blind %v, want until 600 s", got)
	}
}

// TestListsStayShortAfterManyRestarts restarts kubeflap 30 times during one incident.
func TestListsStayShortAfterManyRestarts(t *testing.T) {
	withoutRaceDetector(t)
	r := newRestarted(t, newFakeCluster(9).silence(300, 90000, 5).single(5))
	r.runUntil(400)
	for i := range 30 {
		r.restart(400 + float64(i+1)*130)
		r.runUntil(r.cluster.second() + 100)
	}
	x := r.only()
	if len(x.Evidence) > 36 || x.EvidenceLeftOut == 0 || len(x.Timeline) > 96 || x.Outages != 1 {
		t.Errorf("%d evidence entries and %d more, %d timeline intervals, %d outages", len(x.Evidence), x.EvidenceLeftOut, len(x.Timeline), x.Outages)
	}
	if !slices.IsSortedFunc(x.Evidence, func(a, b incident.Evidence) int { return a.Time.Compare(b.Time) }) {
		t.Error("the evidence is not sorted")
	}
}
