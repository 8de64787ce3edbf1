package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// TestWatchBeginsWithTheDateAndTheSizeOfTheCluster lists a cluster shortly before midnight.
func TestWatchBeginsWithTheDateAndTheSizeOfTheCluster(t *testing.T) {
	var out strings.Builder
	x := newTerminal(&out)
	start := time.Date(2026, 3, 1, 23, 59, 50, 0, time.UTC)
	at := func(seconds float64) transition.At {
		return transition.At{Time: start.Add(time.Duration(seconds * float64(time.Second)))}
	}
	turned := func(seconds float64, name string) transition.NodeReadyChanged {
		return transition.NodeReadyChanged{OfNode: transition.OfNode{At: at(seconds), Node: name}, From: event.StatusTrue, To: event.StatusFalse}
	}
	x.printInitialState(start.Add(time.Second), []nodes.Node{{Name: "node-1", Ready: event.StatusTrue}, {Name: "node-2"}}, []services.Service{{Namespace: "shop", Name: "web", NotReady: 1}})
	x.transition(turned(5, "node-1"))
	x.transition(turned(11, "node-2"))
	x.transition(turned(12, "node-3"))
	var got []string
	for line := range strings.Lines(out.String()) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), ": Ready")
		line, _, _ = strings.Cut(line, " of the node")
		got = append(got, line)
	}
	want := []string{
		"2026-03-01 (UTC)", "Watching 2 nodes and 1 Service. Times are UTC. Press Ctrl-C to stop.", "Not Ready now: node-2", "Without a ready address now: shop/web",
		"23:59:55.0  node node-1", "2026-03-02 (UTC)", "00:00:01.0  node node-2", "00:00:02.0  node node-3",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAnIncidentThatIsPrintedAgain prints only what has changed, and everything at the end.
func TestAnIncidentThatIsPrintedAgain(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	of := func(kind incident.NoticeKind, state incident.State, summary, verdict, step string) incident.Notice {
		x := incident.Incident{ID: "0123456789abcdef", State: state, Summary: summary, VerdictText: verdict, FirstStep: step, Remedy: step + " Then wait."}
		if x.SetEnd(time.Time{}, start); kind == incident.Ended {
			x.Start = start
			x.SetEnd(start.Add(time.Minute), start)
		}
		return incident.Notice{Kind: kind, Incident: x}
	}
	for _, brief := range []bool{false, true} {
		var out strings.Builder
		x := newTerminal(&out)
		x.brief, x.heading = brief, "== story"
		for _, n := range []incident.Notice{
			of(incident.Started, incident.StateOngoing, "A node is silent.", "undecided", "Look."),
			of(incident.Changed, incident.StateOngoing, "A node is silent.", "undecided", "Look."),
			of(incident.Changed, incident.StateOngoing, "Two nodes are silent.", "undecided", "Look."),
			of(incident.Changed, incident.StateOngoing, "Two nodes are silent.", "etcd", "Check etcd."),
			of(incident.Ended, incident.StateResolved, "Two nodes are silent.", "etcd", "Check etcd."),
		} {
			x.incident(start, n)
		}
		want := `== story
12:00:00.0  >>> incident ongoing: A node is silent. Verdict: undecided.
            First step: Look.
12:00:00.0  >>> incident ongoing: Two nodes are silent.
12:00:00.0  >>> incident ongoing. Verdict: etcd.
            First step: Check etcd.
12:00:00.0  <<< incident resolved after 60s: Two nodes are silent. Verdict: etcd.
            First step: Check etcd.
            Then: Then wait.
`
		if brief { // the first step follows only at the end
			want = strings.NewReplacer("            First step: Look.\n", "", ". Verdict: etcd.\n            First step: Check etcd.\n12", ". Verdict: etcd.\n12", "            Then: Then wait.\n", "").Replace(want)
		}
		if out.String() != want {
			t.Errorf("brief %t: got\n%s\nwant\n%s", brief, out.String(), want)
		}
	}
}
