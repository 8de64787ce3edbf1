// Package release builds a snapshot release of the work tree, and tests its files.
package release

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

const root = "../.."

// must runs a program in a directory and returns its output.
func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	// Drop the variables and flags of the make process that runs this test.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "VERSION=") })
	cmd.Env = append(cmd.Env, "MAKEFLAGS=", "MAKELEVEL=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// setFile writes a file and sets an environment variable to its path.
func setFile(t *testing.T, variable, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(variable, file)
}

// clone commits a copy of the work tree. Every copy gets the same commit. Its bin/ refers to the tools of the work tree.
func clone(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must(t, root, "bash", "-c", `git ls-files -z --cached --others --exclude-standard | while IFS= read -rd '' f; do [[ ! -e $f ]] || printf '%s\0' "$f"; done |
		tar c --null --files-from - | tar x -C "$0"
		mkdir "$0/bin" && for tool in goreleaser syft helm validate-krew-manifest; do ln -s "$PWD/bin/$tool" "$0/bin"; done
		cd "$0" && git init --quiet && git remote add origin https://github.com/kubeflap/kubeflap && git add . &&
		GIT_AUTHOR_DATE=2026-01-02T03:04:05Z GIT_COMMITTER_DATE=2026-01-02T03:04:05Z git -c user.name=t -c user.email=t@example.com -c commit.gpgsign=false commit --quiet -m test`, dir)
	return dir
}

// digests returns the lines of a release's checksums, without those of the SBOMs, which contain the time.
func digests(t *testing.T, dir string) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(read(t, dir, "dist/checksums.txt"))), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasSuffix(line, ".spdx.json") })
	return append(lines, string(read(t, dir, "bin/kubeflap-image.digest"))+"  image")
}

func TestSnapshotRelease(t *testing.T) {
	storage := t.TempDir()
	setFile(t, "CONTAINERS_STORAGE_CONF", fmt.Sprintf("[storage]\ndriver = %q\ngraphroot = %q\nrunroot = %q\n", "vfs", storage+"/root", storage+"/run"))
	dir, again := clone(t), clone(t)
	must(t, dir, "make", "release-snapshot")
	must(t, again, "make", "release-snapshot")
	if first, second := digests(t, dir), digests(t, again); !slices.Equal(first, second) {
		t.Errorf("two builds of one commit differ:\n%s\n%s", strings.Join(first, "\n"), strings.Join(second, "\n"))
	}
	version := regexp.MustCompile(`"version":"([^"]+)"`).FindStringSubmatch(string(read(t, dir, "dist/metadata.json")))[1]
	t.Run("files", func(t *testing.T) { complete(t, dir, version) })
	t.Run("plugin", func(t *testing.T) { plugin(t, dir, version) })
	t.Run("image", func(t *testing.T) { image(t, dir, version) })
	t.Run("registry", func(t *testing.T) { publish(t, dir, version) })
}

