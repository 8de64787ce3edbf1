package scenario

import (
	"net/http"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// watched returns the resources that kubeflap watches.
func watched() []string {
	return []string{"nodes", "leases", "pods", "services", "endpointslices", "endpoints"}
}

// watchFault is a fault between kubeflap and a healthy API server.
type watchFault struct {
	name, summary string
	// blind contains the resources that kubeflap cannot watch during the fault. kubeflap must report that it is blind
	// to these resources.
	blind []string
	lasts time.Duration
	begin func(*Lab)
	end   func(*Lab)
}

// watchFaults returns the scenarios in which kubeflap's watches fail, but the recorder's watches do not. Each of them takes
// minutes, and the result does not depend on the release.
func watchFaults(release cluster.Release) (all []Scenario) {
	thaw := func(l *Lab) { l.Proxy.Thaw() }
	for _, f := range []watchFault{
		{
			name: "watches-silent", summary: "all of kubeflap's watches are open but silent, and new ones get no response",
			blind: watched(), lasts: 3 * time.Minute,
			begin: func(l *Lab) { l.Proxy.Freeze(watched()...) }, end: thaw,
		},
		{
			name: "leases-silent", summary: "kubeflap's watch of Leases is open but silent, and a new one gets no response",
			blind: []string{"leases"}, lasts: 2 * time.Minute,
			begin: func(l *Lab) { l.Proxy.Freeze("leases") }, end: thaw,
		},
		{
			name: "not-found", summary: "a proxy in front of the API server ends all watches and responds to every request with 404",
			blind: watched(), lasts: 3 * time.Minute,
			begin: func(l *Lab) { l.Proxy.Answer(http.StatusNotFound) }, end: func(l *Lab) { l.Proxy.Answer(0) },
		},
		{
			name: "watches-short", summary: "each watch ends immediately after it is opened",
			blind: watched(), lasts: 2 * time.Minute,
			begin: func(l *Lab) { l.Proxy.EndWatches(true) }, end: func(l *Lab) { l.Proxy.EndWatches(false) },
		},
	} {
		all = append(all, Scenario{
			Name:    f.name,
			Summary: f.summary + ": kubeflap must report that it is blind, and no false transitions",
			// The grace period is the default. Each fault lasts longer than the grace period.
			Options:  cluster.Options{Release: release, Nodes: 2, ControllerManagerPod: true},
			Prepare:  spreadGated,
			Run:      flapEverything,
			LossesBy: "readiness_gate",
			Blind:    func(l *Lab) { runWatchFault(l, f) },
			Proxied:  true,
		})
	}
	return all
}
