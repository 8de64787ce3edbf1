package incident

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const second = phrase.Seconds(time.Second)

func TestHitAndEffect(t *testing.T) {
	for _, c := range []struct {
		name, what, hit, effect string
		incident                Incident
	}{
		{"an outage that was seen", "node node-1", "2 addresses of shop/web, down 1.5s", "lost 2 ready addresses, 1 came back; no ready address for 1.5s", Incident{
			Scope: "node", Subject: "node-1", Nodes: []string{"node-1"}, Counts: Counts{Lost: 2, OutageTime: 3 * second / 2},
			Services: []Service{{Namespace: "shop", Name: "web", Lost: 2, Bounces: 1, Outages: 1, OutageTime: 3 * second / 2}},
		}},
		{"an outage whose end was not seen", "Service shop/web", "2 addresses, down 1s to 20s", "lost 2 ready addresses; no ready address for 1s to 20s in 2 outages", Incident{
			Scope: "service", Namespace: "shop", Subject: "web", Counts: Counts{Lost: 2, OutageTime: 3 * second / 2},
			Services: []Service{{Namespace: "shop", Name: "web", Lost: 2, Outages: 2, OutageTime: 3 * second / 2, AtLeast: 1 * second, AtMost: 20 * second}},
		}},
		{"an outage that goes on", "StatefulSet shop/db", "3 addresses of 2 Services, down 60s, 1 pod evicted", "lost 1 ready address; no ready address for 60s, and none now", Incident{
			Scope: "workload", Namespace: "shop", Subject: "StatefulSet/db", Counts: Counts{Lost: 3, OutageTime: 60 * second}, NodeCounts: NodeCounts{Evicted: 1}, ServicesLeftOut: 1,
			Services: []Service{{Namespace: "shop", Name: "web", Lost: 1, Outages: 1, OutageTime: 60 * second, Down: true}},
		}},
		{"no loss", "control plane", "3 nodes", "", Incident{
			Scope: "control_plane", Subject: "control plane", Nodes: []string{"a", "b"}, NodesLeftOut: 1, Services: []Service{{}},
		}},
		{"manually managed Endpoints", "Service shop/web", "all manually managed addresses", "", Incident{
			Scope: "service", Namespace: "shop", Subject: "web", State: "ongoing", Services: []Service{{}},
		}},
		{"nothing", "Service shop/web", "nothing", "", Incident{Scope: "service", Namespace: "shop", Subject: "web", State: "pending", Services: []Service{{}}}},
	} {
		if what, hit, effect := c.incident.What(), c.incident.Hit(), c.incident.Services[0].Effect(); what != c.what || hit != c.hit || effect != c.effect {
			t.Errorf("%s: got %q, %q, %q, want %q, %q, %q", c.name, what, hit, effect, c.what, c.hit, c.effect)
		}
	}
}

func TestHypothesesWithTheSameReasonAreOne(t *testing.T) {
	x := Incident{Considered: []verdict.Considered{
		{Verdict: verdict.Planned, Holds: verdict.No, Because: "a probe failed"},
		{Verdict: verdict.Workload, Holds: verdict.Yes, Because: "a probe failed"},
		{Verdict: verdict.Node, Holds: verdict.No, Because: "a probe failed"},
		{Verdict: verdict.Undecided, Holds: verdict.No, Because: "x"},
	}}
	var all []string
	for _, h := range x.Hypotheses() {
		all = append(all, h.String())
	}
	if got, want := strings.Join(all, "; "), "a planned departure, the node or its kubelet: no, because a probe failed; the pods themselves: yes, because a probe failed; undecided: no, because x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(x.Considered) != 4 || x.Considered[0].Verdict != verdict.Planned {
		t.Errorf("the incident changed: %v", x.Considered)
	}
}
