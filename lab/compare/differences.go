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
		heartbeatAge,
		intervalMax,
		intervalCount,
		intervalSum,
		truth.UnreadyOfAnyClass,
		"kubeflap_service_address_flips_total",
		"kubeflap_service_addresses",
		"kubeflap_service_endpoints_resets_total",
		truth.Outages,
		truth.AddressesLost,
		truth.LossesOfAnyCause,
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
func Differences(want, reported truth.Counts) (differ []Difference) {
	all := maps.Clone(want)
	maps.Copy(all, reported)
	for _, s := range slices.Sorted(maps.Keys(all)) {
		d := Difference{s, value(want, s), value(reported, s)}
		if slices.Contains(metrics(), truth.Name(s)) && !d.agree() {
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
	case name == truth.AddressesLost, name == truth.Outages:
		// kubeflap counts a loss or an outage once its class is final, up to 5 minutes later. The replays of recordings
		// (TestLabRecordings) compare the final counts.
		return d.Reported <= d.Truth
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
func Table(differences []Difference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%12s %12s  series\n", "truth", "kubeflap")
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

const (
	lossesByCause  = "kubeflap_service_address_losses_total"
	lossesByClass  = "kubeflap_service_addresses_lost_total"
	outagesByClass = "kubeflap_service_outages_total"
)

// addLosses adds aggregations over all causes and classes to kubeflap's counts. The recorder has only these
// aggregations.
func addLosses(reported truth.Counts) {
	for series, value := range maps.Clone(reported) {
		labels := withoutReason(series)
		switch truth.Name(series) {
		case lossesByClass:
			reported[truth.AddressesLost+labels] += value
		case outagesByClass:
			reported[truth.Outages+labels] += value
		case "kubeflap_node_unready_seconds_total":
			reported[truth.UnreadyOfAnyClass+labels] += value
		case lossesByCause:
			reported[truth.LossesOfAnyCause+labels] += value
		}
	}
}

// withoutReason returns the labels of a series except the labels cause and class. It does not support label values that
// contain a comma.
func withoutReason(series string) string {
	labels := strings.Trim(series[len(truth.Name(series)):], "{}")
	pairs := slices.DeleteFunc(strings.Split(labels, ", "), func(pair string) bool {
		return strings.HasPrefix(pair, "cause=") || strings.HasPrefix(pair, "class=")
	})
	return "{" + strings.Join(pairs, ", ") + "}"
}

// plain removes an aggregation such as sum() from a metric name.
func plain(name string) string {
	if _, inner, ok := strings.Cut(name, "("); ok {
		return strings.TrimSuffix(inner, ")")
	}
	return name
}
