package archive

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

// nodeLost returns an ongoing incident: at 12:01 a node was lost, and with it the last address of a Service.
func nodeLost() incident.Incident {
	return incident.Incident{
		ID: "1111111111111111", Start: at(1), State: incident.StateRunning, Cause: cause.NodeHeartbeatLost, Scope: incident.ScopeNode, Subject: "node-1",
		Nodes: []string{"node-1"}, Lost: 2, Outages: 1, OutageTime: time.Minute, Turned: 1,
		Services: []incident.Service{{Namespace: "shop", Name: "web", Lost: 2, Outages: 1, OutageTime: time.Minute, Down: true}},
		Decision: verdict.Decision{Verdict: verdict.Node, Considered: []verdict.Considered{{Verdict: verdict.Node, Holds: verdict.Yes, Because: "the others were in time"}}},
		Numbers:  incident.Numbers{GracePeriod: 40 * time.Second, Windows: []advice.Window{{Length: time.Second, Bounces: 1}}},
		Open:     &incident.Open{Nodes: []string{"node-1"}, Outages: []incident.OpenOutage{{Namespace: "shop", Service: "web", Since: at(1)}}},
		Evidence: []incident.Evidence{{Time: at(1), Until: at(1), Count: 1, Text: "no heartbeat of node-1"}},
		Timeline: []incident.Span{{Track: incident.TrackNode, Name: "node-1", Start: at(1)}},
		Summary:  "Node node-1 sent no heartbeat.", Remedy: "Look at its kubelet.",
	}
}

func ended() incident.Incident {
	x := nodeLost()
	x.ID, x.State, x.Start, x.End, x.Subject, x.Nodes, x.Services = "2222222222222222", incident.StateEnded, at(-30), at(-20), "node-9", []string{"node-9"}, nil
	return x
}

// found returns the incident that the first lists show for the same outage after a restart at 12:05.
func found() incident.Incident {
	return incident.Incident{
		ID: "3333333333333333", Start: at(5), State: incident.StateRunning, Cause: cause.NodeHeartbeatLost, Scope: incident.ScopeNode, Subject: "node-1",
		Nodes: []string{"node-1"}, Outages: 1, OutageTime: 30 * time.Second,
		Services: []incident.Service{{Namespace: "shop", Name: "web", Outages: 1, OutageTime: 30 * time.Second, Down: true}},
		Evidence: []incident.Evidence{{Time: at(5), Until: at(5), Count: 1, Text: "node-1 was Unknown when kubeflap started"}},
		Summary:  "Node node-1 was Unknown when kubeflap started.",
	}
}

// lacking returns a cluster with these nodes that are not Ready, Services without a ready address, and addresses that
// are not ready.
func lacking(nodes []string, services []ServiceName, addresses []event.UID) *Cluster {
	return &Cluster{
		Lost:      func(name string, _ time.Time) (lost, beat bool) { return slices.Contains(nodes, name), false },
		Down:      func(s ServiceName) bool { return slices.Contains(services, s) },
		Failing:   func(s ServiceName) bool { return slices.Contains(services, s) },
		Out:       func(_ ServiceName, id event.UID) bool { return slices.Contains(addresses, id) },
		Diverging: func(ServiceName) bool { return false },
	}
}

func restarted(saved ...incident.Incident) *Archive {
	var all []Saved
	for _, x := range saved {
		all = append(all, Saved{at(2), x})
	}
	return New(all, at(3))
}

