package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/kubeflap/kubeflap/lab/poll"
)

// blames returns the kinds of advice about the cause of silent nodes. The list includes the kind "undecided".
func blames() []string {
	return []string{"nodes_slow", "nodes_silent", "control_plane_late", "controller_manager_slow", "nodes_rebooted", "kubelets_upgraded", "clocks_set_back", "undecided"}
}

// waitForAdvice waits until `kubeflap advise` gives the wanted kind of advice, and names no other cause.
func waitForAdvice(ctx context.Context, kubeflap, url, want string) error {
	return poll.Until(ctx, patience, "the expected advice", func(ctx context.Context) error {
		kinds, text, err := advice(ctx, kubeflap, url)
		if err != nil {
			return err
		}
		if !slices.Contains(kinds, want) {
			return fmt.Errorf("got advice of the kinds %s, want %s", text, want)
		}
		for _, kind := range blames() {
			if kind != want && slices.Contains(kinds, kind) {
				return fmt.Errorf("got advice of the kinds %s, but %s is wrong", text, kind)
			}
		}
		return nil
	})
}

// advice returns the kinds of all findings of `kubeflap advise`, and its output.
func advice(ctx context.Context, kubeflap, url string) (kinds []string, text []byte, err error) {
	if text, err = advise(ctx, kubeflap, url, "--output=json"); err != nil {
		return nil, nil, err
	}
	var report struct {
		Findings []struct{ Kind string }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, nil, fmt.Errorf("read the advice: %w", err)
	}
	for _, x := range report.Findings {
		kinds = append(kinds, x.Kind)
	}
	return kinds, text, nil
}

// advise returns the output of `kubeflap advise` for the kubeflap at a URL.
func advise(ctx context.Context, kubeflap, url string, args ...string) ([]byte, error) {
	const given = 3 // exit status of advise if it has findings
	text, err := exec.CommandContext(ctx, kubeflap, append([]string{"advise", "--url=" + url}, args...)...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if exit.ExitCode() == given {
			return text, nil
		}
		return nil, fmt.Errorf("run kubeflap advise: %w\n%s", err, exit.Stderr)
	}
	return text, err
}
