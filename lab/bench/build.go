package bench

import (
	"context"
	_ "embed" // embeds the module files, so that the lab works in any directory
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// PeerVersion is the version of kube-state-metrics in kube-state-metrics.mod.
const PeerVersion = "v2.18.0"

// These variables hold embedded files.
var (
	//go:embed kube-state-metrics.mod
	peerMod string
	//go:embed kube-state-metrics.sum
	peerSum string
)

// buildPeer returns the path of the kube-state-metrics binary. The first build takes minutes. Later calls use the
// binary in the user's cache.
func buildPeer(ctx context.Context, log *slog.Logger) string {
	const name = "kube-state-metrics"
	return steps.Value(cluster.BuildModules(ctx, log, name, []cluster.Module{{
		Mod: peerMod, Sum: peerSum, LDFlags: "-s -w",
		Programs: map[string][]string{name: {"k8s.io/kube-state-metrics/v2"}},
	}})).Path(name)
}

// buildTool builds a program of the lab's module. The working directory must be inside that module.
func buildTool(ctx context.Context, dir, name string) string {
	path := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "github.com/kubeflap/kubeflap/lab/bench/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		steps.Must(fmt.Errorf("build the %s: %w\n%s", name, err, output))
	}
	return path
}
