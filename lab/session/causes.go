package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	// evidenceWithin is how long to wait for kubeflap to determine the cause of a lost address. It can be too short if
	// a watch lags.
	evidenceWithin = 1500 * time.Millisecond

	lossesMetric   = "kubeflap_service_address_losses_total"
	lastLossMetric = "kubeflap_service_last_loss_timestamp_seconds"
)

// reportsCauses waits until each Service has lost enough addresses with the expected cause, and no Service has lost an
// address with another cause.
func (s *Session) reportsCauses(ctx context.Context) error {
	// Wait until kubeflap has determined the cause of each lost address. Otherwise, the check could miss a wrong cause.
	if err := poll.Sleep(ctx, evidenceWithin); err != nil {
		return err
	}
	return poll.Until(ctx, patience, "the expected causes", func(ctx context.Context) error {
		counts, err := compare.Scrape(ctx, s.MetricsURL())
		if err != nil {
			return err
		}
		s.ReportedCauses = map[string]string{}
		var right float64
		for _, want := range s.scenario.Causes {
			s.ReportedCauses[want.Service] = causesIn(counts, lossesMetric, want.Service)
			n := counts.Sum(lossesMetric, "service", want.Service, "cause", want.Cause)
			if n < want.Addresses {
				return fmt.Errorf("%s: %v losses by %q, want at least %v: %v", want.Service, n, want.Cause, want.Addresses, lossesIn(counts))
			}
			right += n
		}
		if all := counts.Sum(lossesMetric); all != right {
			return fmt.Errorf("%v losses have an unexpected cause: %v", all-right, lossesIn(counts))
		}
		return reportsLastLosses(counts, s.scenario.LastLosses)
	})
}

// reportsLastLosses compares the cause of each Service's last lost address with the expected cause.
func reportsLastLosses(counts truth.Counts, want map[string]string) error {
	var errs []error
	for _, service := range slices.Sorted(maps.Keys(want)) {
		if reported := causesIn(counts, lastLossMetric, service); reported != want[service] {
			errs = append(errs, fmt.Errorf("last loss of %s: got cause %q, want %q", service, reported, want[service]))
		}
	}
	return errors.Join(errs...)
}

// causesIn returns the causes in a Service's series of the given metric, separated by commas.
func causesIn(counts truth.Counts, metric, service string) string {
	causes := map[string]bool{}
	for series, n := range counts {
		if n > 0 && truth.Name(series) == metric && strings.Contains(series, fmt.Sprintf("service=%q", service)) {
			_, cause, _ := strings.Cut(series, `cause="`)
			cause, _, _ = strings.Cut(cause, `"`)
			causes[cause] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(causes)), ", ")
}

// lossesIn returns the series of lost addresses by cause, for error messages.
func lossesIn(counts truth.Counts) truth.Counts {
	losses := truth.Counts{}
	for series, n := range counts {
		if truth.Name(series) == lossesMetric {
			losses[series] = n
		}
	}
	return losses
}
