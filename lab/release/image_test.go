package release

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// machines maps Go's names of the architectures to ELF machine types.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// try returns x, unless err fails the test.
func try[T any](x T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// image checks the image for all architectures. It must contain the binaries of the release.
func image(t *testing.T, dir, version string) {
	unpacked := t.TempDir()
	must(t, dir, "tar", "xf", "bin/kubeflap-image.tar", "-C", unpacked)
	index := try(layout.ImageIndexFromPath(unpacked))(t)
	all := try(index.IndexManifest())(t).Manifests
	// buildah wraps the index of the architectures in another index.
	if len(all) == 1 && all[0].MediaType.IsIndex() {
		index = try(index.ImageIndex(all[0].Digest))(t)
		all = try(index.IndexManifest())(t).Manifests
	}
	if len(all) != len(machines) {
		t.Fatalf("got %d architectures, want %d", len(all), len(machines))
	}
	revision := must(t, dir, "git", "rev-parse", "HEAD")
	for _, p := range all {
		arch, one := p.Platform.Architecture, try(index.Image(p.Digest))(t)
		about, layers := try(one.ConfigFile())(t), try(one.Layers())(t)
		checkConfig(t, about)
		if labels := about.Config.Labels; labels["org.opencontainers.image.version"] != version || labels["org.opencontainers.image.revision"] != revision {
			t.Errorf("unexpected version or revision in the labels %v", labels)
		}
		if len(layers) != 1 {
			t.Fatalf("got %d layers, want 1", len(layers))
		}
		binary := checkLayer(t, try(layers[0].Uncompressed())(t), arch, fmt.Sprintf("kubeflap, version %s (branch: HEAD, revision: %s)", version, revision))
		if line := fmt.Sprintf("%x  kubeflap-linux-%s", sha256.Sum256(binary), arch); !slices.Contains(digests(t, dir), line) {
			t.Errorf("the image for %s contains another binary than the release", arch)
		}
	}
}

func checkConfig(t *testing.T, about *v1.ConfigFile) {
	t.Helper()
	c := about.Config
	if c.User != "65534:65534" || !slices.Equal(c.Entrypoint, []string{"/kubeflap"}) || !slices.Equal(c.Cmd, []string{"run"}) {
		t.Errorf("unexpected entrypoint %q, arguments %q or user %q", c.Entrypoint, c.Cmd, c.User)
	}
	for _, name := range []string{"title", "description", "authors", "licenses", "url", "source", "documentation", "version", "revision", "created"} {
		if c.Labels["org.opencontainers.image."+name] == "" {
			t.Errorf("the image has no label %s", name)
		}
	}
	if created, want := c.Labels["org.opencontainers.image.created"], about.Created.Format(time.RFC3339); created != want {
		t.Errorf("created is %s, and its label %s; want the commit's time for both", want, created)
	}
	if made := c.Labels["io.buildah.version"]; made != "" {
		t.Errorf("the digest depends on buildah's version, because of the label io.buildah.version: %s", made)
	}
}

// checkLayer checks the files of an image, and returns the binary. If the binary is for this machine's architecture, it must print the version.
func checkLayer(t *testing.T, layer io.ReadCloser, arch, version string) []byte {
	t.Helper()
	defer layer.Close()
	files, heads := map[string][]byte{}, map[string]*tar.Header{}
	for reader := tar.NewReader(layer); ; {
		head, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[head.Name], heads[head.Name] = try(io.ReadAll(reader))(t), head
	}
	if len(files) != 2 || heads["kubeflap"] == nil || heads["LICENSE"] == nil {
		t.Fatalf("unexpected files %v", heads)
	}
	for name, mode := range map[string]int64{"kubeflap": 0o755, "LICENSE": 0o644} {
		if h := heads[name]; h.Mode&0o777 != mode || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("unexpected mode %[2]o or owner %[3]d:%[4]d of %[1]s", name, h.Mode, h.Uid, h.Gid)
		}
	}
	binary := try(elf.NewFile(bytes.NewReader(files["kubeflap"])))(t)
	if libraries, err := binary.ImportedLibraries(); binary.Machine != machines[arch] || len(libraries) > 0 || err != nil {
		t.Errorf("the binary is for %v, and needs the libraries %v: %v", binary.Machine, libraries, err)
	}
	if arch != runtime.GOARCH || runtime.GOOS != "linux" {
		return files["kubeflap"]
	}
	path := filepath.Join(t.TempDir(), "kubeflap")
	if err := os.WriteFile(path, files["kubeflap"], 0o700); err != nil { //nolint:gosec // the test runs it
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), version) {
		t.Errorf("got version %s (%v), want %s", out, err, version)
	}
	return files["kubeflap"]
}