func TestAnIncidentThatStillLastsIsTheSame(t *testing.T) {
	a := restarted(ended(), nodeLost())
	a.Watching(at(5), WatchedKinds{true, true})
	all := a.Join(at(5), []incident.Incident{found()}, 500)
	if len(all) != 2 || all[1].ID != ended().ID {
		t.Fatalf("got %d incidents, want the one that lasts and the one that had ended: %+v", len(all), all)
	}
	x := all[0]
	if x.ID != nodeLost().ID || !slices.Equal(x.Also, []string{found().ID}) || !x.Start.Equal(at(1)) || x.State != incident.StateRunning {
		t.Errorf("got %s, also %v, since %v, %s: want the ID and the start from before", x.ID, x.Also, x.Start, x.State)
	}
	if x.Verdict != verdict.Node || x.Summary != nodeLost().Summary || x.Remedy != nodeLost().Remedy {
		t.Errorf("verdict %v, %q, %q: want those from before", x.Verdict, x.Summary, x.Remedy)
	}
	want := []incident.Service{{Namespace: "shop", Name: "web", Lost: 2, Outages: 2, OutageTime: 150 * time.Second, Down: true, Inexact: true}}
	if !reflect.DeepEqual(x.Services, want) || x.Outages != 2 || x.Lost != 2 {
		t.Errorf("Services %+v, %d outages, %d lost: want %+v, two outages and 2", x.Services, x.Outages, x.Lost, want)
	}
	var texts []string
	for _, e := range x.Evidence {
		texts = append(texts, e.Text)
	}
	if want := []string{"no heartbeat of node-1", "kubeflap stopped watching", "node-1 was Unknown when kubeflap started"}; !slices.Equal(texts, want) {
		t.Errorf("evidence %q, want %q", texts, want)
	}
	if ended := a.Ended(at(10)); len(ended) != 0 {
		t.Errorf("ended: %+v", ended)
	}
	if y, current, ok := a.Find(at(10), nodeLost().ID); !ok || !slices.Equal(current, []string{found().ID}) || y.ID != nodeLost().ID {
		t.Errorf("found %s, continued by %q", y.ID, current)
	}
}

func TestAnIncidentThatIsNotFoundAgainEndedUnseen(t *testing.T) {
	a := restarted(nodeLost())
	if x := a.Join(at(4), nil, 500); len(x) != 1 || x[0].State != incident.StateRunning {
		t.Fatalf("before the lists: %+v, want that it runs as far as is known", x)
	}
	a.Watching(at(5), WatchedKinds{true, true})
	if ended := a.Ended(at(5.9)); len(ended) != 0 {
		t.Errorf("ended too early: %+v", ended)
	}
	if ended := a.Ended(at(6)); len(ended) != 0 {
		t.Errorf("ended while it is unknown whether the Service is down: %+v", ended)
	}
	a.Check(at(6), lacking(nil, nil, nil))
	if ended := a.Ended(at(6.9)); len(ended) != 0 {
		t.Errorf("ended too early after it has recovered: %+v", ended)
	}
	told := a.Ended(at(7.1))
	x := a.Join(at(7.1), nil, 500)
	if len(told) != 1 || len(x) != 1 || !reflect.DeepEqual(told[0], x[0]) {
		t.Fatalf("reported %+v, shown %+v", told, x)
	}
	if x[0].State != incident.StateEnded || !x[0].End.Equal(at(5)) || x[0].Services[0].Down || !x[0].Services[0].Inexact {
		t.Errorf("got %s at %v, %+v: want that it ended at the latest when kubeflap watched again", x[0].State, x[0].End, x[0].Services)
	}
	if want := "It ended while kubeflap was not watching, between 12:03:00 and 12:05:00 UTC."; !strings.HasSuffix(x[0].Summary, want) {
		t.Errorf("summary %q, want %q", x[0].Summary, want)
	}
	if again := a.Ended(at(8)); len(again) != 0 {
		t.Errorf("reported again: %+v", again)
	}
	// A later failure of the node is a separate incident.
	later := found()
	later.Start = at(20)
	if all := a.Join(at(20), []incident.Incident{later}, 500); len(all) != 2 || all[0].ID != later.ID {
		t.Errorf("got %+v, want two incidents", all)
	}
}

func TestAnUndecidedIncidentTakesTheNewVerdict(t *testing.T) {
	before, after := nodeLost(), found()
	before.Decision, after.Decision = verdict.Decision{Command: "kubectl"}, verdict.Decision{Verdict: verdict.SharedPath}
	a := restarted(before)
	x, _, _ := a.One(at(5), after, func(string) (incident.Incident, bool) { return incident.Incident{}, false })
	if x.Verdict != verdict.SharedPath || x.Summary != after.Summary || x.ID != before.ID {
		t.Errorf("got %v, %q: want those from after the restart", x.Verdict, x.Summary)
	}
}

