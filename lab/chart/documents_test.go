package chart

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// unreleased is the image that does not exist before the first release. No documented command may install it.
const unreleased = "ghcr.io/kubeflap/kubeflap:"

// block is a fenced code block.
type block struct{ language, text string }

var fence = regexp.MustCompile("(?ms)^ *```(\\w+)\n(.*?)^ *```")

func blocks(t *testing.T, page string) (found []block) {
	t.Helper()
	for _, m := range fence.FindAllStringSubmatch(values(t, page), -1) {
		found = append(found, block{m[1], m[2]})
	}
	return found
}

// elsewhere lists the beginnings of documented commands that no test in this package runs: they need a cluster, a
// registry or a browser, or belong to another program. Other tests of the lab run make prometheusrule, and those of kubectl
// and helm uninstall.
var elsewhere = []string{
	"kubectl -n kubeflap rollout status ", "kubectl -n kubeflap create ", "kubectl -n kube-system get leases ", "kubectl label namespace kubeflap pod-security",
	"kubectl delete -k .", "kubectl -n kubeflap apply --server-side -f bin/prometheusrule.yaml", "helm uninstall kubeflap --namespace kubeflap",
	"bin/kubeflap --kubeconfig ~/.kube/config", "bin/kubeflap watch", "make demo", "make prometheusrule", "sed -i 's|${VAR_PAGE}|", "bin/helm push bin/kubeflap-VERSION.tgz oci://registry.example.org/monitoring/charts", "oc create namespace ", "oc label namespace ",
	"make build", "make image chart REGISTRY=", "kubectl -n kubeflap port-forward service/kubeflap 9969",
}

// page runs or renders everything on a page. It remembers the last values and the last kustomization, because the commands
// that follow use them.
type page struct {
	*testing.T
	values, kustomization string
	// variables are those that a shell has set.
	variables []string
	objects   []any
}

var assignment = regexp.MustCompile(`^[A-Z]+=\S+$`)

// Each command and each file in the documents on installation must work, and must not install an image that does not
// exist.
func TestDocumentsInstall(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"docs/install.md", "docs/platforms.md", "README.md", "charts/kubeflap/README.md", "docs/dashboards.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &page{T: t}
			for _, b := range blocks(t, filepath.Join(root, name)) {
				switch b.language {
				case "yaml":
					p.file(b.text)
				case "sh":
					p.commands(b.text)
				}
			}
		})
	}
}

// file checks a file by what it contains.
func (p *page) file(text string) {
	p.Helper()
	switch {
	case strings.HasPrefix(text, "resources:\n"):
		p.kustomization = text
		p.add(overlaid(p.T, text))
	case regexp.MustCompile(`(?m)^scrape_configs:`).MatchString(text):
		promtool(p.T, text, "check", "config", "--syntax-only")
		if !strings.Contains(text, "honor_labels: true\n") {
			p.Errorf("no honor_labels in\n%s", text)
		}
	case strings.HasPrefix(text, "apiVersion: argoproj.io/"):
		p.application(text)
	case strings.Contains(text, "providers:"), strings.HasPrefix(text, "apiVersion: monitoring.rhobs/"):
		// A provisioning file of Grafana, and a kind of another operator, whose types are not in a Go module.
	case strings.HasPrefix(text, "apiVersion: "):
		p.flux(decoded(p.T, text))
	default:
		p.values = text
		p.add(render(p.T, text))
		if found := violations(p.T, "restricted", text); len(found) > 0 {
			p.Errorf("the pods violate the Pod Security Standard restricted: %q in\n%s", found, text)
		}
	}
}

// add checks and remembers what a file installs. Values without an image are additions to other values.
func (p *page) add(objects []any) {
	p.Helper()
	for _, object := range objects {
		if text, err := json.Marshal(object); err != nil || strings.Contains(string(text), unreleased) && strings.Contains(p.values+p.kustomization, "image") {
			p.Errorf("an image that does not exist is installed by %.300s: %v", text, err)
		}
	}
	p.objects = append(p.objects, objects...)
}

// application checks an Application of Argo CD with its CRD, and what it installs.
func (p *page) application(text string) {
	p.Helper()
	var app map[string]any
	must(p, yaml.UnmarshalStrict([]byte(text), &app))
	for _, problem := range checkCustom(p.T, app) {
		p.Error(problem)
	}
	p.rendered(app["spec"].(map[string]any)["source"].(map[string]any)["helm"].(map[string]any)["valuesObject"])
}

// flux checks the objects of Flux, and what they install.
func (p *page) flux(objects []any) {
	p.Helper()
	for _, release := range all[helmv2.HelmRelease](objects) {
		if source := the[sourcev1.OCIRepository](p.T, objects); source.Name != release.Spec.ChartRef.Name || release.Spec.ChartRef.Kind != "OCIRepository" {
			p.Errorf("the release refers to %+v", release.Spec.ChartRef)
		}
		var given any
		must(p, json.Unmarshal(release.Spec.Values.Raw, &given))
		p.rendered(given)
	}
}

