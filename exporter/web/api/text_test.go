package api

import (
	"strings"
	"testing"
	"time"
)

func TestHitAndEffect(t *testing.T) {
	for _, c := range []struct {
		name, what, hit, effect string
		incident                Incident
	}{
		{"an outage that was seen", "node node-1", "2 addresses of shop/web, down 1.5s", "lost 2 ready addresses, 1 came back; no ready address for 1.5s", Incident{
			Scope: "node", Subject: "node-1", Nodes: []string{"node-1"}, AddressesLost: 2, OutageSeconds: 1.5,
			Services: []Service{{Namespace: "shop", Service: "web", AddressesLost: 2, AddressesBack: 1, Outages: 1, OutageSeconds: 1.5}},
		}},
		{"an outage whose end was not seen", "Service shop/web", "2 addresses, down 1s to 20s", "lost 2 ready addresses; no ready address for 1s to 20s in 2 outages", Incident{
			Scope: "service", Namespace: "shop", Subject: "web", AddressesLost: 2, OutageSeconds: 1.5,
			Services: []Service{{Namespace: "shop", Service: "web", AddressesLost: 2, Outages: 2, OutageSeconds: 1.5, OutageAtLeast: 1, OutageAtMost: 20}},
		}},
		{"an outage that goes on", "StatefulSet shop/db", "3 addresses of 2 Services, down 60s, 1 pod evicted", "lost 1 ready address; no ready address for 60s so far", Incident{
			Scope: "workload", Namespace: "shop", Subject: "StatefulSet/db", AddressesLost: 3, OutageSeconds: 60, PodsEvicted: 1, ServicesLeftOut: 1,
			Services: []Service{{Namespace: "shop", Service: "web", AddressesLost: 1, Outages: 1, OutageSeconds: 60, Down: true}},
		}},
		{"no loss", "control plane", "3 nodes", "lost no ready address", Incident{
			Scope: "control_plane", Subject: "control plane", Nodes: []string{"a", "b"}, NodesLeftOut: 1, Services: []Service{{}},
		}},
		{"manually managed Endpoints", "Service shop/web", "all manually managed addresses", "lost no ready address", Incident{
			Scope: "service", Namespace: "shop", Subject: "web", State: "ongoing", Services: []Service{{}},
		}},
		{"nothing", "Service shop/web", "nothing", "lost no ready address", Incident{Scope: "service", Namespace: "shop", Subject: "web", State: "pending", Services: []Service{{}}}},
	} {
		if what, hit, effect := c.incident.What(), c.incident.Hit(), c.incident.Services[0].Effect(); what != c.what || hit != c.hit || effect != c.effect {
			t.Errorf("%s: got %q, %q, %q, want %q, %q, %q", c.name, what, hit, effect, c.what, c.hit, c.effect)
		}
	}
}

func TestHypothesesWithTheSameReasonAreOne(t *testing.T) {
	x := Incident{Considered: []Hypothesis{{"planned", "no", "a probe failed"}, {"workload", "yes", "a probe failed"}, {"node", "no", "a probe failed"}, {"undecided", "no", "x"}}}
	var all []string
	for _, h := range x.Hypotheses() {
		all = append(all, h.String())
	}
	if got, want := strings.Join(all, "; "), "a planned departure, the node or its kubelet: no, because a probe failed; the pods themselves: yes, because a probe failed; undecided: no, because x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(x.Considered) != 4 || x.Considered[0].Verdict != "planned" {
		t.Errorf("the incident changed: %v", x.Considered)
	}
}

func TestManyGaps(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := Coverage{Since: &noon, GapsLeftOut: 2}
	for i := range 30 {
		to := noon.Add(time.Duration(i)*time.Hour + time.Minute)
		c.Gaps = append(c.Gaps, Gap{Resources: []string{"pods"}, From: noon.Add(time.Duration(i) * time.Hour), To: &to, Reason: "timeout", MayMiss: "all"})
	}
	all := c.Texts()
	if len(all) != 1+maxGaps+1 || all[1] != "Not watched: pods from 2026-03-02 17:00:00 UTC to 2026-03-02 17:01:00 UTC, for 60s (timeout). May miss: all." || all[21] != "12 older gaps are left out." {
		t.Errorf("got %d texts: %q", len(all), all)
	}
}
