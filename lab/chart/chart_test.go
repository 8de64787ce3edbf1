// Package chart tests the Helm chart. It checks what the chart renders, which values it refuses and what it documents.
package chart

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

const (
	root   = "../.."
	source = root + "/charts/kubeflap"
	// chart is the chart as make chart packages it: with the rules and dashboards.
	chart = root + "/bin/chart/kubeflap"
)

func TestMain(m *testing.M) {
	if out, err := exec.Command("make", "--silent", "-C", root, "bin/chart").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "make bin/chart: %v: %s\n", err, out)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// kinds knows the types of the objects in the chart, in the kustomize base and in the documents.
var kinds = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme, rbacv1.AddToScheme,
		monitoringv1.AddToScheme, gatewayv1.Install, sourcev1.AddToScheme, helmv2.AddToScheme, certmanagerv1.AddToScheme)
	return scheme, add.AddToScheme(scheme)
})

// documents returns the documents of a YAML stream as JSON. It parses YAML as Helm and kubectl do, so an unquoted `on`
// is a boolean and not a string.
func documents(t *testing.T, text string) [][]byte {
	t.Helper()
	var all [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		asJSON, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if string(asJSON) != "null" {
			all = append(all, asJSON)
		}
	}
}

// decode decodes a JSON document strictly into the Go type of its kind.
func decode(t *testing.T, document []byte) any {
	t.Helper()
	scheme := try(kinds())(t)
	object, _, err := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer().Decode(document, nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	return object
}

// decoded decodes all documents of a YAML stream.
func decoded(t *testing.T, text string) (objects []any) {
	t.Helper()
	for _, document := range documents(t, text) {
		objects = append(objects, decode(t, document))
	}
	return objects
}

// valuesFiles returns the texts of the values files in ci/, by name.
func valuesFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(source + "/ci/*-values.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("found %d values files: %v", len(files), err)
	}
	texts := map[string]string{}
	for _, file := range files {
		texts[filepath.Base(file)] = values(t, file)
	}
	return texts
}

// all returns all objects of a type.
func all[T any](objects []any) []*T {
	var found []*T
	for _, object := range objects {
		if x, ok := object.(*T); ok {
			found = append(found, x)
		}
	}
	return found
}

// the returns the only object of a type.
func the[T any](t *testing.T, objects []any) *T {
	t.Helper()
	found := all[T](objects)
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T, want 1", len(found), *new(T))
	}
	return found[0]
}

func values(t *testing.T, path string) string {
	t.Helper()
	text := try(os.ReadFile(path))(t)
	return string(text)
}

// podTemplate returns the pod template of the Deployment or StatefulSet.
func podTemplate(t *testing.T, objects []any) *corev1.PodTemplateSpec {
	t.Helper()
	if sets := all[appsv1.StatefulSet](objects); len(sets) == 1 {
		return &sets[0].Spec.Template
	}
	return &the[appsv1.Deployment](t, objects).Spec.Template
}

func pod(t *testing.T, objects []any) *corev1.PodSpec {
	t.Helper()
	return &podTemplate(t, objects).Spec
}

// try returns x, unless err fails the test.
func try[T any](x T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return x
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