func TestIncidentsThatBecomeOne(t *testing.T) {
	other := nodeLost()
	other.ID, other.Subject, other.Nodes, other.Services = "4444444444444444", "node-2", []string{"node-2"}, nil
	now := found()
	now.Scope, now.Subject, now.Nodes = incident.ScopeControlPlane, "control plane", []string{"node-1", "node-2"}
	all := restarted(nodeLost(), other).Join(at(5), []incident.Incident{now}, 500)
	if len(all) != 1 || !slices.Contains(append(all[0].Also, all[0].ID), other.ID) || !slices.Contains(append(all[0].Also, all[0].ID), nodeLost().ID) {
		t.Errorf("got %+v, want one incident with all IDs", all)
	}
}

func TestTheNewestAreKept(t *testing.T) {
	var many []incident.Incident
	for i := range 10 {
		x := ended()
		x.ID, x.Start = fmt.Sprintf("%016x", i), at(float64(i-100))
		many = append(many, x)
	}
	all := restarted(many...).Join(at(5), []incident.Incident{found()}, 4)
	if len(all) != 4 || all[0].ID != found().ID || all[3].ID != many[7].ID {
		t.Errorf("got %+v, want the current one and the three newest", all)
	}
}

// TestHiddenIncidentsAreCounted also checks that ended incidents never hide an ongoing one.
func TestHiddenIncidentsAreCounted(t *testing.T) {
	ongoing := nodeLost()
	ongoing.Start = at(-200)
	saved := []incident.Incident{ongoing}
	for i := range 5 {
		x := ended()
		x.ID, x.Start, x.End = fmt.Sprintf("%016x", i), at(float64(i-100)), at(float64(i-90))
		saved = append(saved, x)
	}
	other := found()
	other.Subject, other.Nodes, other.Services = "node-7", []string{"node-7"}, nil
	for _, c := range []struct {
		size int
		want incident.Displaced
	}{
		{7, incident.Displaced{}},
		{3, incident.Displaced{Count: 4, Until: at(-87)}},
		{1, incident.Displaced{Count: 6, Until: at(5)}},
	} {
		a := restarted(saved...)
		all := a.Join(at(5), []incident.Incident{other}, c.size)
		if got := a.Displaced(at(5), []incident.Incident{other}, c.size); got != c.want || len(all) != c.size {
			t.Errorf("size %d: %d are shown, %+v are not, want %+v", c.size, len(all), got, c.want)
		}
		if c.size > 1 && all[0].ID != ongoing.ID && all[1].ID != ongoing.ID {
			t.Errorf("size %d: the ongoing incident is hidden: %+v", c.size, all)
		}
	}
}

// TestAnOutageThatEndedUnseen checks that an outage counts only until kubeflap stopped if the Service had a ready
// address at the first check, although another lost address was still not ready.
func TestAnOutageThatEndedUnseen(t *testing.T) {
	before := nodeLost()
	before.Open.Addresses = []incident.OpenAddress{{Namespace: "shop", Service: "web", ID: event.UID{1}}, {Namespace: "shop", Service: "web", ID: event.UID{2}}}
	a := restarted(before)
	a.Watching(at(5), WatchedKinds{true, true})
	one := lacking(nil, nil, []event.UID{{2}, {3}})
	a.Check(at(5), one)
	a.Check(at(8), one)
	x := a.Join(at(8), nil, 500)[0]
	if x.State != incident.StateRunning || x.Outages != 1 || x.OutageTime != 2*time.Minute || x.Services[0].Down || !x.Services[0].Inexact {
		t.Errorf("got %s, %d outages, %s, %+v: want an outage from 12:01 to 12:03 in an incident that runs", x.State, x.Outages, x.OutageTime, x.Services)
	}
	if recovered := second(a.Check(at(200), lacking(nil, nil, []event.UID{{3}}))); len(recovered) != 1 {
		t.Errorf("recovered: %q, want the incident: its address is ready, although another one is not", recovered)
	}
}

func second(_, b []string) []string { return b }