// rendered checks that values install the image of the examples, a monitor and rules for kube-prometheus-stack, and the
// dashboards.
func (p *page) rendered(given any) {
	p.Helper()
	text := try(yaml.Marshal(given))(p)
	objects := renderAs(p.T, "kubeflap", "kubeflap", string(text))
	monitor, rule := the[monitoringv1.ServiceMonitor](p.T, objects), the[monitoringv1.PrometheusRule](p.T, objects)
	if want := "kube-prometheus-stack"; monitor.Labels["release"] != want || rule.Labels["release"] != want || len(all[corev1.ConfigMap](objects)) < 4 {
		p.Errorf("unexpected labels %v and %v, or %d dashboards", monitor.Labels, rule.Labels, len(all[corev1.ConfigMap](objects)))
	}
	if image := pod(p.T, objects).Containers[0].Image; !strings.HasPrefix(image, "registry.example.org/monitoring/kubeflap:v") {
		p.Errorf("the image is %s", image)
	}
}

// commands runs the commands of a block, as far as that is possible without a cluster.
func (p *page) commands(text string) {
	p.Helper()
	for line := range strings.Lines(strings.NewReplacer("\\\n", " ", "|\n", "| ").Replace(text)) {
		command, _, _ := strings.Cut(line, "    #")
		command = strings.TrimSpace(command)
		switch {
		case assignment.MatchString(command):
			p.variables = append(p.variables, command)
		case command == "" || slices.ContainsFunc(elsewhere, func(e string) bool { return strings.HasPrefix(command, e) }):
		case strings.HasPrefix(command, "helm install "), strings.HasPrefix(command, "bin/helm install "), strings.HasPrefix(command, "helm upgrade "), strings.HasPrefix(command, "helm template "):
			p.helm(command)
		case strings.HasPrefix(command, "kubectl apply --server-side -k ."):
			if p.kustomization == "" {
				p.Errorf("no kustomization before %s", command)
			}
		default:
			p.Errorf("no test runs the command %s", command)
		}
	}
}

// helm runs a documented command of Helm as helm template, with the chart from this repository.
func (p *page) helm(command string) {
	p.Helper()
	file := filepath.Join(p.TempDir(), "values.yaml")
	must(p, os.WriteFile(file, []byte(p.values), 0o600))
	command = regexp.MustCompile(`^(bin/)?helm (install|upgrade|template)`).ReplaceAllString(command, "bin/helm template")
	command = regexp.MustCompile(`oci://\S+ --version VERSION|bin/kubeflap-\*\.tgz`).ReplaceAllString(command, "bin/chart/kubeflap")
	command = strings.NewReplacer("--create-namespace", "", "--values values.yaml", "--values '"+file+"'", "oc apply --server-side --filename -", "cat").Replace(command)
	cmd := exec.CommandContext(p.Context(), "bash", "-c", "set -e -o pipefail; "+command)
	cmd.Dir, cmd.Env = root, append(os.Environ(), p.variables...)
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("%s: %v", command, err)
	}
	if strings.Contains(string(out), unreleased) {
		p.Errorf("the command installs an image that does not exist: %s", command)
	}
	// This API group of another operator has the same types.
	p.objects = append(p.objects, decoded(p.T, strings.ReplaceAll(string(out), "monitoring.rhobs/v1", "monitoring.coreos.com/v1"))...)
}

// The scrape job for a plain Prometheus must find the pods of the chart, and the one of VictoriaMetrics too.
func TestPlainPrometheus(t *testing.T) {
	t.Parallel()
	template := podTemplate(t, render(t, "{}"))
	want := "regex: " + template.Labels["app.kubernetes.io/name"] + ";" + template.Spec.Containers[0].Ports[0].Name + "\n"
	if !strings.Contains(values(t, root+"/docs/install.md"), want) {
		t.Errorf("docs/install.md does not contain %s", want)
	}
}

// The TLS example must be consistent: certificate, Secrets and the name that Prometheus verifies.
func TestTLSExample(t *testing.T) {
	t.Parallel()
	for _, b := range blocks(t, root+"/docs/install.md") {
		if b.language != "yaml" || !strings.Contains(b.text, "tls_server_config") {
			continue
		}
		objects := renderAs(t, "kubeflap", "kubeflap", b.text)
		endpoint := the[monitoringv1.ServiceMonitor](t, objects).Spec.Endpoints[0]
		certificate := the[certmanagerv1.Certificate](t, objects)
		mounted := pod(t, objects).Volumes[slices.IndexFunc(pod(t, objects).Volumes, func(v corev1.Volume) bool { return v.Name == "tls" })].Secret.SecretName
		if mounted != certificate.Spec.SecretName || endpoint.TLSConfig.CA.Secret.Name != mounted || string(*endpoint.Scheme) != "https" ||
			!slices.Contains(certificate.Spec.DNSNames, *endpoint.TLSConfig.ServerName) {
			t.Errorf("mismatch between the Secret %s, its certificate %+v and the endpoint %+v", mounted, certificate, endpoint)
		}
		return
	}
	t.Error("docs/install.md has no TLS example")
}
