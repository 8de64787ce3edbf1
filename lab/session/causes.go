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
	// evidenceWithin is how long kubeflap may wait for the evidence of a loss.
	evidenceWithin = 1500 * time.Millisecond
	// lagPeriod is how often it is looked whether losses have their causes.
	lagPeriod = 100 * time.Millisecond

	lossesMetric   = "kubeflap_service_address_losses_total"
	lastLossMetric = "kubeflap_service_last_loss_timestamp_seconds"
	churnMetric    = "kubeflap_service_address_churn_total"
	flipsMetric    = "kubeflap_service_address_flips_total"
)

// tellsCauses waits until each Service has its losses by its one cause, and no loss has another.
func (s *Session) tellsCauses(ctx context.Context) error {
	// A loss that still waits for its evidence could be told wrong after the check.
	if err := poll.Sleep(ctx, evidenceWithin); err != nil {
		return err
	}
	return poll.Until(ctx, patience, "the right causes", func(ctx context.Context) error {
		counts, err := compare.Scrape(ctx, s.MetricsURL())
		if err != nil {
			return err
		}
		s.ToldCauses = map[string]string{}
		var right float64
		for _, want := range s.scenario.Causes {
			s.ToldCauses[want.Service] = causesIn(counts, lossesMetric, want.Service)
			n := counts.Sum(lossesMetric, "service", want.Service, "cause", want.Cause)
			if n < want.Addresses {
				return fmt.Errorf("%s lost %v by %q, want %v or more: %v", want.Service, n, want.Cause, want.Addresses, lossesIn(counts))
			}
			right += n
		}
		if all := counts.Sum(lossesMetric); all != right {
			return fmt.Errorf("%v losses have a wrong cause: %v", all-right, lossesIn(counts))
		}
		return tellsLastLosses(counts, s.scenario.LastLosses)
	})
}

// tellsLastLosses checks that the last loss of each Service has the cause that the scenario knows.
func tellsLastLosses(counts truth.Counts, want map[string]string) error {
	var errs []error
	for _, service := range slices.Sorted(maps.Keys(want)) {
		if told := causesIn(counts, lastLossMetric, service); told != want[service] {
			errs = append(errs, fmt.Errorf("the last loss of %s is told to be by %q, want %q", service, told, want[service]))
		}
	}
	return errors.Join(errs...)
}

// causesIn is the causes by which a metric tells something of a Service.
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

// lossesIn is for a person who has to see what went wrong.
func lossesIn(counts truth.Counts) truth.Counts {
	losses := truth.Counts{}
	for series, n := range counts {
		if truth.Name(series) == lossesMetric {
			losses[series] = n
		}
	}
	return losses
}

// lag watches /metrics until the returned function is called: for how long addresses were shown as
// gone while the causes of less of them were.
func (s *Session) lag(ctx context.Context) (stop func()) {
	if s.URL == "" || s.scenario.Causes == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan time.Duration)
	go func() {
		var longest time.Duration
		since := map[string]time.Time{}
		for poll.Sleep(ctx, lagPeriod) == nil {
			counts, err := compare.Scrape(ctx, s.MetricsURL())
			if err != nil {
				continue // the scenario itself takes the server away
			}
			now := time.Now()
			for _, loss := range s.scenario.Causes {
				if lost(counts, loss.Service) <= counts.Sum(lossesMetric, "service", loss.Service) {
					delete(since, loss.Service)
				} else if begin, ok := since[loss.Service]; ok {
					longest = max(longest, now.Sub(begin))
				} else {
					since[loss.Service] = now
				}
			}
		}
		result <- longest
	}()
	return func() {
		// What was lost at the very end has its cause a moment later.
		_ = poll.Sleep(ctx, evidenceWithin)
		cancel()
		s.Lag = <-result
	}
}

// lost is how many addresses of a Service are shown as lost, whatever the cause. In scenarios that
// look at causes all of them were ready.
func lost(counts truth.Counts, service string) float64 {
	return counts.Sum(churnMetric, "service", service, "change", "removed") + counts.Sum(flipsMetric, "service", service, "to", "not_ready")
}
