package session

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/scenario"
)

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
