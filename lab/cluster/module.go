package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// Module describes programs that are built with the same go.mod.
type Module struct {
	Mod, Sum, LDFlags, Tags string
	// Sources holds source files of the lab's own programs, by file name.
	Sources map[string]string
	// Programs contains the programs to build. The key is the name of a binary. The value is its package or its source
	// files.
	Programs map[string][]string
}

// Binaries is the directory that contains the built programs.
type Binaries string

// Path returns a program's path.
func (b Binaries) Path(name string) string { return filepath.Join(string(b), name) }

// BuildModules returns the programs of the given modules. The programs are built only once and kept in the user's
// cache. The name of the cache directory contains a hash of all inputs.
func BuildModules(ctx context.Context, log *slog.Logger, name string, modules []Module) Binaries {
	root := filepath.Join(steps.Value(os.UserCacheDir()), "kubeflap-lab")
	steps.Must(os.MkdirAll(root, 0o755))
	dir := filepath.Join(root, name+"-"+cacheKey(modules))
	// Check the cache before locking, because another lab may hold the lock for minutes.
	if _, err := os.Stat(dir); err == nil {
		return Binaries(dir)
	}
	defer lockFile(filepath.Join(root, "lock"))()
	if _, err := os.Stat(dir); err == nil {
		return Binaries(dir)
	}
	log.Info("building the programs, which takes some minutes the first time", "what", name)
	unfinished := steps.Value(os.MkdirTemp(root, "unfinished-"))
	defer os.RemoveAll(unfinished)
	for _, m := range modules {
		m.build(ctx, unfinished)
	}
	// The directory gets its final name only when it is complete, so an interrupted build is never used.
	steps.Must(os.Rename(unfinished, dir), os.Chmod(dir, 0o755))
	return Binaries(dir)
}

func (m Module) build(ctx context.Context, out string) {
	dir := steps.Value(os.MkdirTemp("", "kubeflap-lab-module-"))
	defer os.RemoveAll(dir)
	writeFiles(dir, map[string]string{"go.mod": m.Mod, "go.sum": m.Sum})
	writeFiles(dir, m.Sources)
	for name, program := range m.Programs {
		args := []string{"build", "-mod=readonly", "-trimpath", "-tags", m.Tags, "-ldflags", m.LDFlags, "-o", filepath.Join(out, name)}
		cmd := exec.CommandContext(ctx, "go", append(args, program...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			steps.Must(fmt.Errorf("build %s: %w\n%s", name, err, out))
		}
	}
}

func writeFiles(dir string, files map[string]string) {
	for name, text := range files {
		path := filepath.Join(dir, name)
		steps.Must(os.MkdirAll(filepath.Dir(path), 0o755))
		steps.Must(os.WriteFile(path, []byte(text), 0o644))
	}
}

func cacheKey(modules []Module) string {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOARCH)
	for _, m := range modules {
		fmt.Fprintln(sum, m)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// lockFile prevents two labs from building the same programs at the same time.
func lockFile(path string) (unlock func()) {
	f := steps.Value(os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644))
	steps.Must(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	return func() { _ = f.Close() }
}
