package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// In a checkout, the chart has no rules and no dashboards. It must refuse to render them, and say how to get them.
// Everything else must render.
func TestCheckout(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"{}":                                "",
		"{monitor: {enabled: true}}":        "",
		"{prometheusRule: {enabled: true}}": "prometheusRule.enabled is true, but the chart in a checkout contains no rules: run make chart, and use the package in bin/",
		"{dashboards: {enabled: true}}":     "dashboards.enabled is true, but the chart in a checkout contains no dashboards: run make chart, and use the package in bin/",
	} {
		_, err := helm(values, "template", "kubeflap", source, "--values", "-")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", values, err, want)
		}
	}
}

// about has the fields of Chart.yaml that the tests use.
type about struct {
	Version     string            `json:"version"`
	AppVersion  string            `json:"appVersion"`
	Icon        string            `json:"icon"`
	Annotations map[string]string `json:"annotations"`
}

func aboutChart(t *testing.T, text string) (a about) {
	t.Helper()
	must(t, yaml.Unmarshal([]byte(text), &a))
	return a
}

// packageChart runs make chart. It returns the files of the package, and its digest.
func packageChart(t *testing.T, args ...string) (map[string]string, [sha256.Size]byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"--silent", "-C", root, "chart", "VERSION=v9.8.7"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make chart: %v: %s", err, out)
	}
	file := root + "/bin/kubeflap-9.8.7.tgz"
	text := try(os.ReadFile(file))(t)
	t.Cleanup(func() { _ = os.Remove(file) })
	unzipped := try(gzip.NewReader(bytes.NewReader(text)))(t)
	files := map[string]string{}
	for archive := tar.NewReader(unzipped); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, sha256.Sum256(text)
		}
		content, err2 := io.ReadAll(archive)
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(head.Name, "kubeflap/")] = string(content)
	}
}

// make chart must add exactly the rules and dashboards of the repository, and set the version and the tag of the image.
// Two packages must have the same digest. This test is not parallel, because it writes the directory that other tests
// read.
func TestPackage(t *testing.T) {
	t.Cleanup(func() {
		if out, err := exec.CommandContext(t.Context(), "make", "--silent", "-C", root, "bin/chart").CombinedOutput(); err != nil {
			t.Logf("make bin/chart: %s", out)
		}
	})
	packaged, digest := packageChart(t)
	if _, again := packageChart(t); digest != again {
		t.Error("a second package has another digest")
	}
	about := aboutChart(t, packaged["Chart.yaml"])
	if image := about.Annotations["artifacthub.io/images"]; about.Version != "9.8.7" || about.AppVersion != "9.8.7" || !strings.Contains(image, "image: ghcr.io/kubeflap/kubeflap:v9.8.7\n") {
		t.Errorf("the package has version %s, appVersion %s and images %s", about.Version, about.AppVersion, image)
	}
	want := map[string]string{}
	for _, pattern := range []string{"rules/*.yaml", "dashboards/*.json"} {
		files, err := filepath.Glob(root + "/" + pattern)
		if err != nil || len(files) < 4 {
			t.Fatalf("%d files %s: %v", len(files), pattern, err)
		}
		for _, file := range files {
			// alertmanager.yaml is an example configuration.
			if filepath.Base(file) != "alertmanager.yaml" {
				want[strings.TrimPrefix(file, root+"/")] = values(t, file)
			}
		}
	}
	for name, text := range packaged {
		if is, ok := want[name]; ok && is == text {
			delete(want, name)
		} else if ok || strings.HasPrefix(name, "rules/") || strings.HasPrefix(name, "dashboards/") {
			t.Errorf("unexpected file %s in the package", name)
		}
	}
	for name := range want {
		t.Errorf("the package does not contain %s", name)
	}
	signed, _ := packageChart(t, "SIGN_KEY=C874011F0AB405110D02105534365D9472D7468F")
	if key := aboutChart(t, signed["Chart.yaml"]).Annotations["artifacthub.io/signKey"]; !strings.Contains(key, "fingerprint: C874011F0AB405110D02105534365D9472D7468F\nurl: https://") {
		t.Errorf("the package names the key %q", key)
	}
}

// What Artifact Hub shows must exist: the icon and screenshots in docs/images, and the default image.
func TestArtifactHub(t *testing.T) {
	t.Parallel()
	about := aboutChart(t, values(t, source+"/Chart.yaml"))
	var images []struct{ Name, Image string }
	var changes []struct{ Kind, Description string }
	var screenshots []struct{ Title, URL string }
	for name, into := range map[string]any{"images": &images, "changes": &changes, "screenshots": &screenshots} {
		if err := yaml.Unmarshal([]byte(about.Annotations["artifacthub.io/"+name]), into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if want := pod(t, render(t, "{}")).Containers[0].Image; len(images) != 1 || images[0].Image != want {
		t.Errorf("the images are %v, want %s", images, want)
	}
	if len(changes) == 0 || changes[0].Kind != "added" || len(screenshots) == 0 {
		t.Errorf("unexpected changes %v or screenshots %v", changes, screenshots)
	}
	urls := []string{about.Icon}
	for _, screenshot := range screenshots {
		urls = append(urls, screenshot.URL)
	}
	for _, url := range urls {
		path, found := strings.CutPrefix(url, "https://raw.githubusercontent.com/kubeflap/kubeflap/main/")
		if _, err := os.Stat(filepath.Join(root, path)); !found || err != nil {
			t.Errorf("%s does not exist: %v", url, err)
		}
	}
}
