package main

import (
	"slices"
	"testing"
	"time"

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

// TestOrderAmongWatches lets kubeflaps with another order among their watches see the same: they must tell the same.
func TestOrderAmongWatches(t *testing.T) {
	kubeflap := buildKubeflap(t)
	if err := buildAll(t.Context(), logger(t)); err != nil {
		t.Fatal(err)
	}
	names := []string{"heartbeat-loss", "in-place-upgrade", "causes", "endpoints-reset"}
	t.Run("all", func(t *testing.T) {
		for _, s := range scenario.All(releases(t)[0]) {
			if !slices.Contains(names, s.Name) {
				continue
			}
			t.Run(nameOf(s), func(t *testing.T) {
				t.Parallel()
				runScenario(t, s, session.Options{
					Kubeflap: kubeflap, Manifest: manifest, Log: logger(t), Seconds: lateWatches(),
				})
			})
		}
	})
}

// TestWatchFaults lets watches fail in ways that only kubeflap sees: it must say that it is blind, and invent nothing.
func TestWatchFaults(t *testing.T) {
	kubeflap := buildKubeflap(t)
	if err := buildAll(t.Context(), logger(t)); err != nil {
		t.Fatal(err)
	}
	t.Run("all", func(t *testing.T) {
		for _, s := range scenario.Faults(releases(t)[0]) {
			t.Run(nameOf(s), func(t *testing.T) {
				t.Parallel()
				runScenario(t, s, session.Options{Kubeflap: kubeflap, Manifest: manifest, Log: logger(t)})
			})
		}
	})
}
