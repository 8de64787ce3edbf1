package scenario

import (
	"context"
	"net/http"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/proxy"
)

// watched are the resources that kubeflap watches.
func watched() []string {
	return []string{"nodes", "leases", "pods", "services", "endpointslices", "endpoints"}
}

// watchFault is something between kubeflap and an API server with which nothing is wrong.
type watchFault struct {
	name, summary string
	// blind are the resources of which kubeflap can know nothing while it lasts, and has to say so.
	blind []string
	lasts time.Duration
	begin func(*Lab)
	end   func(*Lab)
}

func watchFaults() []watchFault {
	thaw := func(l *Lab) { l.Proxy.Thaw() }
	return []watchFault{
		{
			name: "watches-silent", summary: "all of kubeflap's watches are open and silent, and new ones get no answer",
			blind: watched(), lasts: 3 * time.Minute,
			begin: func(l *Lab) { l.Proxy.Freeze(proxy.AllWatches, watched()...) }, end: thaw,
		},
		{
			name: "leases-silent", summary: "kubeflap's watch of Leases is open and silent, and a new one gets no answer",
			blind: []string{"leases"}, lasts: 2 * time.Minute,
			begin: func(l *Lab) { l.Proxy.Freeze(proxy.AllWatches, "leases") }, end: thaw,
		},
		{
			name: "not-found", summary: "something on the way to the API server ends all watches and answers 404 to everything",
			blind: watched(), lasts: 3 * time.Minute,
			begin: func(l *Lab) { l.Proxy.Answer(http.StatusNotFound) }, end: func(l *Lab) { l.Proxy.Answer(0) },
		},
		{
			name: "watches-short", summary: "each watch ends right after it was opened",
			blind: watched(), lasts: 2 * time.Minute,
			begin: func(l *Lab) { l.Proxy.EndWatches(true) }, end: func(l *Lab) { l.Proxy.EndWatches(false) },
		},
	}
}

// Faults lists what can happen to kubeflap's watches alone, the last of them beyond the API server. Each takes minutes, and says nothing of the release.
func Faults(release cluster.Release) []Scenario {
	var all []Scenario
	for _, f := range watchFaults() {
		s := ofFault(release, f)
		s.Proxied = true
		all = append(all, s)
	}
	s := ofFault(release, etcdUnreachable())
	s.Options.APIServers, s.Options.EtcdLinked, s.KubeflapOn, s.Extra = 2, true, 1, true
	return append(all, s)
}

// ofFault is the scenario of a fault.
func ofFault(release cluster.Release, f watchFault) Scenario {
	return Scenario{
		Name:    f.name,
		Summary: f.summary + ": kubeflap must say that it is blind, and invent nothing",
		// With the default of the grace period, which each of them outlasts.
		Options: cluster.Options{Release: release, Nodes: 2, ControllerManagerPod: true},
		Prepare: func(ctx context.Context, l *Lab) error { return l.spreadGated(ctx) },
		Run:     func(ctx context.Context, l *Lab) error { return l.flapEverything(ctx) },
		Blind:   func(ctx context.Context, l *Lab) error { return l.blindedBy(ctx, f) },
	}
}
