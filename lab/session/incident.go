package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/scenario"
)

// calmFor is how long a test waits for an unexpected incident. It exceeds the time for which kubeflap waits for
// replacements of lost addresses before it opens an incident.
const calmFor = 12 * time.Second

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
	switch {
	case s.scenario.Reports == nil:
		return nil
	case s.scenario.Healthy():
		return errors.Join(s.reportsIncidents(ctx), poll.Sleep(ctx, calmFor), s.reportsIncidents(ctx))
	}
	s.ReportedIncident = s.scenario.Reports[0].Cause
	return poll.Until(ctx, patience, "the expected incidents", func(ctx context.Context) error {
		counts, err := compare.Scrape(ctx, s.MetricsURL())
		if err != nil {
			return err
		}
		if err := lossesHaveCauses(counts, &s.scenario); err != nil {
			return err
		}
		return s.reportsIncidents(ctx)
	})
}

// reportsIncidents checks that kubeflap reports exactly the incidents that the scenario expects.
func (s *Session) reportsIncidents(ctx context.Context) error {
	reported, err := compare.Incidents(ctx, s.URL)
	if err != nil {
		return err
	}
	return sameAs(reported.Incidents, s.scenario.Reports, s.scenario.Repeats)
}

// visible reports whether kubeflap reports the first incident that the scenario expects.
func (s *Session) visible(ctx context.Context) bool {
	reported, err := compare.Incidents(ctx, s.URL)
	return err == nil && slices.ContainsFunc(reported.Incidents, func(x compare.Incident) bool { return isReported(x, s.scenario.Reports[0]) })
}

// sameAs checks that each reported incident is expected, and that each expected incident is reported. Unless repeats is
// set, an incident must be reported only once.
func sameAs(reported []compare.Incident, want []scenario.Report, repeats bool) error {
	found := make([]bool, len(want))
	var errs []error
	for _, x := range reported {
		i := 0
		for i < len(want) && (found[i] && !repeats || !isReported(x, want[i])) {
			i++
		}
		if i == len(want) {
			errs = append(errs, fmt.Errorf("unexpected incident: %+v", x))
			continue
		}
		found[i] = true
	}
	for i, w := range want {
		if !found[i] {
			errs = append(errs, fmt.Errorf("missing: %+v", w))
		}
	}
	return errors.Join(errs...)
}

func isReported(x compare.Incident, want scenario.Report) bool {
	return x.State != "pending" && x.Verdict == want.Verdict && x.Scope == want.Scope && x.Cause == want.Cause &&
		(want.Subject == "" || x.Subject == want.Subject) && strings.Contains(x.Because(), want.Because) && strings.Contains(x.Remedy, want.Remedy)
}
