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
	// blind are the resources of which kubeflap can know nothing while it lasts.
	blind []string
	lasts time.Duration
	begin func(*proxy.Proxy)
	end   func(*proxy.Proxy)
}

func watchFaults() []watchFault {
	thaw := func(p *proxy.Proxy) { p.Thaw() }
	return []watchFault{
		{
			name: "watches-silent", summary: "all of kubeflap's watches are open and silent, and new ones get no answer",
			blind: watched(), lasts: 3 * time.Minute,
			begin: func(p *proxy.Proxy) { p.Freeze(proxy.AllWatches, watched()...) }, end: thaw,
		},
		{
			name: "leases-silent", summary: "kubeflap's watch of Leases is open and silent, and a new one gets no answer",
			blind: []string{"leases"}, lasts: 2 * time.Minute,
			begin: func(p *proxy.Proxy) { p.Freeze(proxy.AllWatches, "leases") }, end: thaw,
		},
		{
			name: "not-found", summary: "something on the way to the API server ends all watches and answers 404 to everything",
			blind: watched(), lasts: 3 * time.Minute,
			begin: func(p *proxy.Proxy) { p.Answer(http.StatusNotFound) }, end: func(p *proxy.Proxy) { p.Answer(0) },
		},
		{
			name: "watches-short", summary: "each watch ends right after it was opened",
			blind: watched(), lasts: 2 * time.Minute,
			begin: func(p *proxy.Proxy) { p.EndWatches(true) }, end: func(p *proxy.Proxy) { p.EndWatches(false) },
		},
	}
}

// Faults lists what can happen to kubeflap's watches alone. Each takes minutes, and says nothing of the release.
func Faults(release cluster.Release) []Scenario {
	var all []Scenario
	for _, f := range watchFaults() {
		all = append(all, Scenario{
			Name:    f.name,
			Summary: f.summary + ": kubeflap must say that it is blind, and invent nothing",
			Proxied: true,
			// With the default of the grace period, which each of them outlasts.
			Options: cluster.Options{Release: release, Nodes: 2, ControllerManagerPod: true},
			Prepare: func(ctx context.Context, l *Lab) error { return l.spreadGated(ctx) },
			Run:     func(ctx context.Context, l *Lab) error { return l.flapEverything(ctx) },
			Blind:   func(ctx context.Context, l *Lab) error { return l.blindedBy(ctx, f) },
		})
	}
	return all
}
