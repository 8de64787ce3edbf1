package chart

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// operators matches objects of the Prometheus Operator, and helms matches what Helm adds.
var (
	operators = regexp.MustCompile(`(?m)^apiVersion: monitoring\.coreos\.com/v1$`)
	helms     = regexp.MustCompile(`(?m)^(# Source: .*| +helm\.sh/chart: .*| +app\.kubernetes\.io/managed-by: .*)\n`)
)

// The manifests in deploy/ must equal the rendered chart, except for Helm's labels and annotations.
func TestDeployIsFresh(t *testing.T) {
	t.Parallel()
	for file, values := range map[string]string{
		"kubeflap.yaml":       "{namespaceOverride: kubeflap}",
		"servicemonitor.yaml": "{namespaceOverride: kubeflap, monitor: {enabled: true}}",
	} {
		text := try(template(values))(t)
		var kept []string
		for document := range strings.SplitSeq(text, "\n---\n") {
			if operators.MatchString(document) == (file != "kubeflap.yaml") {
				kept = append(kept, strings.TrimSpace(helms.ReplaceAllString(strings.TrimPrefix(document, "---\n"), ""))+"\n")
			}
		}
		if file == "kubeflap.yaml" {
			kept = append([]string{"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: kubeflap\n"}, kept...)
		}
		checkFresh(t, root+"/deploy/"+file, "# Made from charts/kubeflap by make docs.\n"+strings.Join(kept, "---\n"))
	}
}

// kustomized builds a directory with kustomize, and decodes each object strictly into its Go type.
func kustomized(t *testing.T, directory string) []any {
	t.Helper()
	built := try(krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory))(t)
	for _, r := range built.Resources() {
		// kubectl apply stores a copy of each object in an annotation. Kubernetes limits annotations to 256 KiB.
		if text, err := r.MarshalJSON(); err != nil || len(text) > 240<<10 {
			t.Errorf("%s has %d bytes, %v", r.CurId(), len(text), err)
		}
	}
	text := try(built.AsYaml())(t)
	return decoded(t, string(text))
}

// overlaid builds a kustomization. It replaces the URLs of this repository by paths of the local files.
func overlaid(t *testing.T, kustomization string) []any {
	t.Helper()
	// Kustomize only accepts relative paths, no symbolic links, and no single files outside of its directory.
	directory := try(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, name := range []string{"deploy", "dashboards"} {
		must(t, os.CopyFS(filepath.Join(directory, name), os.DirFS(filepath.Join(root, name))))
	}
	text := regexp.MustCompile(`https://github\.com/kubeflap/kubeflap//(\w+)\?ref=\S+`).ReplaceAllString(kustomization, "$1")
	text = regexp.MustCompile(`https://raw\.githubusercontent\.com/kubeflap/kubeflap/main/(deploy/\S+)`).ReplaceAllString(text, "$1")
	if text == kustomization {
		t.Fatalf("no resource from this repository in\n%s", text)
	}
	must(t, os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(text), 0o600))
	return kustomized(t, directory)
}

// The Kustomize base must contain the objects of kubeflap.yaml, which TestDeployIsFresh compares with the chart. The
// dashboards must be the unchanged files.
func TestKustomizeIsTheChart(t *testing.T) {
	t.Parallel()
	is, want := kustomized(t, root+"/deploy"), decoded(t, values(t, root+"/deploy/kubeflap.yaml"))
	if len(is) != len(want) {
		t.Errorf("got %d objects, want %d", len(is), len(want))
	}
	for _, object := range want {
		if !slices.ContainsFunc(is, func(x any) bool { return reflect.DeepEqual(x, object) }) {
			t.Errorf("no %+v", object)
		}
	}
	boards := all[corev1.ConfigMap](kustomized(t, root+"/dashboards"))
	files, err := filepath.Glob(root + "/dashboards/*.json")
	if err != nil || len(boards) != len(files) {
		t.Errorf("%d dashboards, want %d: %v", len(boards), len(files), err)
	}
	for _, board := range boards {
		for name, text := range board.Data {
			if board.Labels["grafana_dashboard"] != "1" || text != values(t, root+"/dashboards/"+strings.TrimPrefix(name, "kubeflap-")) {
				t.Errorf("%s: %s has labels %v, or differs from its file", board.Name, name, board.Labels)
			}
		}
	}
}

// An overlay must be able to move everything to another namespace.
func TestKustomizeNamespace(t *testing.T) {
	t.Parallel()
	objects := overlaid(t, "namespace: monitoring\nresources:\n  - https://github.com/kubeflap/kubeflap//deploy?ref=main\n"+
		"  - https://raw.githubusercontent.com/kubeflap/kubeflap/main/deploy/servicemonitor.yaml\n")
	for _, object := range objects {
		switch meta := object.(metav1.Object); object := object.(type) {
		case *corev1.Namespace:
			if object.Name != "monitoring" {
				t.Errorf("namespace %s", object.Name)
			}
		case *rbacv1.ClusterRole:
		case *rbacv1.ClusterRoleBinding:
			if object.Subjects[0].Namespace != "monitoring" {
				t.Errorf("the ClusterRole is bound to %+v", object.Subjects)
			}
		default:
			if meta.GetNamespace() != "monitoring" {
				t.Errorf("%T %s is in %q", object, meta.GetName(), meta.GetNamespace())
			}
		}
	}
	want := renderAs(t, "kubeflap", "monitoring", "{monitor: {enabled: true}}")
	if got := the[monitoringv1.ServiceMonitor](t, objects).Spec; !reflect.DeepEqual(got, the[monitoringv1.ServiceMonitor](t, want).Spec) {
		t.Errorf("the ServiceMonitor has %+v", got)
	}
}
