// Package scenario makes the five incidents happen, and a few things more, with
// real components.
package scenario

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/proxy"
)

// patience is how long a scenario waits for what it expects to happen, on a slow machine too.
const patience = 3 * time.Minute

// Scenario is one fault and the way back.
type Scenario struct {
	Name    string
	Summary string
	// Options is the cluster it needs. A scenario that names a release exists on that one alone.
	Options cluster.Options
	// Extra says that there is no time for it in each run of all tests: make lab-verdicts runs it.
	Extra bool
	// ByRelease says that what happens depends on the release.
	ByRelease bool
	// Prepare creates the objects it needs, before anything is counted.
	Prepare func(context.Context, *Lab) error
	// Run makes the fault happen, sees to the recovery and returns an error if
	// the cluster did not do what it should. Who counts what is not its business,
	// but it fails when nothing was there to count.
	Run func(context.Context, *Lab) error
	// Blind breaks the watches of everybody who looks, kubeflap's too, and returns when
	// kubeflap sees again. What happened meanwhile can be lost to all, so Run is
	// run before it and once more after it, and both times all counts must be equal.
	Blind func(context.Context, *Lab) error
	// Proxied leads kubeflap's way to the API server through Lab.Proxy, for faults that nobody else has.
	Proxied bool
	// KubeflapOn is the API server that kubeflap uses, counted from 0, the first, which all others use.
	KubeflapOn int
	// NextScrape demands that the first scrape afterwards tells everything.
	NextScrape bool
	// Incident is what kubeflap must make of it; empty if that is not looked at.
	Incident Incident
	// Alone says that no other incident may name another verdict than it.
	Alone bool
	// Because is what the fact that decides for the incident's verdict must say.
	Because string
	// Advice is the kind of advice that kubeflap must give about the incident's nodes, and no other may be about them; empty if that is not looked at.
	Advice string
	// Told are all incidents that kubeflap must make of it. It may make no other.
	Told []Told
	// Advised is what `kubeflap advise` must say of it, NotAdvised is what it must not.
	Advised, NotAdvised []string
	// NoIncident demands that kubeflap makes no incident of it at all.
	NoIncident bool
	// Pages are the alerts that must reach whoever is paged, and no others may.
	Pages []Page
	// Quiet are the alerts that must fire and be kept back, because one of Pages says it already.
	Quiet []string
	// Causes is what each Service lost; with it no other Service may lose any.
	Causes []Loss
	// LastLosses are the causes of what each Service lost last, where what was done tells.
	LastLosses map[string]string
}

// Pageable reports whether it is looked at who is paged.
func (s *Scenario) Pageable() bool { return s.Pages != nil || s.Told != nil || s.NoIncident }

// Loss is what a Service loses.
type Loss struct {
	Service string
	// Cause is the one cause of all its losses; empty if no address may be lost.
	Cause string
	// Addresses is how many go at least: what it was exactly the truth tells.
	Addresses float64
	// What is done, as docs/causes.md tells it.
	What string
}

// Incident is the answer to why: its scope and cause, and what its remedy must name.
type Incident struct {
	Scope, Cause, Verdict, Remedy string
}

// Told is an incident as kubeflap's API must tell it: its verdict, whom it is about, and what Because must say: why that verdict holds or, of
// an undecided one, why the others may. The remedy must name Remedy.
type Told struct {
	Verdict, Scope, Subject, Because, Remedy string
}

// Page is an alert: the object that its text must name, and what else it must say. Remedy
// must be on kubeflap's page that it links to.
type Page struct {
	Alert, Object string
	Says          []string
	Remedy        string
}

// Lab is what a scenario works on: the steps that change the cluster, and the checks of what was counted and told.
type Lab struct {
	*Steps
	*Checks
	// Proxy is on kubeflap's way to the API server; nil unless the scenario wants it.
	Proxy *proxy.Proxy
	Log   *slog.Logger
	// Scraped waits until Prometheus has scraped the addresses of a Service, and then
	// kubeflap, so that it can see what comes next change; nil without Prometheus.
	Scraped func(ctx context.Context, namespace, service string) error
	// Seed makes the random scenario repeatable.
	Seed uint64
}

// NewLab is a lab on a running cluster.
func NewLab(c *cluster.Cluster, log *slog.Logger, seed uint64) *Lab {
	return &Lab{Steps: &Steps{Cluster: c, Client: c.Client}, Checks: &Checks{cluster: c}, Log: log, Seed: seed}
}

// All lists the scenarios as they are on a release, in the order of the incidents.
func All(release cluster.Release) []Scenario {
	all := []Scenario{
		heartbeatLoss(release),
		endpointsReset(),
		overwrittenBefore(),
		controlPlaneStall(),
		inPlaceUpgrade(),
		batchUpgrade(),
		policyUpgrade(),
		tightGracePeriod(),
		causes(release),
		kubeletRestart(),
		largeService(),
		healthyRollout(),
		nodeDrain(),
		singleReplicaDrain(),
		departures(),
		zoneCut(),
		nodeAfterNode(),
		foreignSlice(),
		shortFlap(),
		apiServerRestart(),
		apiServerStall(),
		controllerManagerStopped(release),
		controllerManagerCutOff(release),
		controllerManagerStale(release),
		circuitBreakerOpen(),
		apiServerUnreachable(),
		random(),
	}
	for i := range all {
		if all[i].Options.Release == "" {
			all[i].Options.Release = release
		}
	}
	return all
}

// Find returns the scenario of that name as it is on a release; without one on the newest on which it exists.
func Find(name string, release cluster.Release) (Scenario, error) {
	anyRelease := release == ""
	if anyRelease {
		release = cluster.Newest
	}
	for _, s := range append(All(release), Faults(release)...) {
		if s.Name != name {
			continue
		}
		if !anyRelease && s.Options.Release != release {
			return s, fmt.Errorf("%s can be seen on %s only, not on %s", name, s.Options.Release, release)
		}
		return s, nil
	}
	return Scenario{}, fmt.Errorf("no scenario %q", name)
}

// allOf runs steps in order up to the first that fails.
func allOf(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
