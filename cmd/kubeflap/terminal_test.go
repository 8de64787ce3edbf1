package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// TestWatchBeginsWithTheDateAndTheSizeOfTheCluster lists a cluster shortly before midnight. The grace period is known
// before the cluster is listed.
func TestWatchBeginsWithTheDateAndTheSizeOfTheCluster(t *testing.T) {
	var out strings.Builder
	x := &terminal{out: &out, awaitsInitialState: true}
	start := time.Date(2026, 3, 1, 23, 59, 50, 0, time.UTC)
	at := func(seconds float64) transition.At {
		return transition.At{Time: start.Add(time.Duration(seconds * float64(time.Second)))}
	}
	known := transition.GracePeriodKnown{At: at(0), Nodes: 2, Period: 40 * time.Second, Interval: 10 * time.Second}
	turned := func(seconds float64, name string) transition.NodeReadyChanged {
		return transition.NodeReadyChanged{OfNode: transition.OfNode{At: at(seconds), Node: name}, From: event.StatusTrue, To: event.StatusFalse}
	}
	x.transition(known)
	if out.Len() > 0 {
		t.Errorf("printed before the size of the cluster: %s", out.String())
	}
	x.printInitialState(start.Add(time.Second), []nodes.Node{{Name: "node-1", Ready: event.StatusTrue}, {Name: "node-2"}}, []services.Service{{Namespace: "shop", Name: "web", NotReady: 1}})
	x.transition(known) // known already
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
		"23:59:50.0  " + known.String(), "23:59:55.0  node node-1", "2026-03-02 (UTC)", "00:00:01.0  node node-2", "00:00:02.0  node node-3",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTheDemoPrintsNoDates checks that a replay prints no dates, because each recording has dates of its own.
func TestTheDemoPrintsNoDates(t *testing.T) {
	var out strings.Builder
	(&terminal{out: &out, heading: "== story"}).transition(transition.NodeReadyChanged{OfNode: transition.OfNode{At: transition.At{Time: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}, Node: "node-1"}})
	if strings.Contains(out.String(), "2026") || !strings.HasPrefix(out.String(), "== story\n") {
		t.Errorf("got %s", out.String())
	}
}
