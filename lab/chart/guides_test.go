package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application"
	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"
)

// blocks returns all code blocks in a language from a page in docs/install. The parameter want is their number.
func blocks(t *testing.T, page, language string, want int) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(values(t, root+"/docs/install/"+page), -1) {
		found = append(found, m[1])
	}
	if len(found) != want {
		t.Fatalf("%s has %d code blocks in %s, want %d", page, len(found), language, want)
	}
	return found
}

// guided renders the chart with the values of a guide, and checks the image, the monitor and the rules.
func guided(t *testing.T, values any) []any {
	t.Helper()
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	objects := renderAs(t, "kubeflap", "kubeflap", string(text))
	if image := pod(t, objects).Containers[0].Image; !strings.HasPrefix(image, "registry.example.org/monitoring/kubeflap:v") {
		t.Errorf("the image is %s", image)
	}
	monitor, rule := the[monitoringv1.ServiceMonitor](t, objects), the[monitoringv1.PrometheusRule](t, objects)
	if want := "kube-prometheus-stack"; monitor.Labels["release"] != want || rule.Labels["release"] != want || len(all[corev1.ConfigMap](objects)) < 4 {
		t.Errorf("unexpected labels %v and %v, or %d dashboards", monitor.Labels, rule.Labels, len(all[corev1.ConfigMap](objects)))
	}
	return objects
}

// applicationSchema returns the schema of Argo CD's kind Application.
func applicationSchema(t *testing.T) *apiextensions.JSONSchemaProps {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(values(t, filepath.Join(strings.TrimSpace(string(dir)), "manifests/crds/application-crd.yaml"))), &crd); err != nil {
		t.Fatal(err)
	}
	if crd.Spec.Group != application.Group || len(crd.Spec.Versions) != 1 {
		t.Fatalf("unexpected CRD: group %s, %d versions", crd.Spec.Group, len(crd.Spec.Versions))
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
		t.Fatal(err)
	}
	return internal
}

