// Package report is `kubeflap advise`: what to change in a cluster, from the numbers that kubeflap counted. It keeps no state: metrics go in,
// recommendations come out.
package report

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Report is the advice on a cluster. Its JSON is documented in docs/advise.md: fields are added, not changed.
type Report struct {
	Version int `json:"version"`
	// Advice: some recommendation is bad or a warning.
	Advice          bool             `json:"advice"`
	Heartbeats      Heartbeats       `json:"heartbeats"`
	Recommendations []Recommendation `json:"findings"`
	Profiles        []Profile        `json:"profiles"`
}

// Heartbeats compares the grace period with the observed intervals. Unknown numbers are 0.
type Heartbeats struct {
	Nodes       int     `json:"nodes"`
	Grace       float64 `json:"grace_period_seconds"`
	GraceSource string  `json:"grace_period_source"`
	// Observed counts the intervals of which both heartbeats were seen.
	Observed uint64  `json:"intervals_observed"`
	Typical  float64 `json:"typical_interval_seconds"`
	Longest  float64 `json:"longest_interval_seconds"`
	// Margin is the grace period divided by the longest interval.
	Margin float64 `json:"margin"`
	// Renewals is how many renewals of a Lease fit into the grace period. One less may be missed.
	Renewals int `json:"renewals_in_grace_period"`
	// Expected is how often heartbeats are due, Recommended the grace period to set.
	Expected    float64 `json:"expected_interval_seconds"`
	Recommended float64 `json:"recommended_grace_period_seconds,omitempty"`
	LeaseWrites float64 `json:"lease_writes_per_second"`
}

// Severity says how urgent a recommendation is.
type Severity string

// The severities. A note does not change the exit status.
const (
	Bad     Severity = "bad"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Kind is what a recommendation is about.
type Kind string

// The kinds of Recommendation.
const (
	// GracePeriodUnsafe: below two renewals of a Lease.
	GracePeriodUnsafe Kind = "grace_period_unsafe"
	// GracePeriodTight: the longest interval comes close to the grace period, or exceeds it.
	GracePeriodTight Kind = "grace_period_tight"
	// GracePeriodLong: dead nodes are detected later than necessary.
	GracePeriodLong Kind = "grace_period_long"
	// GracePeriodSource: the grace period is the default, was measured, or is not known.
	GracePeriodSource Kind = "grace_period_source"
	// NodesSlow: some nodes send their heartbeats late.
	NodesSlow Kind = "nodes_slow"
	// NodesSilent: some nodes sent no heartbeat for longer than any grace period should be.
	NodesSilent Kind = "nodes_silent"
	// ControlPlaneLate: nodes that share a way to the API are late at the same time, or one after the other.
	ControlPlaneLate Kind = "control_plane_late"
	// ControllerManagerSlow: the node controller marked nodes whose heartbeats were in time, or leaves silent nodes Ready.
	ControllerManagerSlow Kind = "controller_manager_slow"
	// NodesRebooted: some machines restarted, and nothing had announced that.
	NodesRebooted Kind = "nodes_rebooted"
	// KubeletsUpgraded: some kubelets were silent while they were replaced by another version.
	KubeletsUpgraded Kind = "kubelets_upgraded"
	// ClocksSetBack: the clocks of some nodes were set back, so their heartbeats did not count.
	ClocksSetBack Kind = "clocks_set_back"
	// Undecided: some nodes were lost, and the evidence does not show why.
	Undecided Kind = "undecided"
	// ControllerManagerFlag: a flag of the kube-controller-manager differs from what the profiles assume, and matters.
	ControllerManagerFlag Kind = "controller_manager_flag"
	// ShortTolerations: pods are evicted soon after their node is not Ready.
	ShortTolerations Kind = "short_tolerations"
	// SelectorConflict: a Service has manually managed Endpoints and a selector.
	SelectorConflict Kind = "selector_conflict"
	// ForeignAddresses: a Service has addresses beside its selector that neither Kubernetes nor a known manager wrote.
	ForeignAddresses Kind = "foreign_addresses"
	// EndpointsEmptied: someone empties the manually managed Endpoints of a Service without a selector.
	EndpointsEmptied Kind = "endpoints_emptied"
	// InPlaceUpdates: pods are updated in place and no readiness gate takes them out of rotation first.
	InPlaceUpdates Kind = "inplace_updates"
	// FewHeartbeats: too little was observed to judge the grace period.
	FewHeartbeats Kind = "few_heartbeats"
	// NotWatched: a resource cannot be watched.
	NotWatched Kind = "not_watched"
)

// Recommendation is one thing to change, or to know.
type Recommendation struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	// Namespace and Service are empty if it is about the cluster.
	Namespace string `json:"namespace,omitempty"`
	Service   string `json:"service,omitempty"`
	// Services are those of the namespace that lost addresses.
	Services []string `json:"services,omitempty"`
	// Nodes are the late ones, the slowest first.
	Nodes []LateNode `json:"nodes,omitempty"`
	// Set is the current setting, Observed the numbers, Advice the change to make, Why the reason. Each is a sentence.
	Set      string `json:"set"`
	Observed string `json:"observed"`
	Advice   string `json:"advice"`
	Why      string `json:"why"`
	// Recommended is the grace period to set, 0 if the advice is another.
	Recommended float64 `json:"recommended_grace_period_seconds,omitempty"`
}

// LateNode is a node with late heartbeats.
type LateNode struct {
	Node    string  `json:"node"`
	Longest float64 `json:"longest_interval_seconds"`
	Late    uint64  `json:"heartbeats_late"`
	Missed  uint64  `json:"heartbeats_missed"`
	// Times is how often the finding applied to the node, and Last when it did last; 0 and zero if that is not known.
	Times uint64    `json:"times,omitempty"`
	Last  time.Time `json:"last,omitzero"`
}

// Of gives the advice on a cluster.
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
	r := Report{Version: 1, Heartbeats: b.summary(), Recommendations: all, Profiles: profiles(len(c.Nodes), b.every)}
	r.Advice = slices.ContainsFunc(all, func(x Recommendation) bool { return x.Severity != Note })
	return r
}

func rank(s Severity) int { return slices.Index([]Severity{Bad, Warning, Note}, s) }

func watchRecommendations(unwatched []Unwatched) (all []Recommendation) {
	for _, w := range unwatched {
		all = append(all, Recommendation{
			Kind: NotWatched, Severity: Note,
			Set:      "the watch of " + w.Resource + ": " + w.Reason,
			Observed: "nothing of " + w.Resource,
			Advice:   "let kubeflap list and watch " + w.Resource + ", if the cluster has them",
			Why:      "this report lacks the advice that needs " + w.Resource + ": no advice does not mean that all is well.",
		})
	}
	return all
}
