package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/lab/truth"
)

// Tolerance is the maximum difference between two times, in seconds. Two watchers receive the same event within this
// time, even on a slow machine. The time between two heartbeats is longer, so a missing heartbeat is always found.
const Tolerance = 2

const (
	heartbeats    = "kubeflap_node_heartbeats_total"
	heartbeatAge  = "kubeflap_node_heartbeat_age_seconds"
	intervalMax   = "kubeflap_node_heartbeat_interval_max_seconds"
	intervalCount = "kubeflap_node_heartbeat_interval_seconds_count"
	intervalSum   = "kubeflap_node_heartbeat_interval_seconds_sum"
)

// metrics lists the metrics that the recorder also counts. kubeflap and the recorder must have the same series of these
// metrics.
func metrics() []string {
	return []string{
		"kubeflap_node_ready_transitions_total",
		heartbeats,
		heartbeatAge,
		intervalMax,
		intervalCount,
		intervalSum,
		"kubeflap_node_unready_seconds_total",
		"kubeflap_service_address_flips_total",
		"kubeflap_service_address_churn_total",
		"kubeflap_service_addresses",
		"kubeflap_service_outages_total",
		"kubeflap_service_address_bounces_total",
		"kubeflap_service_endpoints_resets_total",
		addressesLost,
		truth.LossesOfAnyCause,
		truth.LastLoss,
		truth.LastLossSeries,
		"kubeflap_pod_inplace_updates_total",
		"kubeflap_pod_silent_restarts_total",
	}
}

// Difference is a series whose two values differ. The value of a missing series is NaN.
type Difference struct {
	Series          string
	Truth, Reported float64
}

// Differences lists the series whose values differ between kubeflap and the recorder.
func Differences(want, reported truth.Counts) []Difference {
	return differing(func(d Difference) (Difference, bool) {
		return d, slices.Contains(metrics(), truth.Name(d.Series)) && !d.agree()
	}, want, reported)
}

// differing lists the differences for which the function found returns true. It calls the function with each series, and
// with the values of the first and the last counts.
func differing(found func(Difference) (Difference, bool), all ...truth.Counts) (differ []Difference) {
	series := map[string]bool{}
	for _, counts := range all {
		for s := range counts {
			series[s] = true
		}
	}
	for _, s := range slices.Sorted(maps.Keys(series)) {
		if d, ok := found(Difference{s, value(all[0], s), value(all[len(all)-1], s)}); ok {
			differ = append(differ, d)
		}
	}
	return differ
}

func value(c truth.Counts, series string) float64 {
	if v, ok := c[series]; ok {
		return v
	}
	return math.NaN()
}

func (d Difference) agree() bool {
	name := truth.Name(d.Series)
	switch {
	case math.IsNaN(d.Truth) && math.IsNaN(d.Reported):
		return true
	case name == "kubeflap_service_endpoints_resets_total" && !(d.Truth > 0) && !(d.Reported > 0):
		// docs/metrics.md does not say which series with the value 0 exist.
		return true
	case name == truth.LossesOfAnyCause && !(d.Truth > 0) && !(d.Reported > 0):
		// A cause without lost addresses has no series.
		return true
	case name == truth.LastLossSeries: // this value is a number of series, not a time
		return d.Truth == d.Reported
	case name == intervalSum:
		// The sum depends only on the first and the last heartbeat of each node. Each interval starts where the
		// previous interval ended, so the times of all heartbeats in between cancel out.
		return math.Abs(d.Truth-d.Reported) <= 3*Tolerance
	case isTime(name):
		return math.Abs(d.Truth-d.Reported) <= Tolerance
	default:
		return d.Truth == d.Reported
	}
}

// Table formats differences between the recorder and kubeflap as a table.
func Table(differences []Difference) string { return TableOf("truth", "kubeflap", differences) }

// TableOf formats differences as a table. first and second are the headers of the two columns.
func TableOf(first, second string, differences []Difference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%12s %12s  series\n", first, second)
	for _, d := range differences {
		fmt.Fprintf(&b, "%12s %12s  %s\n", number(d.Truth), number(d.Reported), d.Series)
	}
	return b.String()
}

func number(v float64) string {
	if math.IsNaN(v) {
		return "missing"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.3f", v), ".000")
}
