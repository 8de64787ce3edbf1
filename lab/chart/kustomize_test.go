package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomized builds a directory with kustomize, and decodes each object strictly into its Go type.
func kustomized(t *testing.T, directory string) []any {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, string(text))
}

// overlaid builds a kustomization. It replaces the URLs of this repository by paths of the local files.
func overlaid(t *testing.T, kustomization string) []any {
	t.Helper()
	// Kustomize only accepts relative paths, and no symbolic links.
	directory, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	to, err := filepath.Abs(root)
	if err == nil {
		to, err = filepath.Rel(directory, to)
	}
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`https://github\.com/kubeflap/kubeflap//(\w+)\?ref=\S+`).ReplaceAllString(kustomization, to+"/$1")
	if text == kustomization {
		t.Fatalf("no resource from this repository in\n%s", text)
	}
	if err := os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kustomized(t, directory)
}

// byName returns the objects by type and name. It removes Helm's labels.
func byName(objects []any) map[string]any {
	all := map[string]any{}
	for _, object := range objects {
		meta := object.(metav1.Object)
		labels := meta.GetLabels()
		delete(labels, "helm.sh/chart")
		delete(labels, "app.kubernetes.io/managed-by")
		all[fmt.Sprintf("%T %s/%s", object, meta.GetNamespace(), meta.GetName())] = object
	}
	return all
}

// The kustomize base must contain the same objects as the rendered chart, and a Namespace. Its dashboards must be the
// unchanged files.
func TestKustomizeIsTheChart(t *testing.T) {
	t.Parallel()
	is := byName(kustomized(t, root+"/deploy"))
	want := byName(renderAs(t, "kubeflap", "kubeflap", "{serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}, dashboards: {enabled: true}}"))
	for name := range want {
		object, ok := is[name]
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		board, ok := object.(*corev1.ConfigMap)
		if !ok {
			if !reflect.DeepEqual(object, want[name]) {
				t.Errorf("%s is %+v, want %+v", name, object, want[name])
			}
			continue
		}
		if board.Labels["grafana_dashboard"] != "1" || len(board.Data) != 1 {
			t.Errorf("%s: got labels %v and %d files", name, board.Labels, len(board.Data))
		}
		for file := range want[name].(*corev1.ConfigMap).Data {
			if board.Data[file] != values(t, root+"/dashboards/"+strings.TrimPrefix(file, "kubeflap-")) {
				t.Errorf("%s: %s differs from its file", name, file)
			}
		}
	}
	if len(is) != len(want)+1 || is["*v1.Namespace /kubeflap"] == nil {
		t.Errorf("got %d objects, want %d and a Namespace", len(is), len(want))
	}
}

// kubectl apply stores a copy of each object in an annotation of that object. Kubernetes limits the total size of an
// object's annotations to 256 KiB.
func TestKustomizeFitsIntoAnAnnotation(t *testing.T) {
	t.Parallel()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), root+"/deploy")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range built.Resources() {
		text, err := r.MarshalJSON()
		if err != nil || len(text) > 240<<10 {
			t.Errorf("%s has %d bytes, %v", r.CurId(), len(text), err)
		}
	}
}

// The examples in the documentation must build. One sets another image, one is for clusters without the Prometheus
// Operator, and one only installs the dashboards in another namespace.
func TestKustomizeExamples(t *testing.T) {
	t.Parallel()
	examples := regexp.MustCompile("(?ms)^```yaml\n(resources:\n.*?)^```").FindAllStringSubmatch(values(t, root+"/docs/install.md")+values(t, root+"/docs/dashboards.md"), -1)
	if len(examples) != 3 {
		t.Fatalf("%d examples, want 3", len(examples))
	}
	objects := overlaid(t, examples[0][1])
	if image := the[appsv1.Deployment](t, objects).Spec.Template.Spec.Containers[0].Image; image != "registry.example.org/monitoring/kubeflap@DIGEST" {
		t.Errorf("the image is %s", image)
	}
	the[monitoringv1.PrometheusRule](t, objects)
	the[monitoringv1.ServiceMonitor](t, objects)
	objects = overlaid(t, examples[1][1])
	if n := len(all[monitoringv1.PrometheusRule](objects)) + len(all[monitoringv1.ServiceMonitor](objects)); n != 0 {
		t.Errorf("got %d Prometheus Operator objects, want none", n)
	}
	the[appsv1.Deployment](t, objects)
	target := regexp.MustCompile("`(target: .*grafana_dashboard=1})`").FindStringSubmatch(values(t, root+"/docs/install.md"))
	without := overlaid(t, examples[0][1]+"patches:\n  - "+target[1]+"\n    patch: |\n      $patch: delete\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: any}\n")
	if left := len(all[corev1.ConfigMap](without)); left != 0 || len(all[monitoringv1.PrometheusRule](without)) != 1 {
		t.Errorf("got %d ConfigMaps without the dashboards, want none", left)
	}
	boards := overlaid(t, examples[2][1])
	if len(boards) != len(all[corev1.ConfigMap](objects)) {
		t.Errorf("%d dashboards, want %d", len(boards), len(all[corev1.ConfigMap](objects)))
	}
	for _, board := range all[corev1.ConfigMap](boards) {
		if board.Namespace != "monitoring" {
			t.Errorf("%s is in the namespace %s", board.Name, board.Namespace)
		}
	}
}
