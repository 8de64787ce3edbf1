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
	"github.com/kubeflap/kubeflap/lab/scenario"
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
		for _, want := range s.scenario.Causes {
			s.ReportedCauses[want.Service] = causesIn(counts, lossesMetric, want.Service)
			if n := counts.Sum(lossesMetric, "service", want.Service, "cause", want.Cause); n < want.Addresses {
				return fmt.Errorf("%s: %v losses by %q, want at least %v: %v", want.Service, n, want.Cause, want.Addresses, s.ReportedCauses)
			}
		}
		return lossesHaveCauses(counts, &s.scenario)
	})
}

// lossesHaveCauses checks that each lost address, and the last one of each Service, has the cause that the scenario
// defines. If the scenario defines none, the cause must not be "unknown".
func lossesHaveCauses(counts truth.Counts, s *scenario.Scenario) error {
	var errs []error
	for series, n := range counts {
		if name := truth.Name(series); n == 0 || name != lossesMetric && name != lastLossMetric {
			continue
		}
		want, defined := s.CauseOfLoss(labelOf(series, "namespace") + "/" + labelOf(series, "service"))
		if is := labelOf(series, "cause"); defined && is != want || !defined && is == "unknown" {
			errs = append(errs, fmt.Errorf("%s is %v, want the cause %q", series, n, want))
		}
	}
	return errors.Join(errs...)
}

// labelOf returns the value of a label of a series.
func labelOf(series, label string) string {
	_, value, _ := strings.Cut(series, label+`="`)
	value, _, _ = strings.Cut(value, `"`)
	return value
}

// causesIn returns the causes in a Service's series of the given metric, separated by commas.
func causesIn(counts truth.Counts, metric, service string) string {
	causes := map[string]bool{}
	for series, n := range counts {
		if n > 0 && truth.Name(series) == metric && labelOf(series, "service") == service {
			causes[labelOf(series, "cause")] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(causes)), ", ")
}
