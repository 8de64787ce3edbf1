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

// operators are the Go types of the Prometheus Operator, as chart/go.mod has them.
const operators = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/"

// applies has the API server take what each file of values renders, strictly.
func applies(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	t.Helper()
	defineResources(ctx, t, c)
	files, err := filepath.Glob("../charts/kubeflap/ci/*-values.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of values, %v", len(files), err)
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
			t.Errorf("no file of values renders a %s", kind)
		}
	}
}

func read(t *testing.T, text []byte) []cluster.Manifest {
	t.Helper()
	manifests, err := cluster.Manifests(text)
	if err != nil || len(manifests) == 0 {
		t.Fatalf("%d manifests, %v", len(manifests), err)
	}
	return manifests
}

// makeNamespaces makes those that objects are in.
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

// refusesUnknown is the proof that the API server is strict with a kind: with one field more it refuses the same object.
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
		t.Errorf("a %s with a field that there is not: %v, want it refused", m.GetKind(), err)
	}
}

// defineResources makes the resources of the Operator, of the VPA and of the Gateway API, as their modules define them. The Operator's module has Go types only:
// its definitions are generated from these, as it does itself.
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

// served waits until the API server has the resource that an object defines.
func served(ctx context.Context, t *testing.T, c *cluster.Cluster, definition cluster.Manifest) {
	t.Helper()
	group, _, err1 := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, err2 := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, err3 := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err1 != nil || err2 != nil || err3 != nil || len(versions) == 0 {
		t.Fatalf("%s is no definition of a resource", definition.GetName())
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

// moduleDir is where a module is that chart/go.mod names.
func moduleDir(ctx context.Context, t *testing.T, path string) string {
	t.Helper()
	var module struct{ Dir string }
	if err := json.Unmarshal(inChart(ctx, t, "go", "mod", "download", "-json", path), &module); err != nil {
		t.Fatal(err)
	}
	return module.Dir
}

// inChart runs a command where chart/go.mod holds.
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
