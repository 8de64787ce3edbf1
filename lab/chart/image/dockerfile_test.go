package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Both Dockerfiles must build the same image. The only difference is the source of the binary: Dockerfile also compiles
// it.
func TestBothDockerfilesMakeOneImage(t *testing.T) {
	_, built, _ := strings.Cut(text(t, "Dockerfile"), "\nFROM scratch\n")
	_, copied, _ := strings.Cut(text(t, "tools/image.Dockerfile"), "\nFROM scratch\n")
	want := strings.Replace(copied, "COPY --chmod=0755 bin/linux-${TARGETARCH}/kubeflap", "COPY --from=build --chmod=0755 /kubeflap", 1)
	if built == "" || built != want {
		t.Errorf("Dockerfile ends with\n%s\nwant\n%s", built, want)
	}
	needed := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(text(t, "go.mod"))[1]
	if line := "ARG GO_IMAGE=docker.io/library/golang:" + needed + "\n"; !strings.Contains(text(t, "Dockerfile"), line) {
		t.Errorf("Dockerfile does not contain %s", line)
	}
}

// The Dockerfile must build a clean clone. The test replaces the golang image with this machine's shell and Go, so that
// it needs no registry.
func TestDockerfileBuildsACleanClone(t *testing.T) {
	store, clone, base := t.TempDir(), t.TempDir(), t.TempDir()
	buildah := func(args ...string) string {
		t.Helper()
		args = append([]string{"--root", store + "/root", "--runroot", store + "/run", "--storage-driver", "vfs"}, args...)
		out, err := exec.CommandContext(t.Context(), "buildah", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("buildah %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	copying := exec.CommandContext(t.Context(), "bash", "-c", `git ls-files -z --cached --others --exclude-standard | tar c --null --files-from - | tar x -C "$0"`, clone)
	copying.Dir = root
	if out, err := copying.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// go mod download also needs the modules that no package of kubeflap imports. A cache that only builds have filled
	// does not contain them.
	downloading := exec.CommandContext(t.Context(), "go", "mod", "download")
	downloading.Dir = clone
	if out, err := downloading.CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v: %s", err, out)
	}
	golang := "FROM scratch\nCOPY . /\nENV PATH=" + filepath.Join(goEnv(t, "GOROOT"), "bin") + ":/bin GOPATH=/go GOCACHE=/go/cache GOPROXY=off\n"
	for _, link := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+link, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, directory := range []string{"usr", "tmp"} {
		if err := os.Mkdir(filepath.Join(base, directory), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "Dockerfile"), []byte(golang), 0o600); err != nil {
		t.Fatal(err)
	}
	buildah("build", "--quiet", "--tag", "localhost/golang", base)
	for _, arch := range []string{"amd64", "arm64"} {
		buildah("build", "--quiet", "--pull-never", "--isolation", "chroot", "--platform", "linux/"+arch, "--volume", "/usr:/usr:ro", "--volume", goEnv(t, "GOROOT")+":"+goEnv(t, "GOROOT")+":ro",
			"--volume", goEnv(t, "GOMODCACHE")+":/go/pkg/mod", "--volume", goEnv(t, "GOCACHE")+":/go/cache",
			// Docker sets BUILDPLATFORM, buildah 1.28 does not.
			"--build-arg", "BUILDPLATFORM=linux/"+runtime.GOARCH, "--build-arg", "GO_IMAGE=localhost/golang", "--build-arg", "VERSION=v99.88.77", "--build-arg", "REVISION=abcdef", "--tag", arch, clone)
		archive := filepath.Join(store, arch+".tar")
		buildah("push", "--quiet", arch, "oci-archive:"+archive)
		checkBuilt(t, archive, arch)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// checkBuilt checks the image in an archive. It runs the binary if this machine has its architecture.
func checkBuilt(t *testing.T, archive, arch string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	blobs, _ := entries(t, file)
	about, layer := unpack(t, blobs, parse[manifest](t, blobs["index.json"]).Manifests[0])
	if c := about.Config; c.User != "65534:65534" || !slices.Equal(c.Entrypoint, []string{"/kubeflap"}) || c.Labels["org.opencontainers.image.revision"] != "abcdef" {
		t.Errorf("unexpected image configuration: %+v", c)
	}
	checkLayer(t, layer, arch, "kubeflap, version 99.88.77 (branch: HEAD, revision: abcdef)")
}
