package rehearsal

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd" // authentication with a password
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory" // storage for pushed images
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
)

const (
	user     = "publisher"
	password = "secret of this registry"
)

// registry starts the CNCF's registry on a loopback address. It accepts one user.
func registry(t *testing.T) (host string) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "htpasswd")
	put(t, users, fmt.Appendf(nil, "%s:%s\n", user, hash), 0o600)
	config := &configuration.Configuration{
		Storage: configuration.Storage{"inmemory": {}, "maintenance": {"uploadpurging": map[any]any{"enabled": false}}},
		Auth:    configuration.Auth{"htpasswd": {"realm": "test", "path": users}},
	}
	config.HTTP.Secret = "shared by no other registry"
	logrus.SetOutput(io.Discard)
	server := httptest.NewServer(handlers.NewApp(t.Context(), config))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// fetch requests a manifest or a blob from the registry's API. It returns the content and its digest.
func fetch(t *testing.T, host, path string, accept ...string) (text []byte, digest string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/v2/"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(user, password)
	request.Header["Accept"] = accept
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", path, response.Status, err, text)
	}
	return text, response.Header.Get("Docker-Content-Digest")
}

// document fetches a JSON manifest or blob, and decodes it.
func document[T any](t *testing.T, host, path string, accept ...string) (parsed T, digest string) {
	t.Helper()
	text, digest := fetch(t, host, path, accept...)
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatalf("%s: %v: %s", path, err, text)
	}
	return parsed, digest
}

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
)

type (
	descriptor struct {
		Digest   string
		Platform struct{ OS, Architecture string }
	}
	manifest struct {
		Manifests, Layers []descriptor
		Config            descriptor
	}
	imageConfig struct {
		OS, Architecture string
		Config           struct {
			Entrypoint []string
			Labels     map[string]string
		}
	}
)

// make publish must push the image and the chart to a registry with a password. The commands that it prints must
// install them.
func TestPublish(t *testing.T) {
	t.Setenv("IMAGE", "bin/kubeflap-image.tar")
	dir := tagged(t)
	must(t, root, "bash", "-c", `mkdir "$0/bin" && cp bin/helm bin/crane "$0/bin"`, dir)
	for _, registry := range []string{"", "registry.example.org", "monitoring/kubeflap", "oci://registry.example.org/monitoring"} {
		out, err := try(t, dir, "tools/publish.sh", registry, version)
		if registry == "" {
			out, err = try(t, dir, "make", "publish")
		}
		if lines := strings.Count(strings.TrimSpace(out), "\n") + 1; err == nil || lines != 1 || !strings.Contains(out, "such as") {
			t.Errorf("REGISTRY=%s: got no single line with an example: %v: %s", registry, err, out)
		}
	}

	host := registry(t)
	noLogin(t)
	must(t, dir, "bin/crane", "auth", "login", host, "--username", user, "--password", password)
	out := must(t, dir, "make", "publish", "REGISTRY="+host+"/team/monitoring")

	digest := pushedImage(t, host, dir)
	installs := regexp.MustCompile(`(?m)helm install (kubeflap oci://(?:.*\\\n)*.*)$`).FindAllStringSubmatch(out, -1)
	if len(installs) != 2 {
		t.Fatalf("make publish prints %d install commands, want 2: %s", len(installs), out)
	}
	for i, want := range [][]string{
		{"kind: Deployment"}, {"kind: Deployment", "kind: ServiceMonitor", "kind: PrometheusRule", "kubeflap-overview.json", "page_url: https://kubeflap.example.org/flaps"},
	} {
		args := strings.Fields(strings.ReplaceAll(installs[i][1], "\\\n", " "))
		rendered := must(t, dir, "bin/helm", append([]string{"template", "--plain-http"}, args...)...)
		for _, text := range append(want, "image: \""+host+"/team/monitoring/kubeflap@"+digest+"\"") {
			if !strings.Contains(rendered, text) {
				t.Errorf("command %d does not render %s: %s", i+1, text, rendered)
			}
		}
	}
	must(t, dir, "mkdir", "bin/pulled")
	must(t, dir, "bin/helm", "pull", "--plain-http", "oci://"+host+"/team/monitoring/charts/kubeflap", "--version", version, "--destination", "bin/pulled")
	if !slices.Equal(read(t, filepath.Join(dir, "bin/pulled/kubeflap-"+version+".tgz")), read(t, filepath.Join(dir, tgz))) {
		t.Error("the chart in the registry differs from the built one")
	}

	noLogin(t)
	if out, err := try(t, dir, "tools/publish.sh", host+"/team/monitoring", version); err == nil || !strings.Contains(out, "401 Unauthorized") {
		t.Errorf("unexpected result without a password: %v: %s", err, out)
	}
}

// noLogin hides the registry passwords of this machine's user.
func noLogin(t *testing.T) {
	t.Helper()
	directory := t.TempDir()
	put(t, filepath.Join(directory, "config.json"), []byte("{}"), 0o600)
	t.Setenv("DOCKER_CONFIG", directory)
	t.Setenv("HELM_REGISTRY_CONFIG", filepath.Join(directory, "helm.json"))
}

// pushedImage checks through the registry's API that the pushed image is the built one, and complete for each platform.
// It returns the image's digest.
func pushedImage(t *testing.T, host, dir string) string {
	t.Helper()
	const repository = "team/monitoring/kubeflap/"
	index, digest := document[manifest](t, host, repository+"manifests/v"+version, indexType)
	if built := string(read(t, filepath.Join(dir, "bin/kubeflap-image.tar.digest"))); digest != built {
		t.Errorf("the pushed image has the digest %s, but the built one has %s", digest, built)
	}
	var platforms []string
	for _, one := range index.Manifests {
		image, _ := document[manifest](t, host, repository+"manifests/"+one.Digest, manifestType)
		config, _ := document[imageConfig](t, host, repository+"blobs/"+image.Config.Digest)
		platforms = append(platforms, config.OS+"/"+config.Architecture)
		if config.Architecture != one.Platform.Architecture || config.Config.Labels["org.opencontainers.image.version"] != version || len(image.Layers) != 1 {
			t.Errorf("unexpected layers or configuration of %+v: %+v", one, config)
		}
		if layer, _ := fetch(t, host, repository+"blobs/"+image.Layers[0].Digest); len(layer) < 1<<20 {
			t.Errorf("unexpected size of the layer for %s: %d bytes", config.Architecture, len(layer))
		}
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("got platforms %v, want %v", platforms, want)
	}
	return digest
}
