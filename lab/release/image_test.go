package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
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
)

// machines maps Go's names of the architectures to ELF machine types.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// pointer refers to a blob.
type pointer struct {
	Digest   string `json:"digest"`
	Platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	} `json:"platform"`
}

// manifest is an image index or an image manifest.
type manifest struct {
	Manifests []pointer `json:"manifests"`
	Config    pointer   `json:"config"`
	Layers    []pointer `json:"layers"`
}

// config has the fields of an image configuration that the tests use.
type config struct {
	Created string `json:"created"`
	Config  struct {
		User       string            `json:"User"`
		Entrypoint []string          `json:"Entrypoint"`
		Cmd        []string          `json:"Cmd"`
		Labels     map[string]string `json:"Labels"`
	} `json:"config"`
}

// entries reads a tar archive.
func entries(t *testing.T, r io.Reader) (files map[string][]byte, heads map[string]*tar.Header) {
	t.Helper()
	files, heads = map[string][]byte{}, map[string]*tar.Header{}
	for reader := tar.NewReader(r); ; {
		head, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files, heads
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[head.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
		heads[head.Name] = head
	}
}

func parse[T any](t *testing.T, text []byte) *T {
	t.Helper()
	x := new(T)
	if err := json.Unmarshal(text, x); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return x
}

// unpack returns the configuration of an image, and its only layer.
func unpack(t *testing.T, blobs map[string][]byte, p pointer) (about *config, layer io.Reader) {
	t.Helper()
	one := parse[manifest](t, blobs[blob(p)])
	if len(one.Layers) != 1 {
		t.Fatalf("got %d layers, want 1", len(one.Layers))
	}
	layer, err := gzip.NewReader(bytes.NewReader(blobs[blob(one.Layers[0])]))
	if err != nil {
		t.Fatal(err)
	}
	return parse[config](t, blobs[blob(one.Config)]), layer
}

func blob(p pointer) string { return "blobs/" + strings.Replace(p.Digest, ":", "/", 1) }

// image checks the image for all architectures. It must contain the binaries of the release.
func image(t *testing.T, dir, version string) {
	file, err := os.Open(filepath.Join(dir, "bin/kubeflap-image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	blobs, _ := entries(t, file)
	index := parse[manifest](t, blobs["index.json"])
	// buildah wraps the index of the architectures in another index.
	if len(index.Manifests) == 1 && index.Manifests[0].Platform.OS == "" {
		index = parse[manifest](t, blobs[blob(index.Manifests[0])])
	}
	if len(index.Manifests) != len(machines) {
		t.Fatalf("got %d architectures, want %d", len(index.Manifests), len(machines))
	}
	revision := must(t, dir, "git", "rev-parse", "HEAD")
	for _, p := range index.Manifests {
		arch := p.Platform.Architecture
		about, layer := unpack(t, blobs, p)
		checkConfig(t, about)
		if labels := about.Config.Labels; labels["org.opencontainers.image.version"] != version || labels["org.opencontainers.image.revision"] != revision {
			t.Errorf("unexpected version or revision in the labels %v", labels)
		}
		binary := checkLayer(t, layer, arch, fmt.Sprintf("kubeflap, version %s (branch: HEAD, revision: %s)", version, revision))
		if line := fmt.Sprintf("%x  kubeflap-linux-%s", sha256.Sum256(binary), arch); !slices.Contains(digests(t, dir), line) {
			t.Errorf("the image for %s contains another binary than the release", arch)
		}
	}
}

func checkConfig(t *testing.T, about *config) {
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
	if created := c.Labels["org.opencontainers.image.created"]; created != about.Created {
		t.Errorf("created is %s, and its label %s; want the commit's time for both", about.Created, created)
	}
	if made := c.Labels["io.buildah.version"]; made != "" {
		t.Errorf("the digest depends on buildah's version, because of the label io.buildah.version: %s", made)
	}
}

// checkLayer checks the files of an image, and returns the binary. If the binary is for this machine's architecture, it must print the version.
func checkLayer(t *testing.T, layer io.Reader, arch, version string) []byte {
	t.Helper()
	files, heads := entries(t, layer)
	if len(files) != 2 || heads["kubeflap"] == nil || heads["LICENSE"] == nil {
		t.Fatalf("unexpected files %v", heads)
	}
	for name, mode := range map[string]int64{"kubeflap": 0o755, "LICENSE": 0o644} {
		if h := heads[name]; h.Mode&0o777 != mode || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("unexpected mode %[2]o or owner %[3]d:%[4]d of %[1]s", name, h.Mode, h.Uid, h.Gid)
		}
	}
	binary, err := elf.NewFile(bytes.NewReader(files["kubeflap"]))
	if err != nil {
		t.Fatal(err)
	}
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
