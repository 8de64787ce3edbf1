// Package report produces the report of `kubeflap advise`: recommended changes to a cluster, based on what the tracker
// and the incidents show. It keeps no state.
package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// Report is the advice for a cluster. docs/advise.md documents its JSON format. New versions may add fields, but they
// do not change existing fields.
type Report struct {
	Version int `json:"version"`
	// Advice reports whether a recommendation has the severity bad or warning.
	Advice          bool             `json:"advice"`
	Heartbeats      Heartbeats       `json:"heartbeats"`
	Recommendations []Recommendation `json:"findings"`
	Profiles        []Profile        `json:"profiles"`
	// GracePeriods compares grace periods.
	GracePeriods controlplane.Table `json:"grace_periods"`
}

// Heartbeats compares the grace period with the observed intervals. Unknown numbers are 0.
type Heartbeats struct {
	Nodes       int     `json:"nodes"`
	Grace       float64 `json:"grace_period_seconds"`
	GraceSource string  `json:"grace_period_source"`
	// Observed is the number of intervals for which kubeflap saw both the first and the second heartbeat.
	Observed uint64  `json:"intervals_observed"`
	Longest  float64 `json:"longest_interval_seconds"`
	// Renewals is the number of Lease renewals that fit into the grace period. A kubelet can miss all but one of them.
	Renewals int `json:"renewals_in_grace_period"`
	// Expected is the expected heartbeat interval. Recommended is the grace period to set.
	Expected    float64 `json:"expected_interval_seconds"`
	Recommended float64 `json:"recommended_grace_period_seconds,omitempty"`
	LeaseWrites float64 `json:"lease_writes_per_second"`
}

// The severities. A note does not change the exit status.
const (
	bad     = "bad"
	warning = "warning"
	note    = "note"
)

// Recommendation is one recommended change, or a note.
type Recommendation struct {
	// Kind is the subject of the recommendation. docs/advise.md lists the kinds.
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	// Namespace and Service are empty if the recommendation applies to the cluster.
	Namespace string `json:"namespace,omitempty"`
	Service   string `json:"service,omitempty"`
	// Services lists the namespace's Services that lost addresses.
	Services []string `json:"services,omitempty"`
	// Nodes lists the affected nodes, slowest first.
	Nodes []LateNode `json:"nodes,omitempty"`
	// Set describes the current setting, and Observed describes the measurements. Advice describes the change to make,
	// and Why describes the reason.
	Set      string `json:"set"`
	Observed string `json:"observed"`
	Advice   string `json:"advice"`
	Why      string `json:"why"`
	// Recommended is the grace period to set, or 0 if the advice does not change it.
	Recommended float64 `json:"recommended_grace_period_seconds,omitempty"`
}

// LateNode is a node with silences.
type LateNode struct {
	Node string `json:"node"`
	// Longest is the length of the longest silence that led to the recommendation, or 0 if unknown. Times counts these
	// silences. Last is the end of the newest one, or the time of the newest event if it is ongoing.
	Longest float64   `json:"longest_interval_seconds"`
	Times   uint64    `json:"times"`
	Last    time.Time `json:"last"`
	// Late and Missed count all heartbeats of the node that were late, whatever the reason.
	Late   uint64 `json:"heartbeats_late"`
	Missed uint64 `json:"heartbeats_missed"`

	// missed is set if one of the silences exceeded the grace period.
	missed bool
}

// Profile is a well-known combination of four settings, with its effects in the cluster.
type Profile struct {
	Name         string  `json:"name"`
	StatusUpdate float64 `json:"node_status_update_frequency_seconds"`
	Monitor      float64 `json:"node_monitor_period_seconds"`
	Grace        float64 `json:"node_monitor_grace_period_seconds"`
	// Eviction is --pod-eviction-timeout, which was removed in v1.27.
	Eviction float64 `json:"pod_eviction_timeout_seconds"`
	// StatusWrites is the number of status writes of all nodes per minute. It assumes that nodeStatusUpdateFrequency is
	// set in the configuration of each kubelet.
	StatusWrites float64 `json:"node_status_writes_per_minute"`
	Renewals     int     `json:"renewals_in_grace_period"`
	// Safe reports whether a kubelet can miss one renewal without its node becoming Unknown.
	Safe bool `json:"safe"`
}

// adviseOn returns the advice for a cluster, with a comparison of grace periods.
func adviseOn(c *cluster, table controlplane.Table) Report {
	all := slices.Concat([]Recommendation{}, c.graceFinding(), c.fewHeartbeats(), c.nodeRecommendations(), c.settingRecommendations(),
		serviceRecommendations(c.services), c.inPlaceRecommendations())
	for _, w := range c.unwatched {
		resource := w.Resource.String()
		all = append(all, Recommendation{
			Kind: "not_watched", Severity: note,
			Set:      "the watch of " + resource + ": " + string(w.Unavailable),
			Observed: "kubeflap cannot watch " + resource,
			Advice:   "let kubeflap list and watch " + resource + ", if the cluster has them",
			Why:      "the advice that needs " + resource + " is missing, so a report without findings does not mean that everything is fine.",
		})
	}
	slices.SortStableFunc(all, func(x, y Recommendation) int {
		rank := func(x Recommendation) int { return slices.Index([]string{bad, warning, note}, x.Severity) }
		return cmp.Or(rank(x)-rank(y), strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Service, y.Service))
	})
	r := Report{Version: 1, Heartbeats: c.summary(), Recommendations: all, GracePeriods: table}
	r.Advice = slices.ContainsFunc(all, func(x Recommendation) bool { return x.Severity != note })
	for _, p := range []Profile{
		{Name: "default", StatusUpdate: 10, Monitor: 5, Grace: 40, Eviction: 300},
		{Name: "fast", StatusUpdate: 4, Monitor: 2, Grace: 20, Eviction: 30},
		{Name: "medium", StatusUpdate: 20, Monitor: 5, Grace: 120, Eviction: 60},
		{Name: "slow", StatusUpdate: 60, Monitor: 5, Grace: 300, Eviction: 60},
	} {
		p.StatusWrites = rounded(float64(len(c.nodes)) * 60 / p.StatusUpdate)
		p.Renewals = renewals(advice.GracePeriod{Period: inSeconds(p.Grace), Interval: c.grace.Interval})
		p.Safe = p.Renewals > 1
		r.Profiles = append(r.Profiles, p)
	}
	return r
}
