package correlate

import (
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// TestPodsThatVanishedInAGap replaces the pods of a Service while kubeflap does not watch. Nobody is accused, and there
// is no incident unless the Service had no ready address.
func TestPodsThatVanishedInAGap(t *testing.T) {
	pod := func(name string) *event.Pod {
		p := aPod(name, event.StatusTrue, "")
		p.Owner = "ReplicaSet/web-6d4cf56db6"
		return p
	}
	cordoned := aNode("node-1")
	cordoned.Unschedulable = true
	for name, c := range map[string]struct {
		before, nodes []event.Object
		ready         []string
		want          []verdict.Verdict
		happened      string
	}{
		"a roll-out":                  {[]event.Object{aNode("node-1")}, []event.Object{aNode("node-1")}, []string{"web-3", "web-4"}, nil, ""},
		"no pod replaces them":        {[]event.Object{aNode("node-1")}, []event.Object{aNode("node-1")}, nil, []verdict.Verdict{verdict.Undecided}, "Pods of Deployment shop/web lost addresses while kubeflap was not watching"},
		"a drain begins before it":    {[]event.Object{cordoned}, []event.Object{cordoned}, nil, []verdict.Verdict{verdict.Planned}, "Pods of Deployment shop/web lost addresses while kubeflap was not watching"},
		"their node vanishes as well": {[]event.Object{aNode("node-1")}, nil, nil, []verdict.Verdict{verdict.Undecided}, "Deployment shop/web lost its pods after the deletion of Node node-1"},
	} {
		b := newTracked(grace40).starts(aService("web", "s1", true), aNode("node-1"), pod("web-1"), pod("web-2"), aSlice("s1", "web-1", "web-2"))
		b.at(5000).is(event.Modified, c.before...)
		for _, k := range []event.Kind{event.KindNode, event.KindPod, event.KindEndpointSlice, event.KindService} {
			b.observe(b.tracker.Apply(event.Event{Seen: b.now, Kind: k, Type: event.Down, Reason: event.ReasonRefused}))
		}
		var pods []event.Object
		for _, x := range c.ready {
			pods = append(pods, pod(x))
		}
		b.at(5030).lists(event.KindNode, c.nodes...).lists(event.KindPod, pods...).lists(event.KindEndpointSlice, aSlice("s1", c.ready...))
		b.lists(event.KindService, aService("web", "s1", true))
		all := b.asOf(5060)
		if len(all) != len(c.want) {
			t.Errorf("%s: %d incidents, want %d", name, len(all), len(c.want))
			continue
		}
		for i, x := range all {
			equal(t, name+": verdict", x.Verdict, c.want[i])
			equal(t, name+": cause", x.Cause, cause.Unknown)
			equal(t, name+": scope", x.Scope, incident.ScopeWorkload)
			equal(t, name+": lost", x.Lost, 2)
			happened, _, _ := strings.Cut(x.Summary, ";")
			equal(t, name+": happened", happened, c.happened)
		}
	}
}
