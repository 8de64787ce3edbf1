package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

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

// TestTwoRestartsInARow restarts kubeflap again soon after an incident that ended while it was not running.
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
	(&restartStory{restarts: [][2]float64{{400, 600}}}).checkBlind(t, x)
}

// TestListsStayShortAfterManyRestarts restarts kubeflap 30 times during one incident.
func TestListsStayShortAfterManyRestarts(t *testing.T) {
	withoutRaceDetector(t)
	r := newRestarted(t, told(t, "start 9; 0 service single 5; 300 silent 5 until 90000"))
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

// TestForbiddenNodesEndNoIncident restarts kubeflap when it is no longer allowed to see nodes. Nobody knows then
// whether the node is still silent.
func TestForbiddenNodesEndNoIncident(t *testing.T) {
	c := newFakeCluster(9).silence(300, 3000, 5)
	r := newRestarted(t, c)
	r.runUntil(400)
	r.kill()
	c.runUntil(410)
	r.begin()
	c.lacks(event.KindNode, event.ReasonForbidden)
	c.watch()
	r.runUntil(900)
	if x := r.only(); x.State != incident.StateRunning {
		t.Errorf("%s while nodes are forbidden: %s", x.State, x.Summary)
	}
	c.lacks(event.KindNode, "")
	c.list(event.KindNode)
	r.runUntil(3300)
	for _, x := range r.incidents() {
		if slices.Contains(x.Nodes, "node-5") && (x.State != incident.StateEnded || r.ends(x.ID) != 1 || x.End.Sub(storyBegin) < 50*time.Minute) {
			t.Errorf("%s at %s, reported %d times: %s", x.State, x.End, r.ends(x.ID), x.Summary)
		}
	}
}

// slowly restarts kubeflap at a second. It lists one resource only later.
func (r *restarted) slowly(second float64, k event.Kind, later float64) {
	r.kill()
	c := r.cluster
	c.runUntil(second)
	r.begin()
	c.sink(event.Event{Seen: c.now, Kind: event.KindCluster, Type: event.Listed, Object: &event.Cluster{Version: c.version}})
	for _, x := range append(event.Kinds(), event.KindControlPlaneLease) {
		if x != k {
			c.list(x)
		}
	}
	c.watches[k].down = true
	c.at(later, func() { c.watches[k].down = false; c.list(k) })
}

// TestAListArrivesLate restarts kubeflap during an incident. The node returns before the last list is complete, and
// fails again hours later.
func TestAListArrivesLate(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for _, k := range []event.Kind{event.KindEndpointSlice, event.KindService, event.KindPod} {
		t.Run(k.String(), func(t *testing.T) {
			cluster := func() *fakeCluster { return newFakeCluster(9).silence(300, 615, 5).silence(9000, 9400, 5) }
			truth, r := newRestarted(t, cluster()), newRestarted(t, cluster())
			r.runUntil(600)
			r.stops = true
			r.slowly(610, k, 640)
			for _, at := range []float64{700, 2000, 9200, 9900} {
				truth.runUntil(at)
				r.runUntil(at)
				sameAsTruth(t, at, 40*time.Second, truth.incidents(), r.incidents())
			}
			sameEnds(t, truth, r)
		})
	}
}

// TestRestartsWithoutPermissions restarts a kubeflap that may not watch one resource, such as nodes with --namespace.
// The incident of a workload must end nevertheless.
func TestRestartsWithoutPermissions(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for name, lacking := range map[string][]event.Kind{
		"without nodes": {event.KindNode, event.KindLease}, "without slices": {event.KindEndpointSlice}, "without Endpoints": {event.KindEndpoints},
		"without Leases": {event.KindLease}, "without Services": {event.KindService}, "without pods": {event.KindPod},
	} {
		for when, back := range map[string]float64{"returns later": 460, "returns in the gap": 402} {
			t.Run(name+", "+when, func(t *testing.T) {
				cluster := func() *fakeCluster {
					c := told(t, fmt.Sprintf("start 9; 0 service solo 1; 360 unready solo/1 until %g", back))
					for _, k := range lacking {
						c.lacks(k, event.ReasonForbidden)
					}
					return c
				}
				truth, r := newRestarted(t, cluster()), newRestarted(t, cluster())
				r.runUntil(400)
				r.stops = true
				r.restart(405)
				end := float64(few(3000, 1200))
				truth.runUntil(end)
				r.runUntil(end)
				a, b := truth.incidents(), r.incidents()
				if len(a) != len(b) || len(a) > 0 && (a[0].ID != b[0].ID || a[0].State != b[0].State) {
					t.Errorf("got %+v, want %+v; %s", b, a, r.notices())
				}
			})
		}
	}
}

// TestKubeflapIsKilledEverySecond kills kubeflap again and again, before and after it knows whether its incident is
// ongoing.
func TestKubeflapIsKilledEverySecond(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for _, every := range []float64{61, 7, 1.5, 1, 0.5}[:few(5, 3)] {
		c := told(t, "start 9; 0 service single 5; 300 silent 5 until 700")
		r := newRestarted(t, c)
		r.runUntil(400)
		id := r.only().ID
		for at := 400.0; at < 690-every; at += every + 0.5 {
			r.restart(at + 0.5)
			r.runUntil(at + 0.5 + every)
			if x := r.only(); x.ID != id || x.State != incident.StateRunning || x.Outages != 1 {
				t.Fatalf("every %g: at %g %s, %d outages", every, at, described(x), x.Outages)
			}
		}
		r.runUntil(1000)
		x := r.only()
		if x.ID != id || x.State != incident.StateEnded || r.ends(id) != 1 || x.Outages != 1 || x.OutageTime > 370e9 {
			t.Errorf("every %g: %s %d ends, %d outages of %s", every, described(x), r.ends(id), x.Outages, x.OutageTime)
		}
		r.kill()
	}
}

// TestARestartWithMoreNodesThanAnIncidentLists restarts kubeflap in an incident with more nodes than an incident lists.
func TestARestartWithMoreNodesThanAnIncidentLists(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	var most, few []int
	for i := range 130 {
		if most = append(most, i+1); i >= 125 {
			few = append(few, i+1)
		}
	}
	cluster := func() *fakeCluster {
		return newFakeCluster(140).silence(300, 700, most[:125]...).silence(300, 1500, few...)
	}
	truth, r := newRestarted(t, cluster()), newRestarted(t, cluster())
	r.runUntil(500)
	r.stops = true
	r.restart(510)
	for i, at := range []float64{515, 650, 900, 1400, 1900} {
		if i == 2 {
			r.runUntil(800)
			r.restart(805)
		}
		truth.runUntil(at)
		r.runUntil(at)
		if a, b := truth.incidents(), r.incidents(); len(a) != len(b) || a[0].ID != b[0].ID || a[0].State != b[0].State || len(a[0].Nodes)+a[0].NodesLeftOut != len(b[0].Nodes)+b[0].NodesLeftOut {
			t.Errorf("at %g: got %d incidents, the first is %s, want %d, %s", at, len(b), described(b[0]), len(a), described(a[0]))
		}
	}
}
