// Package rehearsal makes a release from a copy of the work tree, and then corrupts its artifacts.
package rehearsal

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const (
	root    = "../.."
	version = "99.88.77"
)

var (
	binary = "bin/linux-" + runtime.GOARCH + "/kubeflap"
	tgz    = "bin/kubeflap-" + version + ".tgz"
	// plugin is the archive of the kubectl plugin for this machine's platform.
	platform = "linux/" + runtime.GOARCH
	plugin   = "bin/kubectl-flap-v" + version + "-linux-" + runtime.GOARCH + ".tar.gz"
)

func try(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	// Drop the variables and flags of the make process that runs this test.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "VERSION=") })
	cmd.Env = append(cmd.Env, "MAKEFLAGS=", "MAKELEVEL=", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := try(t, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return out
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func put(t *testing.T, file string, text []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, text, mode); err != nil {
		t.Fatal(err)
	}
}

// tagged returns a copy of the work tree, committed and tagged with the version.
func tagged(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, root, "bash", "-c", `git ls-files -z --cached --others --exclude-standard | tar c --null --files-from - | tar x -C "$0"`, dir)
	chart := filepath.Join(dir, "charts/kubeflap/Chart.yaml")
	put(t, chart, regexp.MustCompile(`(?m)^(version|appVersion): .*$`).ReplaceAll(read(t, chart), []byte("$1: "+version)), 0o600)
	log := filepath.Join(dir, "CHANGELOG.md")
	put(t, log, bytes.Replace(read(t, log), []byte("## Unreleased\n"), []byte("## Unreleased\n\n## "+version+" - 2026-01-02\n"), 1), 0o600)
	must(t, dir, "bash", "-c", `sed -i 's/[Nn]o release has been published yet/This is a release/' README.md docs/*.md charts/kubeflap/README.md charts/kubeflap/templates/NOTES.txt`)
	must(t, dir, "git", "init", "--quiet")
	must(t, dir, "git", "add", ".")
	must(t, dir, "git", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message", "release")
	must(t, dir, "git", "-c", "tag.gpgsign=false", "tag", "--annotate", "--message", "release", "v"+version)
	return dir
}

// makeAll builds for this machine's architecture only. The version comes from the tag, unless args override it.
func makeAll(t *testing.T, dir string, args ...string) {
	t.Helper()
	must(t, dir, "make", append([]string{"provenance", "ARCHES=" + runtime.GOARCH, "PLATFORMS=" + platform, "IMAGE=bin/kubeflap-image.tar"}, args...)...)
}

// wants checks that check-artefacts reports each of the problems. Without problems, it must succeed.
func wants(t *testing.T, dir, what string, problems ...string) {
	t.Helper()
	out, err := try(t, dir, "bin/release", "check-artefacts", "--release", "v"+version, "--platforms", platform)
	if (err == nil) != (len(problems) == 0) {
		t.Errorf("%s: %v: %s", what, err, out)
	}
	for _, p := range problems {
		if !strings.Contains(out, p) {
			t.Errorf("%s: the output does not contain %q: %s", what, p, out)
		}
	}
}

// spoiled returns a corrupted file: a manifest gets a kind that krew does not know, and other files get an additional
// byte.
func spoiled(text []byte) []byte {
	if changed := bytes.Replace(text, []byte("kind: Plugin"), []byte("kind: Pluggin"), 1); bytes.HasPrefix(text, []byte("apiVersion:")) {
		return changed
	}
	return append(bytes.Clone(text), 0)
}

// installs installs the plugin from its archive with krew, and runs it.
func installs(t *testing.T, dir string) {
	t.Helper()
	root := t.TempDir()
	t.Setenv("KREW_ROOT", root)
	must(t, dir, "bin/krew", "install", "--manifest=bin/flap.yaml", "--archive="+plugin)
	said := must(t, dir, filepath.Join(root, "bin/kubectl-flap"), "--version")
	if !strings.HasPrefix(said, "kubeflap, version "+version+" (") {
		t.Errorf("unexpected version of the plugin that krew installed: %s", said)
	}
	if help := must(t, dir, filepath.Join(root, "bin/kubectl-flap"), "--help"); !strings.HasPrefix(help, "usage: kubectl flap ") {
		t.Errorf("krew did not install the plugin as kubectl flap: %s", help)
	}
	if licence := must(t, dir, "find", root, "-name", "LICENSE"); licence == "" {
		t.Error("the plugin's archive contains no license")
	}
}

func TestRelease(t *testing.T) {
	dir := tagged(t)
	// The copied programs are newer than their modules, so make does not rebuild them.
	must(t, root, "bash", "-c", `mkdir "$0/bin" && cp bin/helm bin/cyclonedx-gomod bin/validate-krew-manifest bin/krew "$0/bin"`, dir)
	must(t, dir, "bash", "-c", "make bin/release && bin/release check-tag --release v"+version)
	makeAll(t, dir)
	wants(t, dir, "unchanged")

	installs(t, dir)

	statement := read(t, filepath.Join(dir, "bin/kubeflap.provenance.json"))
	makeAll(t, dir)
	if again := read(t, filepath.Join(dir, "bin/kubeflap.provenance.json")); !bytes.Equal(statement, again) {
		t.Errorf("a second run wrote another provenance:\n%s\n%s", statement, again)
	}

	must(t, dir, "git", "-c", "commit.gpgsign=false", "commit", "--quiet", "--allow-empty", "--message", "more")
	wants(t, dir, "another commit", "--version says", "label revision is", "names another commit than")
	must(t, dir, "git", "reset", "--quiet", "--hard", "HEAD~1")

	for file, problems := range map[string][]string{
		binary: {"cdx.json describes another binary", "for linux-" + runtime.GOARCH + "/kubeflap, whose digest is"},
		tgz:    {"for kubeflap-" + version + ".tgz, whose digest is"},
		plugin: {"flap.yaml contains the digest", "kubeflap.provenance.json contains the digest"},
		// this message comes from krew's own validator
		"bin/flap.yaml": {"is not a valid krew manifest"},
	} {
		path := filepath.Join(dir, file)
		before := read(t, path)
		put(t, path, spoiled(before), 0o700)
		wants(t, dir, file+" changed", problems...)
		put(t, path, before, 0o700)
	}

	put(t, filepath.Join(dir, "new"), nil, 0o600)
	if out, err := try(t, dir, "bin/release", "provenance", "--release", version, "--arches", runtime.GOARCH, "--builder", "https://example.com"); err == nil {
		t.Errorf("no error for the provenance of a modified work tree: %s", out)
	}
	if err := os.Remove(filepath.Join(dir, "new")); err != nil {
		t.Fatal(err)
	}

	if err := os.Remove(filepath.Join(dir, tgz)); err != nil {
		t.Fatal(err)
	}
	makeAll(t, dir, "VERSION=v99.88.76")
	wants(t, dir, "another version", "--version says", "exposes kubeflap_build_info", "label version is", "cdx.json has version v99.88.76", tgz)
}

// A build from source has no version flag, but the Go toolchain records the commit.
func TestBuildFromSourceSaysItsCommit(t *testing.T) {
	dir := tagged(t)
	must(t, dir, "git", "-c", "commit.gpgsign=false", "commit", "--quiet", "--allow-empty", "--message", "more")
	revision := strings.TrimSpace(must(t, dir, "git", "rev-parse", "HEAD"))
	for _, args := range [][]string{{"build", "-buildvcs=true", "-o", "bin/", "./cmd/kubeflap"}, {"install", "-buildvcs=true", "./cmd/kubeflap"}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOBIN="+filepath.Join(dir, "bin"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v: %s", args, err, out)
		}
		said := must(t, dir, "bin/kubeflap", "--version")
		if !strings.Contains(said, "-"+revision[:12]+" (") || !strings.Contains(said, "revision: "+revision+")") {
			t.Errorf("the binary from go %s does not report the commit %s: %s", args[0], revision, said)
		}
		if err := os.Remove(filepath.Join(dir, "bin/kubeflap")); err != nil {
			t.Fatal(err)
		}
	}
}
