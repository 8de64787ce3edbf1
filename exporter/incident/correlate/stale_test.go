package correlate

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
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
