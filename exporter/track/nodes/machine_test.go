package nodes

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/departure"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func identity(boot, provider string) (is machine) {
	is.note(&event.Node{Meta: event.Meta{Name: "node-1"}, BootID: boot, ProviderID: provider})
	return is
}

func TestANodeOfTheSameName(t *testing.T) {
	const aws, other, gce = "aws:///eu-west-1a/i-1", "aws:///eu-west-1a/i-2", "gce://shop/europe-west1-b/node-1"
	for _, c := range []struct {
		name    string
		was, is machine
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
		var f former
		f.add("node-1", c.was, departure.Departure{}, zero)
		c.is.since, c.is.again = zero, true
		if got, ok := f.compare("node-1", &c.is, zero.Add(c.age)); got != c.want || ok != c.ok {
			t.Errorf("%s: %d %t, want %d %t", c.name, got, ok, c.want, c.ok)
		}
		if got, ok := f.compare("node-1", &c.is, zero.Add(c.age)); got != 0 || ok {
			t.Errorf("%s: compared again: %d %t", c.name, got, ok)
		}
	}
}

func TestDeletedNodesAreForgotten(t *testing.T) {
	var f former
	f.add("node-1", identity("a", ""), departure.Departure{}, zero)
	f.add("node-1", identity("b", ""), departure.Departure{}, zero.Add(time.Minute))
	again := func(name string, minutes int) transition.Machine {
		is := identity("b", "")
		m, _ := f.compare(name, &is, zero.Add(time.Duration(minutes)*time.Minute))
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
	for range 3 * maxKept {
		f.add("node-3", machine{}, departure.Departure{}, zero.Add(time.Hour))
	}
	if n := len(f); n != maxKept {
		t.Errorf("%d are remembered", n)
	}
}
