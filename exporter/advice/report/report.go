// Package report produces the report of `kubeflap advise`: recommended changes to a cluster, based on what the tracker
// and the incidents show. It keeps no state.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track"
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
	// GracePeriods compares grace periods.
	GracePeriods controlplane.Table `json:"grace_periods"`
}

// Heartbeats compares the grace period with the observed intervals. Unknown numbers are 0.
type Heartbeats struct {
	Nodes       int                 `json:"nodes"`
	Grace       phrase.Seconds      `json:"grace_period_seconds"`
	GraceSource controlplane.Source `json:"grace_period_source"`
	// Observed is the number of intervals for which kubeflap saw both the first and the second heartbeat.
	Observed uint64         `json:"intervals_observed"`
	Longest  phrase.Seconds `json:"longest_interval_seconds"`
	// Expected is the expected heartbeat interval. Recommended is the grace period to set.
	Expected    phrase.Seconds `json:"expected_interval_seconds"`
	Recommended phrase.Seconds `json:"recommended_grace_period_seconds,omitempty"`
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
	Recommended phrase.Seconds `json:"recommended_grace_period_seconds,omitempty"`
}

// Of returns the advice for a cluster as of t. The parameter intervals is the number of heartbeat intervals. The table
// compares grace periods. Of returns an error if kubeflap has not listed all of the cluster's objects.
func Of(t time.Time, tracker *track.Tracker, incidents *correlate.Log, intervals uint64, table controlplane.Table) (Report, error) {
	c := cluster{
		grace: incidents.GracePeriod(t), nodes: tracker.Nodes(t, nil), silences: incidents.Silences(t), intervals: intervals,
		services: tracker.Services(t, nil), namespaces: tracker.Namespaces(t, nil), flags: tracker.ManagerFlags(),
	}
	if setting := tracker.GracePeriod(); setting.Period > 0 {
		c.source = setting.Source
	}
	for _, w := range tracker.Watches(t, nil) {
		switch {
		case w.Unavailable == event.ReasonAbsent: // kubeflap uses another resource instead
		case w.Unavailable != "":
			c.unwatched = append(c.unwatched, w)
		case !w.Synced:
			return Report{}, fmt.Errorf("the list of %s is not complete", w.Resource)
		}
		if w.LastEvent.After(c.now) {
			c.now = w.LastEvent
		}
	}
	return adviseOn(&c, table), nil
}

// adviseOn returns the advice for a cluster, with a comparison of grace periods.
func adviseOn(c *cluster, table controlplane.Table) Report {
	all := slices.Concat([]Recommendation{}, c.graceFinding(), c.fewHeartbeats(), c.nodeRecommendations(), c.settingRecommendations(),
		c.serviceRecommendations(), c.inPlaceRecommendations(), c.notWatched())
	slices.SortStableFunc(all, func(x, y Recommendation) int {
		rank := func(x Recommendation) int { return slices.Index([]string{bad, warning, note}, x.Severity) }
		return cmp.Or(rank(x)-rank(y), strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Service, y.Service))
	})
	return Report{
		Version: 1, Heartbeats: c.heartbeats(), Recommendations: all, GracePeriods: table,
		Advice: slices.ContainsFunc(all, func(x Recommendation) bool { return x.Severity != note }),
	}
}
