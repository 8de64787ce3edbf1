// Package report produces the report of `kubeflap advise`: recommended changes to a cluster, based on kubeflap's
// metrics. It keeps no state.
package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/grace"
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
	GracePeriods grace.Table `json:"grace_periods"`
}

// Heartbeats compares the grace period with the observed intervals. Unknown numbers are 0.
type Heartbeats struct {
	Nodes       int     `json:"nodes"`
	Grace       float64 `json:"grace_period_seconds"`
	GraceSource string  `json:"grace_period_source"`
	// Observed is the number of intervals for which kubeflap saw both the first and the second heartbeat.
	Observed uint64  `json:"intervals_observed"`
	Typical  float64 `json:"typical_interval_seconds"`
	Longest  float64 `json:"longest_interval_seconds"`
	// Margin is the grace period divided by the longest interval.
	Margin float64 `json:"margin"`
	// Renewals is the number of Lease renewals that fit into the grace period. A kubelet can miss all but one of them.
	Renewals int `json:"renewals_in_grace_period"`
	// Expected is the expected heartbeat interval. Recommended is the grace period to set.
	Expected    float64 `json:"expected_interval_seconds"`
	Recommended float64 `json:"recommended_grace_period_seconds,omitempty"`
	LeaseWrites float64 `json:"lease_writes_per_second"`
}

// Severity is the urgency of a recommendation.
type Severity string

// The severities. A note does not change the exit status.
const (
	Bad     Severity = "bad"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Kind is the subject of a recommendation.
type Kind string

// The kinds of recommendations.
const (
	// GracePeriodUnsafe means that the grace period is shorter than two renewal intervals.
	GracePeriodUnsafe Kind = "grace_period_unsafe"
	// GracePeriodTight means that the longest interval exceeds half the grace period.
	GracePeriodTight Kind = "grace_period_tight"
	// GracePeriodLong means that dead nodes are detected later than necessary.
	GracePeriodLong Kind = "grace_period_long"
	// GracePeriodSource means that the grace period is assumed, measured or unknown.
	GracePeriodSource Kind = "grace_period_source"
	// NodesSlow means that some nodes send their heartbeats late.
	NodesSlow Kind = "nodes_slow"
	// NodesSilent means that some nodes were silent for longer than any reasonable grace period.
	NodesSilent Kind = "nodes_silent"
	// ControlPlaneLate means that nodes with a shared path to the API are late at the same time or one after another.
	ControlPlaneLate Kind = "control_plane_late"
	// ControllerManagerSlow means that the node controller set nodes to Unknown although their heartbeats were on time,
	// or left nodes Ready although they were silent.
	ControllerManagerSlow Kind = "controller_manager_slow"
	// NodesRebooted means that some machines restarted without an announcement.
	NodesRebooted Kind = "nodes_rebooted"
	// KubeletsUpgraded means that some kubelets were silent during an upgrade.
	KubeletsUpgraded Kind = "kubelets_upgraded"
	// ClocksSetBack means that heartbeats did not count because the clocks of some nodes were set back.
	ClocksSetBack Kind = "clocks_set_back"
	// Undecided means that some nodes were lost and the evidence does not show the reason.
	Undecided Kind = "undecided"
	// ControllerManagerFlag means that a flag of the kube-controller-manager differs from the profiles enough to need a
	// change.
	ControllerManagerFlag Kind = "controller_manager_flag"
	// ShortTolerations means that pods are evicted soon after their node stops being Ready.
	ShortTolerations Kind = "short_tolerations"
	// SelectorConflict means that a Service has manually managed Endpoints and a selector that matches no pod.
	SelectorConflict Kind = "selector_conflict"
	// ForeignAddresses means that a Service with a selector has addresses that neither Kubernetes nor a known manager
	// wrote.
	ForeignAddresses Kind = "foreign_addresses"
	// EndpointsEmptied means that somebody empties the manually managed Endpoints of a Service without a selector.
	EndpointsEmptied Kind = "endpoints_emptied"
	// InPlaceUpdates means that pods are updated in place and no readiness gate takes them out of rotation first.
	InPlaceUpdates Kind = "inplace_updates"
	// FewHeartbeats means that there were too few heartbeats to judge the grace period.
	FewHeartbeats Kind = "few_heartbeats"
	// NotWatched means that a resource cannot be watched.
	NotWatched Kind = "not_watched"
)

// Recommendation is one recommended change, or a note.
type Recommendation struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
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

// LateNode is a node with late heartbeats.
type LateNode struct {
	Node    string  `json:"node"`
	Longest float64 `json:"longest_interval_seconds"`
	Late    uint64  `json:"heartbeats_late"`
	Missed  uint64  `json:"heartbeats_missed"`
	// Times counts the silences that led to the recommendation. Last is the time of the newest of these silences. Both
	// are zero if unknown.
	Times uint64    `json:"times,omitempty"`
	Last  time.Time `json:"last,omitzero"`
}

// Of returns the advice for a cluster. The caller sets the field GracePeriods.
func Of(c Cluster) Report {
	b := judge(c)
	all := []Recommendation{}
	for _, part := range [][]Recommendation{
		b.recommendations(), settingRecommendations(c, b), serviceRecommendations(c.Services), inPlaceRecommendations(c), watchRecommendations(c.Unwatched),
	} {
		all = append(all, part...)
	}
	slices.SortStableFunc(all, func(x, y Recommendation) int {
		return cmp.Or(rank(x.Severity)-rank(y.Severity), strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Service, y.Service))
	})
	r := Report{Version: 1, Heartbeats: b.summary(), Recommendations: all, Profiles: profiles(len(c.Nodes), b.heartbeatInterval)}
	r.Advice = slices.ContainsFunc(all, func(x Recommendation) bool { return x.Severity != Note })
	return r
}

func rank(s Severity) int { return slices.Index([]Severity{Bad, Warning, Note}, s) }

func watchRecommendations(unwatched []Unwatched) (all []Recommendation) {
	for _, w := range unwatched {
		all = append(all, Recommendation{
			Kind: NotWatched, Severity: Note,
			Set:      "the watch of " + w.Resource + ": " + w.Reason,
			Observed: "kubeflap cannot watch " + w.Resource,
			Advice:   "let kubeflap list and watch " + w.Resource + ", if the cluster has them",
			Why:      "the advice that needs " + w.Resource + " is missing, so a report without findings does not mean that everything is fine.",
		})
	}
	return all
}
