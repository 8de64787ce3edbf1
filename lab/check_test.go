package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// judgedWithin is the maximum time from the end of the command to the result of `kubeflap check`.
const judgedWithin = 2 * time.Second

// checks runs `kubeflap check` in a quiet cluster, during an outage, and without access.
func (d *desk) checks() {
	admin := d.cluster.Kubeconfig
	// It takes longer while the machine is busy, so one fast result suffices.
	ended := filepath.Join(d.t.TempDir(), "ended")
	steps.Must(poll.Until(d.ctx, 3*time.Minute, "a quick result of kubeflap check", func(context.Context) error {
		d.expectCheck(admin, 0, `^PASSED: no unexpected flap in \S+ from `, "touch", ended)
		took := time.Since(steps.Value(os.Stat(ended)).ModTime())
		d.t.Logf("kubeflap check ended %s after the command", took)
		if took > judgedWithin {
			return fmt.Errorf("it took %s", took)
		}
		return nil
	}))

	d.expectCheck(admin, 1, `(?s)FAILED: 1 unexpected flap in .*  shop/web: no ready address for .*\n    cause: pod deleted, verdict: [^.]+\. .*shop/web.*\n    First step: `,
		"../bin/kubectl", "--kubeconfig="+admin, "--namespace="+tenant, "delete", "pods", "--selector=app=web")

	text := string(steps.Value(os.ReadFile(admin)))
	nobody := cluster.FreePort()
	unreachable := filepath.Join(d.t.TempDir(), "kubeconfig")
	steps.Must(os.WriteFile(unreachable, []byte(strings.ReplaceAll(text, d.cluster.Config.Host, "https://"+nobody)), 0o600))
	d.expectCheck(unreachable, 2, `connection refused(?s).*kubeflap: could not list all resources`, "touch", filepath.Join(d.t.TempDir(), "never"))
}

// expectCheck runs `kubeflap check` with a command, and compares its status and its output, with that of the command.
func (d *desk) expectCheck(kubeconfig string, want int, pattern string, command ...string) {
	out, errOut, status := d.kubeflapSays(kubeconfig, append([]string{"check", "--"}, command...)...)
	if status != want || !regexp.MustCompile(pattern).MatchString(out+errOut) {
		d.t.Errorf("kubeflap check -- %s: status %d, want %d and output that matches %s:\n%s%s",
			strings.Join(command, " "), status, want, pattern, out, errOut)
	}
}
