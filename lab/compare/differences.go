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
	case name == truth.AddressesLost, name == truth.Outages:
		// kubeflap counts a loss or an outage once its class is final, up to 5 minutes later. The replays of recordings
		// (TestLabRecordings) compare the final counts.
		return d.Reported <= d.Truth
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

// Unlike compares two kubeflap instances that received the same events in a different order, and returns the
// differences. It compares the counters, and the causes of each Service's last lost address. In each Difference, Truth
// is the value of the first instance.
func Unlike(first, second truth.Counts) []Difference {
	return differing(func(d Difference) (Difference, bool) { return d, !d.same() }, orderless(first), orderless(second))
}

// same compares the two values more strictly than the method agree does. A series with the value 0 must exist in both
// instances.
func (d Difference) same() bool {
	if name := truth.Name(d.Series); name != lastLoss && isTime(name) {
		return d.agree()
	}
	return d.Truth == d.Reported
}

// orderless returns the series whose values must not depend on the order of events from different watches.
func orderless(reported truth.Counts) truth.Counts {
	kept := truth.Counts{}
	for series, value := range reported {
		switch name := truth.Name(series); {
		case !strings.HasPrefix(name, "kubeflap_"), strings.HasPrefix(name, "kubeflap_watch_"),
			strings.HasPrefix(name, "kubeflap_endpoints_propagation_seconds"), strings.HasPrefix(name, "kubeflap_endpoints_propagations_"), name == "kubeflap_service_stale_readds_total":
			// Drop metrics of the process and of the watches. Also drop metrics that combine events of two watches.
		case name == lastLoss:
			// Compare only whether the series exists. Its value depends on when the instance received the event.
			kept[series] = 1
		case strings.HasSuffix(name, "_total"), strings.HasSuffix(name, "_count"):
			kept[series] = value
		}
	}
	return kept
}

const (
	lossesByCause  = "kubeflap_service_address_losses_total"
	lossesByClass  = "kubeflap_service_addresses_lost_total"
	outagesByClass = "kubeflap_service_outages_total"
	lastLoss       = "kubeflap_service_last_loss_timestamp_seconds"
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
		case lastLoss:
			reported[truth.LastLoss+labels] = max(reported[truth.LastLoss+labels], value)
			reported[truth.LastLossSeries+labels]++
		}
	}
}

// withoutReason returns the labels of a series except the labels cause and class. It does not support label values that
// contain a comma.
func withoutReason(series string) string {
	labels := strings.Trim(series[len(truth.Name(series)):], "{}")
	pairs := slices.DeleteFunc(strings.Split(labels, ","), func(pair string) bool {
		return strings.HasPrefix(pair, "cause=") || strings.HasPrefix(pair, "class=")
	})
	return "{" + strings.Join(pairs, ",") + "}"
}

// ofLossByCause reports whether the series is an aggregation over the causes of lost addresses.
func (d Difference) ofLossByCause() bool {
	switch truth.Name(d.Series) {
	case truth.LossesOfAnyCause, truth.LastLoss, truth.LastLossSeries:
		return true
	}
	return false
}

// plain removes an aggregation such as sum() from a metric name.
func plain(name string) string {
	if _, inner, ok := strings.Cut(name, "("); ok {
		return strings.TrimSuffix(inner, ")")
	}
	return name
}
