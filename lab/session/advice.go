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

// blames are the kinds of advice that name who is at fault for silent nodes, or that it is not known.
func blames() []string {
	return []string{"nodes_slow", "nodes_silent", "control_plane_late", "controller_manager_slow", "nodes_rebooted", "kubelets_upgraded", "clocks_set_back", "undecided"}
}

// advises waits until `kubeflap advise` names who is at fault, and nobody else.
func advises(ctx context.Context, kubeflap, url, want string) error {
	return poll.Until(ctx, patience, "the right advice", func(ctx context.Context) error {
		kinds, text, err := advice(ctx, kubeflap, url)
		if err != nil {
			return err
		}
		if !slices.Contains(kinds, want) {
			return fmt.Errorf("want advice of kind %s, got %s", want, text)
		}
		for _, kind := range blames() {
			if kind != want && slices.Contains(kinds, kind) {
				return fmt.Errorf("want no advice of kind %s, got %s", kind, text)
			}
		}
		return nil
	})
}

// advice is what `kubeflap advise` finds in a running kubeflap.
func advice(ctx context.Context, kubeflap, url string) (kinds []string, text []byte, err error) {
	const given = 3 // its exit status with advice
	text, err = exec.CommandContext(ctx, kubeflap, "advise", "--url", url, "--output", "json").Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == given {
		err = nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("run kubeflap advise: %w", err)
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
