package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// Module describes programs that are built with the same go.mod.
type Module struct {
	Mod, Sum, LDFlags, Tags string
	// Sources holds source files of the lab's own programs, by file name.
	Sources map[string]string
	// Programs contains the programs to build. The key is the name of a binary. The value is its package or its source
	// files.
	Programs map[string][]string
	// Completes is the path of a module whose published version lacks files that it embeds. Files holds the missing
	// files, by their path in the module.
	Completes string
	Files     map[string]string
}

// Binaries is the directory that contains the built programs.
type Binaries string

// Path returns a program's path.
func (b Binaries) Path(name string) string { return filepath.Join(string(b), name) }

// BuildModules returns the programs of the given modules. The programs are built only once and kept in the user's
// cache. The name of the cache directory contains a hash of all inputs.
func BuildModules(ctx context.Context, log *slog.Logger, name string, modules []Module) (Binaries, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a directory for the built programs: %w", err)
	}
	root := filepath.Join(cache, "kubeflap-lab")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("create the cache: %w", err)
	}
	dir := filepath.Join(root, name+"-"+cacheKey(modules))
	// Check the cache before locking, because another lab may hold the lock for minutes.
	if _, err := os.Stat(dir); err == nil {
		return Binaries(dir), nil
	}
	unlock, err := lockFile(filepath.Join(root, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return Binaries(dir), nil
	}
	log.Info("building the programs, which takes some minutes the first time", "what", name)
	unfinished, err := os.MkdirTemp(root, "unfinished-")
	if err != nil {
		return "", fmt.Errorf("create a build directory: %w", err)
	}
	defer os.RemoveAll(unfinished)
	for _, m := range modules {
		if err := m.build(ctx, unfinished); err != nil {
			return "", err
		}
	}
	// The directory gets its final name only when it is complete, so an interrupted build is never used.
	if err := os.Rename(unfinished, dir); err != nil {
		return "", fmt.Errorf("keep the built programs: %w", err)
	}
	return Binaries(dir), os.Chmod(dir, 0o755)
}

func (m Module) build(ctx context.Context, out string) error {
	dir, err := os.MkdirTemp("", "kubeflap-lab-module-")
	if err != nil {
		return fmt.Errorf("create a directory for the module: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := writeFiles(dir, map[string]string{"go.mod": m.Mod, "go.sum": m.Sum}); err != nil {
		return err
	}
	if err := writeFiles(dir, m.Sources); err != nil {
		return err
	}
	if m.Completes != "" {
		if err := m.complete(ctx, dir); err != nil {
			return err
		}
	}
	for name, program := range m.Programs {
		args := []string{"build", "-mod=readonly", "-trimpath", "-tags", m.Tags, "-ldflags", m.LDFlags, "-o", filepath.Join(out, name)}
		if _, err := goCommand(ctx, dir, append(args, program...)...); err != nil {
			return fmt.Errorf("build %s: %w", name, err)
		}
	}
	return nil
}

// complete copies a module, adds the missing files to the copy, and replaces the module with the copy. A module in Go's
// module cache cannot be changed, not even with an overlay.
func (m Module) complete(ctx context.Context, dir string) error {
	answer, err := goCommand(ctx, dir, "mod", "download", "-json", m.Completes)
	if err != nil {
		return fmt.Errorf("download %s: %w", m.Completes, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(answer, &module); err != nil {
		return fmt.Errorf("find %s: %w", m.Completes, err)
	}
	const name = "completed"
	completed := filepath.Join(dir, name)
	if err := os.CopyFS(completed, os.DirFS(module.Dir)); err != nil {
		return fmt.Errorf("copy %s: %w", m.Completes, err)
	}
	if err := writeFiles(completed, m.Files); err != nil {
		return err
	}
	_, err = goCommand(ctx, dir, "mod", "edit", "-replace="+m.Completes+"=./"+name)
	return err
}

func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("create a directory for %s: %w", name, err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s%s", args[0], err, out.String(), errOut.String())
	}
	return out.Bytes(), nil
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
