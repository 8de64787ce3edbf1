package correlate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// upgraded plays an in-place upgrade of three pods. Their images change at 17 s, their addresses leave at the given
// times, and return 20 s later.
func upgraded(leaves [3]float64) *tracked {
	names := []string{"web-1", "web-2", "web-3", "web-4"}
	pod := func(i int, status event.Status, restarts int32) *event.Pod {
		p := aPod(names[i], status, "")
		p.Containers[0].Image, p.Containers[0].Restarts = "app:2", restarts
		if status != event.StatusTrue {
			p.Ready.Reason, p.Containers[0].State, p.Containers[0].Ready = "ContainersNotReady", "terminated", false
		}
		return p
	}
	listed := slices.Clone(names)
	b := newTracked(grace40).starts(aNode("node-1"), aService("web", "s", true), aSlice("s", listed...),
		aPod("web-1", event.StatusTrue, ""), aPod("web-2", event.StatusTrue, ""), aPod("web-3", event.StatusTrue, ""), aPod("web-4", event.StatusTrue, ""))
	for i := range leaves {
		b.at(17).is(event.Modified, pod(i, event.StatusTrue, 0))
	}
	for i, at := range leaves {
		listed[i] = "-" + names[i]
		b.at(at).is(event.Modified, pod(i, event.StatusFalse, 0), aSlice("s", listed...))
	}
	for i, at := range leaves {
		listed[i] = names[i]
		b.at(at+20).is(event.Modified, pod(i, event.StatusTrue, 1), aSlice("s", listed...))
	}
	return b
}

func TestAnUpgradeInPlaceReportsTheStaleReaddsOfClientsThatBatch(t *testing.T) {
	all := upgraded([3]float64{18, 20.5, 23.5}).asOf(90)
	if len(all) != 1 {
		t.Fatalf("%d incidents, want 1: %s", len(all), summaries(all))
	}
	x := all[0]
	is(t, x, incident.StateRecovered, incident.ScopeWorkload, cause.InPlaceUpdate, "Service/web")
	equal(t, "each address left once", x.Lost, 3)
	for i, want := range []advice.Window{{StaleReadds: 2}, {StaleReadds: 2}, {StaleReadds: 1}, {}} {
		equal(t, "stale re-adds", x.Numbers.Windows[i].StaleReadds, want.StaleReadds)
		equal(t, "bounces", x.Numbers.Windows[i].Bounces, 0)
	}
	at := 0
	for _, part := range []string{
		"set a readiness gate to False",
		"set --endpointslice-updates-batch-period and --endpoint-updates-batch-period of the kube-controller-manager to 10s",
		"let the clients batch endpoint updates for 10s",
		"2 without batching, 2 with batches of 2s, 1 with batches of 5s, none with batches of 10s",
	} {
		i := strings.Index(x.Remedy[at:], part)
		if i < 0 {
			t.Fatalf("%q is not in %q, or not in this order", part, x.Remedy)
		}
		at += i
	}
	want := "shop/web: clients that applied the ready addresses would have put 2 addresses back (10.0.0.2, pod web-2 first) before the container was replaced"
	if !slices.ContainsFunc(x.Evidence, func(e incident.Evidence) bool { return e.Text == want }) {
		t.Errorf("%q is not in the evidence: %v", want, x.Evidence)
	}
}

// TestStaleReadyIsObservedOnceForEachUpdate counts how often and for how long Ready was wrong, in seconds. A replica with a
// slow pod watch must observe the same.
func TestStaleReadyIsObservedOnceForEachUpdate(t *testing.T) {
	type step struct {
		at  float64
		how func(*event.Pod)
	}
	image := func(to string, ready bool, restarts int32) func(*event.Pod) {
		return func(p *event.Pod) {
			if !ready {
				unready(p)
			}
			p.Containers[0].Image, p.Containers[0].Restarts = to, restarts
		}
	}
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"one update":                   {[]step{{10, image("app:2", true, 0)}, {11, image("app:2", false, 1)}, {20, image("app:2", true, 1)}}, "[1]"},
		"not Ready twice in an update": {[]step{{10, image("app:2", true, 0)}, {11, image("app:2", false, 0)}, {12, image("app:2", true, 0)}, {14.8, image("app:2", false, 1)}, {20, image("app:2", true, 1)}}, "[1]"},
		"three updates, each twice": {[]step{
			{10, image("app:2", true, 0)},
			{11, image("app:2", false, 0)},
			{12, image("app:2", true, 0)},
			{14.8, image("app:2", false, 1)},
			{20, image("app:2", true, 1)},
			{30, image("app:3", true, 1)},
			{31, image("app:3", false, 1)},
			{32, image("app:3", true, 1)},
			{34.8, image("app:3", false, 2)},
			{40, image("app:3", true, 2)},
			{50, image("app:4", true, 2)},
			{51, image("app:4", false, 2)},
			{52, image("app:4", true, 2)},
			{54.8, image("app:4", false, 3)},
			{60, image("app:4", true, 3)},
		}, "[1 1 1]"},
		"an update, and later a crash": {[]step{{10, image("app:2", true, 0)}, {11, image("app:2", false, 1)}, {20, image("app:2", true, 1)}, {200, image("app:2", false, 2)}}, "[1 0]"},
		"no update: a probe":           {[]step{{10, unready}, {20, ready}, {30, unready}}, "[]"},
	} {
		b := newTracked(grace40).starts(aNode("node-1"), aService("web", "s", true), change(ready), aSlice("s", "web-1"))
		for _, x := range c.steps {
			b.pod(x.at, x.how)
		}
		for replica, events := range map[string][]event.Event{"": b.events, ", late": delayed(b.events, event.KindPod)} {
			other, stale := newTracked(grace40), []float64{}
			for _, e := range events {
				other.apply(e)
			}
			for _, x := range other.found {
				if x, ok := x.(transition.PodReadyWasStale); ok {
					stale = append(stale, x.Stale.Seconds())
				}
			}
			equal(t, name+replica, fmt.Sprint(stale), c.want)
		}
	}
}
