package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	// calmFor is how long a test waits for an unexpected incident. It exceeds the time for which kubeflap waits for
	// replacements of lost addresses before it opens an incident.
	calmFor = 12 * time.Second
)

// checkReports checks kubeflap's causes, advice and incidents.
func (s *Session) checkReports(ctx context.Context) error {
	if s.URL == "" {
		return nil
	}
	if s.scenario.Causes != nil {
		if err := s.reportsCauses(ctx); err != nil {
			return err
		}
	}
	if err := reportsAdvice(ctx, s.options.Kubeflap, s.URL, s.scenario); err != nil {
		return err
	}
	if s.scenario.Reports != nil {
		return reportsAll(ctx, s.URL, s.scenario.Reports)
	}
	if s.scenario.NoIncident {
		return checkNoIncident(ctx, s.URL)
	}
	if s.scenario.Incident == (scenario.Incident{}) {
		return nil
	}
	return s.reportsIncident(ctx)
}

// reportsIncident waits until kubeflap reports the scenario's incident, and a cause for every lost address.
func (s *Session) reportsIncident(ctx context.Context) error {
	return poll.Until(ctx, patience, "the expected incident", func(ctx context.Context) error {
		if err := s.lossesHaveCauses(ctx); err != nil {
			return err
		}
		x, err := s.incident(ctx)
		if err == nil {
			s.options.Log.Info("kubeflap reports the incident", "summary", x.Summary, "verdict", x.Verdict, "because", x.Because(), "remedy", x.Remedy)
			s.ReportedIncident = x.Cause
		}
		return err
	})
}

// incident returns the reported incident that the scenario expects, or an error if kubeflap does not report it.
func (s *Session) incident(ctx context.Context) (compare.Incident, error) {
	want := s.scenario.Incident
	reported, err := compare.Incidents(ctx, s.URL)
	if err != nil {
		return compare.Incident{}, err
	}
	for _, x := range reported.Incidents {
		if x.State != "pending" && x.Scope == want.Scope && x.Cause == want.Cause && x.Verdict == want.Verdict && strings.Contains(x.Remedy, want.Remedy) &&
			strings.Contains(x.Because(), s.scenario.Because) {
			if s.scenario.Alone {
				err = namesNoOther(reported, want.Verdict)
			}
			return x, err
		}
	}
	return compare.Incident{}, fmt.Errorf("no incident %+v among %+v", want, reported.Incidents)
}

// namesNoOther checks that all reported incidents have the given verdict.
func namesNoOther(reported compare.Answer, verdict string) error {
	var errs []error
	for _, x := range reported.Incidents {
		if x.State != "pending" && x.Verdict != verdict {
			errs = append(errs, fmt.Errorf("only the verdict %s is expected, got %+v", verdict, x))
		}
	}
	return errors.Join(errs...)
}

// checkNoIncident checks that kubeflap reports no incident. It repeats this check after the time calmFor.
func checkNoIncident(ctx context.Context, url string) error {
	check := func() error {
		reported, err := compare.Incidents(ctx, url)
		if err == nil && len(reported.Incidents) > 0 {
			err = fmt.Errorf("want no incident, got %+v", reported.Incidents)
		}
		return err
	}
	if err := check(); err != nil {
		return err
	}
	if err := poll.Sleep(ctx, calmFor); err != nil {
		return err
	}
	return check()
}

// lossesHaveCauses checks that no lost address has the cause "unknown". It also compares the cause of each Service's
// last lost address with the expected cause.
func (s *Session) lossesHaveCauses(ctx context.Context) error {
	counts, err := compare.Scrape(ctx, s.comparison().URL)
	if err != nil {
		return err
	}
	for series, n := range counts {
		if n > 0 && truth.Name(series) == lossesMetric && strings.Contains(series, `cause="unknown"`) {
			return fmt.Errorf("unexpected value of %s: %v", series, n)
		}
	}
	return reportsLastLosses(counts, s.scenario.LastLosses)
}
