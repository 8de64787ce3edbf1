package main

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/session"
)

// lateBy is longer than the usual lag between two watches on a busy API server.
const lateBy = 1500 * time.Millisecond

// lateWatches returns the delays of additional kubeflap instances, one entry per instance. Each must report the same
// counters, causes and incidents as an instance without delays.
func lateWatches() []session.Delays {
	return []session.Delays{
		{"pods": lateBy},
		{"endpointslices": lateBy, "endpoints": lateBy},
		{"nodes": lateBy},
	}
}

// inAnyOrder reports whether a scenario also runs with kubeflap instances whose watches are delayed.
func inAnyOrder(s scenario.Scenario) bool {
	return slices.Contains([]string{"heartbeat-loss", "in-place-upgrade", "causes", "endpoints-reset", "control-plane-stall"}, s.Name)
}

// runFaults runs the scenarios in which only kubeflap's watches fail. kubeflap must report that it is blind, and must
// not report transitions that did not happen.
func runFaults(t *testing.T, kubeflap string, release cluster.Release, turns chan struct{}) {
	t.Helper()
	for _, s := range slices.DeleteFunc(scenario.Faults(release), leftOut) {
		t.Run(nameOf(s), func(t *testing.T) {
			t.Parallel()
			options := session.Options{Kubeflap: kubeflap, Manifest: manifest, Turns: turns, Log: logger(t)}
			if *record != "" {
				options = recorded(t, s, options)
			}
			runScenario(t, s, options)
		})
	}
}
