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

// tellsAll waits until kubeflap tells the incidents that a scenario is, and no other.
func tellsAll(ctx context.Context, url string, want []scenario.Told) error {
	return poll.Until(ctx, patience, "the right incidents", func(ctx context.Context) error {
		told, err := compare.Incidents(ctx, url)
		if err != nil {
			return err
		}
		return sameAs(told.Incidents, want)
	})
}

// sameAs checks that each incident is one of those that are wanted, and each of these is told once.
func sameAs(told []compare.Incident, want []scenario.Told) error {
	left := slices.Clone(want)
	var errs []error
	for _, x := range told {
		i := slices.IndexFunc(left, func(w scenario.Told) bool { return isTold(x, w) })
		if i < 0 {
			errs = append(errs, fmt.Errorf("not wanted: %+v", x))
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, w := range left {
		errs = append(errs, fmt.Errorf("missing: %+v", w))
	}
	return errors.Join(errs...)
}

func isTold(x compare.Incident, want scenario.Told) bool {
	return x.State != "pending" && x.Verdict == want.Verdict && x.Scope == want.Scope && x.Subject == want.Subject &&
		strings.Contains(x.Because(), want.Because) && strings.Contains(x.Remedy, want.Remedy)
}

// tellsAdvice checks what `kubeflap advise` says about a running kubeflap.
func tellsAdvice(ctx context.Context, kubeflap, url string, s scenario.Scenario) error {
	if s.Advised == nil && s.NotAdvised == nil {
		return nil
	}
	return poll.Until(ctx, patience, "the right advice", func(ctx context.Context) error {
		text, err := exec.CommandContext(ctx, kubeflap, "advise", "--url="+url).CombinedOutput()
		// It exits with 3 if there is something to advise.
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
			return fmt.Errorf("ask for advice: %w\n%s", err, text)
		}
		for _, part := range s.Advised {
			if !strings.Contains(string(text), part) {
				return fmt.Errorf("the advice does not say %q:\n%s", part, text)
			}
		}
		for _, part := range s.NotAdvised {
			if strings.Contains(string(text), part) {
				return fmt.Errorf("the advice says %q:\n%s", part, text)
			}
		}
		return nil
	})
}
