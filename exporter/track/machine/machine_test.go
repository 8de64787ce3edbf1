package machine

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func identity(boot, provider string) (is Identity) {
	is.Note(&event.Node{Meta: event.Meta{Name: "node-1"}, BootID: boot, ProviderID: provider})
	return is
}

func TestANodeOfTheSameName(t *testing.T) {
	const aws, other, gce = "aws:///eu-west-1a/i-1", "aws:///eu-west-1a/i-2", "gce://shop/europe-west1-b/node-1"
	for _, c := range []struct {
		name    string
		was, is Identity
		age     time.Duration
		want    transition.Machine
		ok      bool
	}{
		{"the same boot", identity("a", ""), identity("a", ""), 0, transition.MachineSame, true},
		{"the same boot, before the cloud has set the providerID", identity("a", aws), identity("a", ""), 0, transition.MachineSame, true},
		{"another machine", identity("a", aws), identity("b", other), 0, transition.MachineReplaced, true},
		{"another machine with a copied disk", identity("a", aws), identity("a", other), 0, transition.MachineReplaced, true},
		{"a reboot", identity("a", aws), identity("b", aws), 0, transition.MachineRebooted, true},
		{"another boot, before the cloud has set the providerID", identity("a", aws), identity("b", ""), time.Minute, 0, false},
		{"another boot, and the cloud does not set the providerID", identity("a", aws), identity("b", ""), 6 * time.Minute, transition.MachineUnclear, true},
		{"another boot, without a cloud", identity("a", ""), identity("b", ""), 0, transition.MachineUnclear, true},
		{"another boot, and a providerID that only names the node", identity("a", gce), identity("b", gce), 0, transition.MachineUnclear, true},
		{"no boot is known", identity("", aws), identity("b", aws), time.Hour, 0, false},
		{"no boot is known yet", identity("a", aws), identity("", aws), time.Hour, 0, false},
	} {
		var f Former
		f.NodeDeleted("node-1", c.was, noon)
		c.is.since, c.is.again = noon, true
		if got, ok := f.Compare("node-1", &c.is, noon.Add(c.age)); got != c.want || ok != c.ok {
			t.Errorf("%s: %d %t, want %d %t", c.name, got, ok, c.want, c.ok)
		}
		if got, ok := f.Compare("node-1", &c.is, noon.Add(c.age)); got != 0 || ok {
			t.Errorf("%s: compared again: %d %t", c.name, got, ok)
		}
	}
}

func TestDeletedNodesAreForgotten(t *testing.T) {
	var f Former
	f.NodeDeleted("node-1", identity("a", ""), noon)
	f.NodeDeleted("node-1", identity("b", ""), noon.Add(time.Minute))
	again := func(name string, minutes int) transition.Machine {
		is := identity("b", "")
		m, _ := f.Compare(name, &is, noon.Add(time.Duration(minutes)*time.Minute))
		return m
	}
	if m := again("node-2", 2); m != 0 {
		t.Errorf("another name: %d", m)
	}
	if m := again("node-1", 62); m != 0 {
		t.Errorf("after more than an hour: %d", m)
	}
	if m := again("node-1", 61); m != transition.MachineSame {
		t.Errorf("compared with an older one: %d", m)
	}
	for range 3 * maxRemembered {
		f.NodeDeleted("node-3", Identity{}, noon.Add(time.Hour))
	}
	if n := len(f.nodes); n != maxRemembered {
		t.Errorf("%d are remembered", n)
	}
}
