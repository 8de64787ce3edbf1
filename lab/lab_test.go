// Package lab runs a real Kubernetes control plane on this machine and injects faults. It compares kubeflap's counts with
// those of an independent recorder.
package lab

import (
	"cmp"
	"context"
	"flag"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/session"
	"github.com/kubeflap/kubeflap/lab/steps"
)

var (
	release  = flag.String("release", "", "run all tests on this Kubernetes version only")
	record   = flag.String("record", "", "directory for a recording of each scenario and the facts of the recorder")
	verdicts = flag.Bool("verdicts", false, "run only the scenarios that are normally skipped because they take too long")
	only     = flag.String("scenario", "", "run only this scenario, on the newest release that has it")
	seed     = flag.Uint64("seed", 1, "seed of the random scenario")
	keep     = flag.Bool("keep", false, "keep everything running after the scenario until interrupted, also a Prometheus")
)

// releases returns the Kubernetes releases to test.
func releases(t *testing.T) []cluster.Release {
	t.Helper()
	all := cluster.Releases()
	switch {
	case *release == "" && (testing.Short() || *only != ""):
		return all[:1]
	case *release == "":
		return all
	}
	if !slices.Contains(all, cluster.Release(*release)) {
		t.Fatalf("unknown -release=%s, want one of %v", *release, all)
	}
	return []cluster.Release{cluster.Release(*release)}
}

// slowest lists the scenarios that take minutes. They start first, so that the others run in parallel.
var slowest = []string{"circuit-breaker-open", "random", "controller-manager-stopped"}

// scenarios returns all scenarios on the first release. For each other release, it adds the scenarios whose result
// depends on the release.
func scenarios(releases []cluster.Release) []scenario.Scenario {
	all := scenario.All(releases[0])
	alerts := map[string]bool{}
	for _, s := range all {
		alerts[s.Name] = s.Alerts != nil
	}
	for _, release := range releases[1:] {
		for _, s := range scenario.All(release) {
			if s.ByRelease {
				// Alerts do not depend on the release, so they are only checked on the newest one. Scenarios that have
				// none there are checked here.
				if alerts[s.Name] {
					s.Alerts = nil
				}
				all = append(all, s)
			}
		}
	}
	rank := func(s scenario.Scenario) int {
		if i := slices.Index(slowest, s.Name); i >= 0 {
			return i
		}
		return len(slowest)
	}
	slices.SortStableFunc(all, func(a, b scenario.Scenario) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

// quick lists the scenarios that also run with -short, on the newest release. The recordings of all scenarios are
// replayed in the unit tests, so these only test what recordings cannot: live watches, alerts and times.
var quick = []string{
	"heartbeat-loss", "endpoints-reset", "control-plane-stall", "batch-upgrade", "tight-grace-period", // the demo
	"random", "apiserver-restart", "leases-silent",
}

// leftOut reports whether the tests skip a scenario.
func leftOut(s scenario.Scenario) bool {
	switch {
	case *only != "":
		return s.Name != *only
	case testing.Short():
		return !slices.Contains(quick, s.Name) || s.Options.Release != cluster.Newest
	}
	return s.Extra != *verdicts
}

// nameOf returns the name of a scenario's test: the scenario and the release.
func nameOf(s scenario.Scenario) string { return s.Name + "@" + string(s.Options.Release) }

// TestScenarios checks that kubeflap agrees with the recorder on every transition of every scenario. Scenarios that
// depend on the release also run on the oldest release. The five incidents must fire alerts with their cause and remedy,
// and a healthy day must fire none. Each scenario has its own cluster.
func TestScenarios(t *testing.T) {
	t.Parallel()
	kubeflap := buildKubeflap(t)
	releases := releases(t)
	// t.Run returns only after all parallel subtests of this group have ended.
	t.Run("all", func(t *testing.T) {
		all := slices.DeleteFunc(scenarios(releases), leftOut)
		if len(all) == 0 && *only != "" {
			t.Fatalf("no scenario %q", *only)
		}
		for _, s := range all {
			t.Run(nameOf(s), func(t *testing.T) {
				t.Parallel()
				options := recorded(s, session.Options{Kubeflap: kubeflap, Seed: *seed, Log: logger(t)})
				if s.Alerts != nil || s.Alerting() && s.Options.Release == releases[0] || *keep {
					options.Alerts = true
				}
				runScenario(t, s, options)
			})
		}
	})
}

// rawScenarios lists the scenarios whose watches are also recorded as bytes.
var rawScenarios = []string{"causes", "endpoints-reset", "in-place-upgrade", "large-service", "maintenance", "node-drain", "random", "relist"}

// recorded adds a recording to the options, with -record.
func recorded(s scenario.Scenario, options session.Options) session.Options {
	if *record != "" {
		options.Record = filepath.Join(*record, nameOf(s))
		options.Raw = slices.Contains(rawScenarios, s.Name) && s.Options.Release == cluster.Newest
	}
	return options
}

// longest is the timeout of a scenario. It is longer than any scenario takes on a slow machine, but shorter than the
// sum of all timeouts within a scenario.
const longest = 15 * time.Minute

// runScenario runs a scenario that must succeed. The cluster stops when the test ends.
func runScenario(t *testing.T, s scenario.Scenario, options session.Options) {
	t.Helper()
	limit := longest
	if *keep {
		limit = 24 * time.Hour
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	running, err := session.Run(ctx, s, options)
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	if *keep && running.Cluster != nil {
		t.Logf("running until interrupted: --kubeconfig=%s, %s/flaps (result: %v)", running.Cluster.Kubeconfig, running.URL, err)
		if running.Prometheus != nil {
			t.Logf("%s/alerts", running.Prometheus.URL)
		}
		interrupted, stop := signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
		<-interrupted.Done()
	}
	if err != nil && running.Truth != nil {
		t.Logf("what happened:\n%s", lastLines(running.Truth.Dump(), 200))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// buildKubeflap builds kubeflap and returns its path. It also builds all programs of the clusters, so that the compiler
// neither slows down a test nor counts toward its timeout.
func buildKubeflap(t *testing.T) string {
	t.Helper()
	err := steps.Run(func() {
		for _, release := range releases(t) {
			cluster.Build(t.Context(), logger(t), release)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeflap")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/kubeflap")
	cmd.Dir = ".."
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build kubeflap: %v\n%s", err, output)
	}
	return path
}

func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// TestEveryScenarioHasARecording checks that the unit tests of kubeflap can replay each scenario of each release.
func TestEveryScenarioHasARecording(t *testing.T) {
	for _, s := range scenarios(cluster.Releases()) {
		for _, suffix := range []string{".jsonl.gz", ".facts.jsonl.gz"} {
			path := filepath.Join("../cmd/kubeflap/testdata/lab", nameOf(s)+suffix)
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%v: run make lab-test SCENARIOS='-record DIRECTORY'", err)
			}
		}
	}
}
