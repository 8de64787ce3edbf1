// Package scenario reproduces the five original incidents and other faults, with real components of Kubernetes.
package scenario

import (
	"strings"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// Scenario is a fault and its recovery.
type Scenario struct {
	Name    string
	Summary string
	// Options configures the cluster. If Options.Release is set, the scenario runs only on that release.
	Options cluster.Options
	// Extra means that the scenario takes too long for normal test runs. Run it with make lab-test SCENARIOS=-verdicts.
	Extra bool
	// ByRelease means that the result depends on the release.
	ByRelease bool
	// Prepare creates objects before anything is counted.
	Prepare func(*Lab)
	// Run causes the fault and the recovery. It fails if the cluster did not react as expected, or if there was nothing
	// to count. It does not check kubeflap's counts.
	Run func(*Lab)
	// Blind breaks the watches of kubeflap, and possibly those of other observers. It returns when kubeflap's watches
	// work again. In the meantime, observers can miss events. Therefore, the lab calls Run once before and once after
	// Blind, and compares the counts of kubeflap and the recorder after each call.
	Blind func(*Lab)
	// Proxied connects kubeflap to the API server through Lab.Proxy, for faults that affect only kubeflap.
	Proxied bool
	// Reports lists all incidents that kubeflap must report. If it is nil, incidents are not checked. If it is empty,
	// kubeflap must report none.
	Reports []Report
	// Repeats means that kubeflap may report each of these incidents more than once.
	Repeats bool
	// Alerts lists alerts that must fire. If it is empty but not nil, no alert may fire.
	Alerts []Alert
	// Causes lists the expected losses of addresses by Service. If it is set, all other Services are expected to lose
	// none.
	Causes []Loss
	// LossesBy is the cause of each lost address of a Service that is not in Causes. If it is empty, the scenario does not
	// define the cause.
	LossesBy string
}

// CauseOfLoss returns the cause of each address that a Service loses, given as namespace and name, and whether the
// scenario defines it. The cause is empty if the Service must not lose any address.
func (s *Scenario) CauseOfLoss(service string) (cause string, defined bool) {
	_, name, _ := strings.Cut(service, "/")
	for _, loss := range s.Causes {
		if loss.Service == name {
			return loss.Cause, true
		}
	}
	return s.LossesBy, s.LossesBy != "" || s.Causes != nil
}

// Alerting reports whether the scenario defines which alerts must fire.
func (s *Scenario) Alerting() bool { return s.Alerts != nil || s.Healthy() }

// Healthy reports whether the scenario expects that kubeflap reports no incident.
func (s *Scenario) Healthy() bool { return s.Reports != nil && len(s.Reports) == 0 }

// Loss says how many addresses a Service is expected to lose, and why.
type Loss struct {
	Service string
	// Cause is the cause of each lost address. If it is empty, the Service is expected to lose no address.
	Cause string
	// Addresses is the minimum number of lost addresses. The recorder knows the exact number.
	Addresses float64
	// The field What describes the fault.
	What string
}

// Report is an incident that kubeflap's API must report. The facts that decide the verdict must contain the text in
// Because. If the verdict is undecided, this text must be in the facts about the hypotheses that may still hold. The
// remedy must contain the text in Remedy. An empty Subject is not compared.
type Report struct {
	Verdict, Scope, Cause, Subject, Because, Remedy string
}

// Alert is an expected alert. Its text must name Object and contain all texts in Says. The web page to which the alert
// links must contain the text Remedy.
type Alert struct {
	Name, Object string
	Says         []string
	Remedy       string
}

// All returns the scenarios for a release. Those that reproduce the original incidents come first.
func All(release cluster.Release) []Scenario {
	all := []Scenario{
		heartbeatLoss(release),
		endpointsReset(),
		controlPlaneStall(release),
		inPlaceUpgrade(),
		batchUpgrade(),
		policyUpgrade(),
		tightGracePeriod(),
		causes(release),
		kubeletRestart(),
		largeService(),
		healthyRollout(),
		nodeDrain(),
		maintenance(),
		apiServerRestart(),
		apiServerStall(),
		controllerManagerStopped(release),
		controllerManagerStale(release),
		circuitBreakerOpen(),
		etcdStall(),
		random(),
		relist(release),
	}
	all = append(all, watchFaults(release)...)
	for i := range all {
		if all[i].Options.Release == "" {
			all[i].Options.Release = release
		}
	}
	return all
}
