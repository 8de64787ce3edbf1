package lab

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// checks runs `kubeflap check` in a quiet cluster, during an outage, and without access.
func (d *desk) checks() {
	admin := d.cluster.Kubeconfig
	d.expectCheck(admin, 0, `^PASSED: no unexpected flap in \S+ from `, "true")
	d.expectCheck(admin, 1, `(?s)FAILED: 1 unexpected flap in .*  shop/web: no ready address for .*\n    cause: pod deleted, verdict: [^.]+\. .*shop/web.*\n    First step: `,
		"../bin/kubectl", "--kubeconfig="+admin, "--namespace="+tenant, "delete", "pods", "--selector=app=web")

	text := string(steps.Value(os.ReadFile(admin)))
	nobody := cluster.FreePort()
	unreachable, never := filepath.Join(d.t.TempDir(), "kubeconfig"), filepath.Join(d.t.TempDir(), "never")
	steps.Must(os.WriteFile(unreachable, []byte(strings.ReplaceAll(text, d.cluster.Config.Host, "https://"+nobody)), 0o600))
	d.expectCheck(unreachable, 2, `kubeflap: cannot reach .*connection refused`, "touch", never)
	if _, err := os.Stat(never); err == nil {
		d.t.Error("without access, kubeflap check ran the command")
	}
}

// expectCheck runs `kubeflap check` with a command, and compares its status and its output, with that of the command.
func (d *desk) expectCheck(kubeconfig string, want int, pattern string, command ...string) {
	out, errOut, status := d.kubeflapSays(kubeconfig, append([]string{"check", "--"}, command...)...)
	if status != want || !regexp.MustCompile(pattern).MatchString(out+errOut) {
		d.t.Errorf("kubeflap check -- %s: status %d, want %d and output that matches %s:\n%s%s",
			strings.Join(command, " "), status, want, pattern, out, errOut)
	}
}
