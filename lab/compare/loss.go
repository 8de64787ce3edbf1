package compare

import (
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	addressesLost = "kubeflap_service_addresses_lost_total"
	lossesByCause = "kubeflap_service_address_losses_total"
	lastLoss      = "kubeflap_service_last_loss_timestamp_seconds"
)

// addLosses adds aggregations over all causes to kubeflap's counts. The recorder has only these aggregations, and no
// causes.
func addLosses(reported truth.Counts) {
	for series, value := range reported {
		labels := withoutCause(series)
		switch truth.Name(series) {
		case lossesByCause:
			reported[truth.LossesOfAnyCause+labels] += value
		case lastLoss:
			reported[truth.LastLoss+labels] = max(reported[truth.LastLoss+labels], value)
			reported[truth.LastLossSeries+labels]++
		}
	}
}

// withoutCause returns the labels of a series except the label cause. It does not support label values that contain a
// comma.
func withoutCause(series string) string {
	labels := strings.Trim(series[len(truth.Name(series)):], "{}")
	pairs := slices.DeleteFunc(strings.Split(labels, ","), func(pair string) bool { return strings.HasPrefix(pair, "cause=") })
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
