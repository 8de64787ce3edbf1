package bench

import (
	"context"
	_ "embed" // the module file is part of the lab, so that it builds from any folder
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// PeerVersion is the version of kube-state-metrics in kube-state-metrics.mod.
const PeerVersion = "v2.18.0"

// Only what is read at build time is embedded; no variable here is ever written.
var (
	//go:embed kube-state-metrics.mod
	peerMod string
	//go:embed kube-state-metrics.sum
	peerSum string
)

// buildPeer returns kube-state-metrics, built once and kept in the user's cache. The first time takes some minutes.
func buildPeer(ctx context.Context, log *slog.Logger) (string, error) {
	const name = "kube-state-metrics"
	built, err := cluster.BuildModules(ctx, log, name, []cluster.Module{{
		Mod: peerMod, Sum: peerSum, LDFlags: "-s -w",
		Programs: map[string][]string{name: {"k8s.io/kube-state-metrics/v2"}},
	}})
	return built.Path(name), err
}

// buildTool builds one of the bench's own programs as it is now, of the lab's module: the working folder must be in it.
func buildTool(ctx context.Context, dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "github.com/kubeflap/kubeflap/lab/bench/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the %s: %w\n%s", name, err, output)
	}
	return path, nil
}
