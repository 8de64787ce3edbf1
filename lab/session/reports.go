package session

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/scenario"
)

// reportsAll waits until kubeflap reports exactly the incidents that the scenario expects.
func reportsAll(ctx context.Context, url string, want []scenario.Report) error {
	return poll.Until(ctx, patience, "the expected incidents", func(ctx context.Context) error {
		reported, err := compare.Incidents(ctx, url)
		if err != nil {
			return err
		}
		return sameAs(reported.Incidents, want)
	})
}

// sameAs checks that each reported incident is expected, and that each expected incident is reported once.
func sameAs(reported []compare.Incident, want []scenario.Report) error {
	left := slices.Clone(want)
	var errs []error
	for _, x := range reported {
		i := slices.IndexFunc(left, func(w scenario.Report) bool { return isReported(x, w) })
		if i < 0 {
			errs = append(errs, fmt.Errorf("unexpected incident: %+v", x))
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, w := range left {
		errs = append(errs, fmt.Errorf("missing: %+v", w))
	}
	return errors.Join(errs...)
}

func isReported(x compare.Incident, want scenario.Report) bool {
	return x.State != "pending" && x.Verdict == want.Verdict && x.Scope == want.Scope && x.Subject == want.Subject &&
		strings.Contains(x.Because(), want.Because) && strings.Contains(x.Remedy, want.Remedy)
}

// reportsAdvice checks the output of `kubeflap advise` for a running kubeflap.
func reportsAdvice(ctx context.Context, kubeflap, url string, s scenario.Scenario) error {
	if s.Advised == nil && s.NotAdvised == nil {
		return nil
	}
	return poll.Until(ctx, patience, "the expected advice", func(ctx context.Context) error {
		text, err := advise(ctx, kubeflap, url)
		if err != nil {
			return err
		}
		for _, part := range s.Advised {
			if !strings.Contains(text, part) {
				return fmt.Errorf("the advice does not contain %q:\n%s", part, text)
			}
		}
		for _, part := range s.NotAdvised {
			if strings.Contains(text, part) {
				return fmt.Errorf("the advice contains %q:\n%s", part, text)
			}
		}
		return nil
	})
}

// advise returns the output of `kubeflap advise` for the kubeflap at a URL.
func advise(ctx context.Context, kubeflap, url string) (string, error) {
	const given = 3 // exit status of advise if it has findings
	text, err := exec.CommandContext(ctx, kubeflap, "advise", "--url="+url).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if exit.ExitCode() == given {
			return string(text), nil
		}
		return "", fmt.Errorf("run kubeflap advise: %w\n%s", err, exit.Stderr)
	}
	return string(text), err
}
