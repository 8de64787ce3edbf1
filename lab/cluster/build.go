package cluster

import (
	"context"
	"crypto/sha256"
	_ "embed" // the module files are part of the lab, so that it builds from any folder
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Version is the version of Kubernetes that the lab runs.
const Version = "v1.36.3"

// Only what is read at build time is embedded; no variable here is ever written.
var (
	//go:embed kubernetes.mod
	kubernetesMod string
	//go:embed kubernetes.sum
	kubernetesSum string
	// The kubelet is the lab's own program, because kubemark's cannot probe.
	//go:embed kubelet/main.go
	kubeletMain string
	//go:embed etcd.mod
	etcdMod string
	//go:embed etcd.sum
	etcdSum string
)

// module is a set of programs that are built from one go.mod.
type module struct {
	mod, sum, ldflags string
	// main is the source of its own program main.go, if it has one.
	main string
	// programs maps the name of each binary to its package.
	programs map[string]string
}

func modules() []module {
	const version = "k8s.io/component-base/version."
	// Without these the server calls itself v0.0.0 and clients take it for an ancient one.
	stamp := fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=1 -X %[1]sgitMinor=%[3]s",
		version, Version, strings.Split(Version, ".")[1])
	return []module{
		{etcdMod, etcdSum, "-s -w", "", map[string]string{"etcd": "go.etcd.io/etcd/server/v3"}},
		{kubernetesMod, kubernetesSum, stamp, kubeletMain, map[string]string{
			"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
			"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
			"kubelet":                 "main.go",
		}},
	}
}

// Binaries is the folder that holds the built components.
type Binaries string

func (b Binaries) path(name string) string { return filepath.Join(string(b), name) }

// Build returns the components, built once for each version and kept in the
// user's cache. The first time takes some minutes.
func Build(ctx context.Context, log *slog.Logger) (Binaries, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the built components: %w", err)
	}
	root := filepath.Join(cache, "kubeflap-lab")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("create the cache: %w", err)
	}
	unlock, err := lockFile(filepath.Join(root, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()

	dir := filepath.Join(root, cacheKey())
	if _, err := os.Stat(dir); err == nil {
		return Binaries(dir), nil
	}
	log.Info("building the control plane, once; this takes some minutes", "version", Version)
	unfinished, err := os.MkdirTemp(root, "unfinished-")
	if err != nil {
		return "", fmt.Errorf("create a folder to build in: %w", err)
	}
	defer os.RemoveAll(unfinished)
	for _, m := range modules() {
		if err := m.build(ctx, unfinished); err != nil {
			return "", err
		}
	}
	// Renamed only when complete: a build that was cut off is never used.
	if err := os.Rename(unfinished, dir); err != nil {
		return "", fmt.Errorf("keep the built components: %w", err)
	}
	return Binaries(dir), os.Chmod(dir, 0o755)
}

func (m module) build(ctx context.Context, out string) error {
	dir, err := os.MkdirTemp("", "kubeflap-lab-module-")
	if err != nil {
		return fmt.Errorf("create a folder for the module: %w", err)
	}
	defer os.RemoveAll(dir)
	files := map[string]string{"go.mod": m.mod, "go.sum": m.sum}
	if m.main != "" {
		files["main.go"] = m.main
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	for name, pkg := range m.programs {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", m.ldflags, "-o", filepath.Join(out, name), pkg)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, output)
		}
	}
	return nil
}

// cacheKey changes with everything that goes into the binaries.
func cacheKey() string {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOARCH)
	for _, m := range modules() {
		fmt.Fprintln(sum, m.mod, m.sum, m.main, m.ldflags)
	}
	return Version + "-" + hex.EncodeToString(sum.Sum(nil))[:12]
}

// lockFile keeps two labs from building the same thing at the same time.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the cache's lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	return func() { _ = f.Close() }, nil
}