// complete checks that all files are there.
func complete(t *testing.T, dir, version string) {
	want := []string{"kubeflap-" + version + ".tgz", "prometheusrule.yaml"}
	for _, platform := range []string{"darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64", "windows-amd64"} {
		binary, archive := "kubeflap-"+platform, "kubectl-flap-v"+version+"-"+platform+".tar.gz"
		if platform == "windows-amd64" {
			binary, archive = binary+".exe", strings.Replace(archive, ".tar.gz", ".zip", 1)
		}
		want = append(want, binary, archive, "kubeflap-"+platform+".spdx.json")
	}
	dashboards, err := filepath.Glob(root + "/dashboards/*.json")
	if err != nil || len(dashboards) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	for _, file := range dashboards {
		want = append(want, filepath.Base(file))
	}
	var got []string
	for line := range strings.Lines(string(read(t, dir, "dist/checksums.txt"))) {
		got = append(got, strings.Fields(line)[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("unexpected files\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if bom := read(t, dir, "dist/kubeflap-linux-arm64.spdx.json"); !bytes.Contains(bom, []byte(`"github.com/prometheus/client_golang"`)) || !json.Valid(bom) {
		t.Errorf("the SBOM does not list the modules: %.500s", bom)
	}
	about := must(t, dir, "bin/helm", "show", "chart", "bin/kubeflap-"+version+".tgz")
	for _, line := range []string{"version: " + version, "appVersion: " + version} {
		if !strings.Contains("\n"+about+"\n", "\n"+line+"\n") {
			t.Errorf("the packaged chart does not contain %q: %s", line, about)
		}
	}
}

// plugin unpacks the kubectl plugin for this machine, runs it, and checks the manifest for krew.
func plugin(t *testing.T, dir, version string) {
	must(t, dir, "bin/validate-krew-manifest", "-skip-install", "-manifest", "dist/krew/flap.yaml")
	manifest := string(read(t, dir, "dist/krew/flap.yaml"))
	platforms := 0
	for _, line := range digests(t, dir) {
		digest, name, _ := strings.Cut(line, "  ")
		if strings.HasPrefix(name, "kubectl-flap-") {
			platforms++
			if !strings.Contains(manifest, digest) || !strings.Contains(manifest, "https://github.com/kubeflap/kubeflap/releases/download/v"+version[:5]+"/"+name) {
				t.Errorf("flap.yaml does not contain %s with the digest %s: %s", name, digest, manifest)
			}
		}
	}
	if platforms != 5 || strings.Count(manifest, "sha256: ") != 5 {
		t.Errorf("%d archives, want 5 in the manifest: %s", platforms, manifest)
	}
	unpacked := t.TempDir()
	must(t, dir, "tar", "xf", "dist/kubectl-flap-v"+version+"-linux-"+runtime.GOARCH+".tar.gz", "-C", unpacked)
	read(t, unpacked, "LICENSE")
	if said := must(t, unpacked, "./kubectl-flap", "--version"); !strings.HasPrefix(said, "kubeflap, version "+version+" (") {
		t.Errorf("unexpected version of the plugin: %s", said)
	}
	if help := must(t, unpacked, "./kubectl-flap", "--help"); !strings.HasPrefix(help, "usage: kubectl flap ") {
		t.Errorf("the plugin does not call itself kubectl flap: %s", help)
	}
}

// publish pushes image and chart to a registry with the documented commands.
func publish(t *testing.T, dir, version string) {
	server := httptest.NewTLSServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	setFile(t, "SSL_CERT_FILE", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	host := strings.TrimPrefix(server.URL, "https://")
	want := string(read(t, dir, "bin/kubeflap-image.digest"))
	must(t, dir, "make", "image", "VERSION=v"+version, "REGISTRY="+host+"/monitoring")
	if got := string(read(t, dir, "bin/kubeflap-image.digest")); got != want {
		t.Errorf("the pushed image has the digest %s, want %s", got, want)
	}
	must(t, dir, "buildah", "pull", "--quiet", host+"/monitoring/kubeflap@"+want)
	must(t, dir, "bin/helm", "push", "bin/kubeflap-"+version+".tgz", "oci://"+host+"/monitoring/charts")
	rendered := must(t, dir, "bin/helm", "template", "kubeflap", "oci://"+host+"/monitoring/charts/kubeflap", "--version", version,
		"--set", "image.registry="+host+",image.repository=monitoring/kubeflap,prometheusRule.enabled=true,dashboards.enabled=true")
	for _, part := range []string{"image: " + host + "/monitoring/kubeflap:v" + version, "kind: PrometheusRule", "grafana_dashboard:"} {
		if !strings.Contains(strings.ReplaceAll(rendered, `"`, ""), part) {
			t.Errorf("the chart from the registry does not render %q", part)
		}
	}
	server.Close()
	failing := exec.CommandContext(t.Context(), "make", "image", "VERSION=v"+version, "REGISTRY="+host+"/monitoring")
	failing.Dir = dir
	if out, err := failing.CombinedOutput(); err == nil {
		t.Errorf("no error without a registry: %s", out)
	}
}

// A build from source has no version flag, but the Go toolchain records the commit.
func TestBuildFromSourceSaysItsCommit(t *testing.T) {
	dir := clone(t)
	revision := must(t, dir, "git", "rev-parse", "HEAD")
	must(t, dir, "go", "build", "-buildvcs=true", "-o", "bin/", "./cmd/kubeflap")
	said := must(t, dir, "bin/kubeflap", "--version")
	if !strings.Contains(said, "-"+revision[:12]+" (") || !strings.Contains(said, "revision: "+revision+")") {
		t.Errorf("the binary does not report the commit %s: %s", revision, said)
	}
}
