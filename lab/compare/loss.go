package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/poll"
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

// WatchLastLosses scrapes kubeflap once per period until the context ends. It returns an error if the time of a
// Service's last lost address went back. It ignores failed scrapes, because the final comparison reports such errors.
func (c Comparison) WatchLastLosses(ctx context.Context, period time.Duration) (wentBack error) {
	var last truth.Counts
	for poll.Sleep(ctx, period) == nil {
		reported, err := Scrape(ctx, c.URL)
		if err != nil {
			continue
		}
		if wentBack == nil {
			wentBack = WentBack(last, reported)
		}
		last = reported
	}
	return wentBack
}

// WentBack compares two scrapes. It returns an error if the later scrape has an earlier time for a Service's last lost
// address. Services that were deleted and recreated between the scrapes cause no error.
func WentBack(earlier, later truth.Counts) error {
	var lines []string
	for series, was := range earlier {
		if is, still := later[series]; still && truth.Name(series) == truth.LastLoss && is < was {
			lines = append(lines, fmt.Sprintf("%s was %.3f and then %.3f", series, was, is))
		}
	}
	if lines == nil {
		return nil
	}
	slices.Sort(lines)
	return fmt.Errorf("a last loss went back in time:\n%s", strings.Join(lines, "\n"))
}
