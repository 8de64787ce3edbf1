package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// operators is the import path of the Prometheus Operator's API types, in the version of chart/go.mod.
const operators = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/"

// applies renders the chart with each values file, and applies the output with strict validation.
func applies(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	t.Helper()
	defineResources(ctx, t, c)
	files, err := filepath.Glob("../charts/kubeflap/ci/*-values.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d values files: %v", len(files), err)
	}
	kinds := map[string]bool{}
	for _, file := range files {
		home := strings.TrimSuffix(filepath.Base(file), ".yaml")
		text := runHelm(ctx, t, c, home, "template", "kubeflap", "../charts/kubeflap", "--values", file)
		manifests := read(t, text)
		makeNamespaces(ctx, t, c, home, manifests)
		if err := c.Apply(ctx, home, manifests); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, m := range manifests {
			if !kinds[m.GetKind()] {
				refusesUnknown(ctx, t, c, home, m)
			}
			kinds[m.GetKind()] = true
		}
	}
	for _, kind := range []string{
		"Deployment", "NetworkPolicy", "Ingress", "HTTPRoute", "ServiceMonitor", "PodMonitor", "ScrapeConfig", "PrometheusRule", "VerticalPodAutoscaler",
	} {
		if !kinds[kind] {
			t.Errorf("no values file renders a %s", kind)
		}
	}
}

func read(t *testing.T, text []byte) []cluster.Manifest {
	t.Helper()
	manifests, err := cluster.Manifests(text)
	if err != nil || len(manifests) == 0 {
		t.Fatalf("found %d manifests: %v", len(manifests), err)
	}
	return manifests
}

// makeNamespaces creates the home namespace and the namespaces of all manifests.
func makeNamespaces(ctx context.Context, t *testing.T, c *cluster.Cluster, home string, manifests []cluster.Manifest) {
	t.Helper()
	names := []string{home}
	for _, m := range manifests {
		if namespace := m.GetNamespace(); namespace != "" && !slices.Contains(names, namespace) {
			names = append(names, namespace)
		}
	}
	for _, name := range names {
		_, err := c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// refusesUnknown checks that the API server validates a kind strictly: it must refuse the object if an unknown field is
// added.
func refusesUnknown(ctx context.Context, t *testing.T, c *cluster.Cluster, home string, m cluster.Manifest) {
	t.Helper()
	object := m.DeepCopy().Object
	object["noSuchField"] = true
	if spec, ok := object["spec"].(map[string]any); ok {
		delete(object, "noSuchField")
		spec["noSuchField"] = true
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(ctx, home, read(t, text)); err == nil || !strings.Contains(err.Error(), "noSuchField") {
		t.Errorf("%s with an unknown field: got error %v, want it refused", m.GetKind(), err)
	}
}

// defineResources creates the CRDs of the Prometheus Operator, the VPA and the Gateway API, as their modules define
// them. The Operator's API module contains only Go types. controller-gen generates the CRDs from these types, as in the
// Operator's own build.
func defineResources(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	t.Helper()
	dir := t.TempDir()
	inChart(ctx, t, "../../bin/controller-gen", "crd", "paths="+operators+"v1", "paths="+operators+"v1alpha1", "output:crd:dir="+dir)
	files := []string{
		filepath.Join(moduleDir(ctx, t, "k8s.io/autoscaler/vertical-pod-autoscaler"), "deploy", "vpa-v1-crd-gen.yaml"),
		filepath.Join(moduleDir(ctx, t, "sigs.k8s.io/gateway-api"), "config", "crd", "standard", "gateway.networking.k8s.io_httproutes.yaml"),
	}
	for _, plural := range []string{"servicemonitors", "podmonitors", "scrapeconfigs", "prometheusrules"} {
		files = append(files, filepath.Join(dir, "monitoring.coreos.com_"+plural+".yaml"))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		definitions := read(t, text)
		if err := c.Apply(ctx, "", definitions); err != nil {
			t.Fatalf("%s: %v", filepath.Base(file), err)
		}
		for _, definition := range definitions {
			served(ctx, t, c, definition)
		}
	}
}

// served waits until the API server serves the resource that a CRD defines.
func served(ctx context.Context, t *testing.T, c *cluster.Cluster, definition cluster.Manifest) {
	t.Helper()
	group, _, err1 := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, err2 := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, err3 := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err1 != nil || err2 != nil || err3 != nil || len(versions) == 0 {
		t.Fatalf("%s is not a CustomResourceDefinition", definition.GetName())
	}
	version, _ := versions[0].(map[string]any)["name"].(string)
	path := "/apis/" + group + "/" + version + "/" + plural
	err := poll.Until(ctx, time.Minute, path, func(ctx context.Context) error {
		return c.Client.Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Error()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// moduleDir returns the directory of a module that chart/go.mod requires. It downloads the module if necessary.
func moduleDir(ctx context.Context, t *testing.T, path string) string {
	t.Helper()
	var module struct{ Dir string }
	if err := json.Unmarshal(inChart(ctx, t, "go", "mod", "download", "-json", path), &module); err != nil {
		t.Fatal(err)
	}
	return module.Dir
}

// inChart runs a command in the directory chart, so that chart/go.mod applies, and returns its output.
func inChart(ctx context.Context, t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "chart"
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out.String(), errOut.String())
	}
	return out.Bytes()
}