// TestOneOutageBelongsToOneIncident checks that an outage that began while kubeflap was not watching counts in one
// incident only, and that an earlier outage does not count again.
func TestOneOutageBelongsToOneIncident(t *testing.T) {
	down, up := nodeLost(), nodeLost()
	up.ID, up.Subject, up.Nodes = "4444444444444444", "node-2", []string{"node-2"}
	up.Services = []incident.Service{{Namespace: "shop", Name: "web", Lost: 1}, {Namespace: "shop", Name: "cart", Lost: 1}}
	up.Outages, up.OutageTime, up.Open = 0, 0, &incident.Open{Addresses: []incident.OpenAddress{{Namespace: "shop", Service: "cart", ID: event.UID{1}}}}
	other := up
	other.ID, other.Subject, other.Nodes, other.Open = "5555555555555555", "node-3", []string{"node-3"}, &incident.Open{Nodes: []string{"node-3"}}
	a := restarted(down, up, other)
	a.Watching(at(5), WatchedKinds{true, true})
	a.Check(at(5), lacking([]string{"node-1", "node-3"}, []ServiceName{{"shop", "web"}, {"shop", "cart"}}, []event.UID{{1}}))
	for _, x := range a.Join(at(6), nil, 500) {
		if want := map[string]int{down.ID: 1, up.ID: 1, other.ID: 0}[x.ID]; x.Outages != want {
			t.Errorf("%s: %d outages, want %d", x.Subject, x.Outages, want)
		}
	}
}

// TestDifferentIncidentsStayDifferent checks that two incidents of several nodes stay separate, although kubeflap finds
// all their nodes at once after the restart.
func TestDifferentIncidentsStayDifferent(t *testing.T) {
	a, b := nodeLost(), nodeLost()
	a.Scope, a.Subject, a.Nodes, a.Services, a.Open = incident.ScopeControlPlane, "control plane", []string{"node-1", "node-2"}, nil, &incident.Open{Nodes: []string{"node-1", "node-2"}}
	b.ID, b.Start, b.Scope, b.Subject, b.Nodes, b.Services = "4444444444444444", at(1.5), incident.ScopeControlPlane, "control plane", []string{"node-3", "node-4", "node-5"}, nil
	b.Open = &incident.Open{Nodes: b.Nodes}
	r := restarted(a, b)
	r.Watching(at(5), WatchedKinds{true, true})
	nodes := []string{"node-1", "node-2", "node-3", "node-4", "node-5"}
	r.Check(at(5), lacking(nodes, nil, nil))
	now := found()
	now.Scope, now.Subject, now.Nodes, now.Services = incident.ScopeControlPlane, "control plane", nodes, nil
	later := now
	later.ID, later.Start, later.Nodes = "6666666666666666", at(60), []string{"node-6", "node-7"}
	all := r.Join(at(61), []incident.Incident{now, later}, 500)
	if len(all) != 3 || all[0].ID != later.ID || all[1].ID != b.ID || len(all[1].Nodes) != 3 || all[2].ID != a.ID || len(all[2].Nodes) != 2 {
		t.Errorf("got %+v, want the later one and both from before with their own nodes", all)
	}
}

// TestRecoveredUnseen checks that the incident has recovered from the first check on, and that another restart does not
// change the time and the text.
func TestRecoveredUnseen(t *testing.T) {
	a := restarted(nodeLost())
	a.Watching(at(5), WatchedKinds{true, true})
	a.Check(at(5.01), lacking(nil, nil, nil))
	x := a.Join(at(5.02), nil, 500)[0]
	if x.State != incident.StateRecovered || !x.End.Equal(at(5)) || !strings.HasSuffix(x.Summary, ". It ended while kubeflap was not watching, between 12:03:00 and 12:05:00 UTC.") {
		t.Fatalf("got %s, until %s, %q", x.State, x.End, x.Summary)
	}
	b := New([]Saved{{at(5.1), x}}, at(5.2))
	b.Watching(at(5.3), WatchedKinds{true, true})
	b.Check(at(5.3), lacking(nil, nil, nil))
	b.Ended(at(8))
	y := b.Join(at(8), nil, 500)[0]
	if y.State != incident.StateEnded || !y.End.Equal(x.End) || y.Summary != x.Summary {
		t.Errorf("after another restart: got %s, until %s, %q", y.State, y.End, y.Summary)
	}
}
