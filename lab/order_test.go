package main

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/session"
)

// lateBy is more than what one watch ever is behind another on a busy API server, mostly.
const lateBy = 1500 * time.Millisecond

// lateWatches are what a kubeflap has late whose counters, causes and incidents must be those of one that has nothing late.
func lateWatches() []session.Delays {
	return []session.Delays{
		{"pods": lateBy},
		{"endpointslices": lateBy, "endpoints": lateBy},
		{"nodes": lateBy},
	}
}

// inAnyOrder are the scenarios that kubeflaps see with another order among their watches.
func inAnyOrder(s scenario.Scenario) bool {
	return slices.Contains([]string{"heartbeat-loss", "in-place-upgrade", "causes", "endpoints-reset", "control-plane-stall"}, s.Name)
}

// runFaults lets watches fail in ways that only kubeflap sees, beside the scenarios: it must say that it is blind, and invent nothing.
func runFaults(t *testing.T, kubeflap string, release cluster.Release, turns chan struct{}) {
	t.Helper()
	for _, s := range slices.DeleteFunc(scenario.Faults(release), leftOut) {
		t.Run(nameOf(s), func(t *testing.T) {
			t.Parallel()
			runScenario(t, s, session.Options{Kubeflap: kubeflap, Manifest: manifest, Turns: turns, Log: logger(t)})
		})
	}
}