// problems validates a custom resource as the API server does with fieldValidation=Strict.
func problems(t *testing.T, definition *apiextensions.JSONSchemaProps, object map[string]any) (found []string) {
	t.Helper()
	structural, err := structuralschema.NewStructural(definition)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(definition)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range validation.ValidateCustomResource(nil, object, validator) {
		found = append(found, err.Error())
	}
	return append(found, pruning.PruneWithOptions(object, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var parsed map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestArgoCDGuide(t *testing.T) {
	t.Parallel()
	definition := applicationSchema(t)
	examples := blocks(t, "argo-cd.md", "yaml", 2)
	app := object(t, examples[0])
	if found := problems(t, definition, app); len(found) > 0 {
		t.Errorf("invalid Application: %q", found)
	}
	source := app["spec"].(map[string]any)["source"].(map[string]any)
	objects := guided(t, source["helm"].(map[string]any)["valuesObject"])
	for _, meta := range []map[string]string{the[monitoringv1.ServiceMonitor](t, objects).Annotations, the[monitoringv1.PrometheusRule](t, objects).Annotations} {
		if meta["argocd.argoproj.io/sync-options"] != "SkipDryRunOnMissingResource=true" {
			t.Errorf("annotations are %v", meta)
		}
	}
	// The guide mentions this label, and the namespaces that the AppProject must allow.
	if selector := the[monitoringv1.ServiceMonitor](t, objects).Spec.Selector.MatchLabels; selector["app.kubernetes.io/instance"] != "kubeflap" {
		t.Errorf("the ServiceMonitor selects %v", selector)
	}
	var elsewhere []string
	for _, role := range all[rbacv1.Role](objects) {
		elsewhere = append(elsewhere, role.Namespace)
	}
	if slices.Sort(elsewhere); !slices.Equal(elsewhere, []string{"kube-node-lease", "kube-system"}) {
		t.Errorf("Roles are in %v", elsewhere)
	}

	delete(source, "chart")
	for key, value := range object(t, examples[1]) {
		source[key] = value
	}
	if found := problems(t, definition, app); len(found) > 0 {
		t.Errorf("invalid Application with the chart from Git: %q", found)
	}
	if _, err := os.Stat(filepath.Join(root, source["path"].(string), "Chart.yaml")); err != nil {
		t.Error(err)
	}
	source["charts"] = "kubeflap"
	if found := problems(t, definition, app); !slices.Equal(found, []string{"spec.source.charts"}) {
		t.Errorf("with an unknown field: got problems %q", found)
	}
}

func TestFluxGuide(t *testing.T) {
	t.Parallel()
	examples := blocks(t, "flux.md", "yaml", 3)
	objects := decoded(t, examples[0])
	release, source := the[helmv2.HelmRelease](t, objects), the[sourcev1.OCIRepository](t, objects)
	if release.Spec.ChartRef.Name != source.Name || release.Namespace != source.Namespace || the[corev1.Namespace](t, objects).Name != source.Namespace {
		t.Errorf("the HelmRelease refers to %+v, but the source is %s/%s", release.Spec.ChartRef, source.Namespace, source.Name)
	}
	guided(t, release.Spec.Values)

	repository := the[sourcev1.GitRepository](t, decoded(t, examples[1]))
	whole := strings.Replace(examples[0], "  chartRef: {kind: OCIRepository, name: kubeflap}\n", regexp.MustCompile("(?m)^").ReplaceAllString(strings.TrimSpace(examples[2]), "  ")+"\n", 1)
	fromGit := the[helmv2.HelmRelease](t, decoded(t, whole)).Spec
	if fromGit.ChartRef != nil || fromGit.Chart.Spec.SourceRef.Kind != "GitRepository" || fromGit.Chart.Spec.SourceRef.Name != repository.Name {
		t.Errorf("the HelmRelease for Git refers to %+v", fromGit)
	}
	if path := filepath.Clean(fromGit.Chart.Spec.Chart); !slices.Equal(repository.Spec.SparseCheckout, []string{path}) || filepath.Clean(chart) != filepath.Join(root, path) {
		t.Errorf("the chart is in %s, but the sparse checkout contains %v", path, repository.Spec.SparseCheckout)
	}
}

// On OpenShift, the chart must not set the user ID, because OpenShift chooses it. The monitor and the rules must use
// the API group of the Cluster Observability Operator. Apart from the group, this API equals that of the Prometheus
// Operator.
func TestOpenShiftGuide(t *testing.T) {
	t.Parallel()
	input := blocks(t, "openshift.md", "yaml", 2)[0]
	for name, input := range map[string]string{"page": input, "ci": values(t, chart+"/ci/openshift-values.yaml")} {
		spec := pod(t, render(t, input))
		if p := spec.SecurityContext; p.RunAsUser != nil || p.RunAsGroup != nil || p.FSGroup != nil || !*p.RunAsNonRoot {
			t.Errorf("%s: the pod sets the security context %+v", name, p)
		}
		if c := spec.Containers[0].SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil {
			t.Errorf("%s: the container sets the security context %+v", name, c)
		}
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(input), 0o600); err != nil {
		t.Fatal(err)
	}
	_, piped, _ := strings.Cut(blocks(t, "openshift.md", "sh", 1)[0], "helm template")
	piped = strings.NewReplacer("--values values.yaml", "--values "+file, "oc apply --server-side --filename -", "cat").Replace("bin/helm template" + piped)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "set -e -o pipefail; "+piped)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "monitoring.coreos.com") || strings.Count(string(out), "apiVersion: monitoring.rhobs/v1\n") != 2 {
		t.Errorf("unexpected API groups in\n%.300s", out)
	}
	objects := decoded(t, strings.ReplaceAll(string(out), "monitoring.rhobs/v1", "monitoring.coreos.com/v1"))
	for _, labels := range []map[string]string{the[monitoringv1.ServiceMonitor](t, objects).Labels, the[monitoringv1.PrometheusRule](t, objects).Labels} {
		if labels["app.kubernetes.io/name"] != "kubeflap" {
			t.Errorf("the MonitoringStack does not select %v", labels)
		}
	}
}

func TestKyvernoGuide(t *testing.T) {
	t.Parallel()
	objects := render(t, blocks(t, "kyverno.md", "yaml", 2)[0])
	c := pod(t, objects).Containers[0]
	if c.Resources.Limits.Memory().IsZero() || c.Resources.Limits.Memory().Cmp(*c.Resources.Requests.Memory()) < 0 || !strings.Contains(c.Image, "@sha256:") {
		t.Errorf("the container is %+v", c)
	}
}

// The objects in the TLS guide must refer to each other correctly.
func TestTLSGuide(t *testing.T) {
	t.Parallel()
	for _, input := range blocks(t, "tls.md", "yaml", 2) {
		objects := renderAs(t, "kubeflap", "kubeflap", input)
		endpoint := the[monitoringv1.ServiceMonitor](t, objects).Spec.Endpoints[0]
		certificates := map[string]*certmanagerv1.Certificate{}
		for _, certificate := range all[certmanagerv1.Certificate](objects) {
			certificates[certificate.Spec.SecretName] = certificate
		}
		mounted := pod(t, objects).Volumes[slices.IndexFunc(pod(t, objects).Volumes, func(v corev1.Volume) bool { return v.Name == "tls" })].Secret.SecretName
		server := certificates[mounted]
		if server == nil || !slices.Contains(server.Spec.DNSNames, *endpoint.TLSConfig.ServerName) || endpoint.TLSConfig.CA.Secret.Name != mounted || string(*endpoint.Scheme) != "https" {
			t.Errorf("mismatch between the Secret %s, its certificate %+v and the endpoint %+v", mounted, server, endpoint)
		}
		if key := endpoint.TLSConfig.KeySecret; key != nil {
			client := certificates[key.Name]
			if client == nil || !reflect.DeepEqual(client.Spec.Usages, []certmanagerv1.KeyUsage{certmanagerv1.UsageClientAuth}) {
				t.Errorf("unexpected client certificate %+v", client)
			}
		}
	}
}
