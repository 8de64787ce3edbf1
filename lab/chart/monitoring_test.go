package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func rules(t *testing.T, input string) []monitoringv1.Rule {
	t.Helper()
	var found []monitoringv1.Rule
	for _, group := range the[monitoringv1.PrometheusRule](t, render(t, input)).Spec.Groups {
		found = append(found, group.Rules...)
	}
	return found
}

func alerts(t *testing.T, input string) []monitoringv1.Rule {
	t.Helper()
	var found []monitoringv1.Rule
	for _, rule := range rules(t, input) {
		if rule.Alert != "" {
			found = append(found, rule)
		}
	}
	return found
}

// shipped returns the rules in rules/.
func shipped(t *testing.T) []monitoringv1.Rule {
	t.Helper()
	var found []monitoringv1.Rule
	// The chart reads the files in this order.
	for _, name := range []string{"fleet", "kubeflap", "nodes", "services"} {
		var file monitoringv1.PrometheusRuleSpec
		must(t, yaml.UnmarshalStrict([]byte(values(t, root+"/rules/"+name+".yaml")), &file))
		for _, group := range file.Groups {
			found = append(found, group.Rules...)
		}
	}
	return found
}

// If its links are configured as in the repository's rules, the chart must render exactly those rules.
func TestRulesAreTheRepositorys(t *testing.T) {
	t.Parallel()
	got := rules(t, "{prometheusRule: {enabled: true}, links: {page: https://kubeflap.example.org, grafana: https://grafana.example.org}}")
	want := shipped(t)
	if len(got) != len(want) {
		t.Fatalf("got %d rules, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("rule %d is\n%+v\nwant\n%+v", i, got[i], want[i])
		}
	}
}

// The rules of a release that watches one namespace must only read its own series: another release may be deleted. A
// release that is deleted also deletes its rules.
func TestRulesAreForOneRelease(t *testing.T) {
	t.Parallel()
	text := try(yaml.Marshal(the[monitoringv1.PrometheusRule](t, renderAs(t, "kubeflap", "team-a", "{prometheusRule: {enabled: true}, scope: {namespace: shop}}")).Spec))(t)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	must(t, os.WriteFile(file, text, 0o600))
	const firing = `ALERTS{alertstate="firing",alertname=~"KubeflapDown|KubeflapSelectorConflict"}`
	promtool(t, "rule_files: ["+file+"]\n"+`evaluation_interval: 1m
tests:
  - name: another release is deleted, whose namespace this one watches
    interval: 1m
    input_series:
      - {series: 'kubeflap_build_info{job="kubeflap",namespace="team-a"}', values: 1x60}
      - {series: 'kubeflap_build_info{job="kubeflap",namespace="shop"}', values: 1x5 stale}
      - {series: 'kubeflap_service_selector_conflict{namespace="pay",service="web"}', values: 1x60}
    promql_expr_test:
      - {eval_time: 30m, expr: '`+firing+`'}
  - name: this release fails, and a Service in its scope has a conflict
    interval: 1m
    input_series:
      - {series: 'kubeflap_build_info{job="kubeflap",namespace="team-a"}', values: 1x5 stale}
      - {series: 'kubeflap_service_selector_conflict{namespace="shop",service="web"}', values: 1x60}
    promql_expr_test:
      - expr: '`+firing+`'
        eval_time: 30m
        exp_samples:
          - {labels: 'ALERTS{alertname="KubeflapDown",alertstate="firing",job="kubeflap",namespace="team-a",scope="kubeflap",severity="critical"}', value: 1}
          - {labels: 'ALERTS{alertname="KubeflapSelectorConflict",alertstate="firing",namespace="shop",scope="services",service="web",severity="warning"}', value: 1}
`, "test", "rules")
	series, scoped := regexp.MustCompile(`(^|[^\w:])kubeflap_\w+`), regexp.MustCompile(`(^|[^\w:])kubeflap_\w+\{namespace=~"(monitoring|monitoring\|shop)"[,}]`)
	for _, rule := range rules(t, "{prometheusRule: {enabled: true}, scope: {namespace: shop}}") {
		if rule.Record != "" {
			t.Errorf("%s is recorded, and by the release of another namespace, too", rule.Record)
		}
		if read, own := series.FindAllString(rule.Expr.StrVal, -1), scoped.FindAllString(rule.Expr.StrVal, -1); len(read) != len(own) {
			t.Errorf("%s reads %d series, but only %d of its own release:\n%s", rule.Alert, len(read), len(own), rule.Expr.StrVal)
		}
	}
}

var threshold = regexp.MustCompile(`([\d.]+) # threshold: (\w+)`)

// Each threshold must be changed by the value with its name, and by no other.
func TestEveryThresholdCanBeChanged(t *testing.T) {
	t.Parallel()
	changed, number := map[string]float64{}, 1000.5
	var want []string
	for _, r := range shipped(t) {
		want = append(want, threshold.ReplaceAllStringFunc(r.Expr.StrVal, func(text string) string {
			name := threshold.FindStringSubmatch(text)[2]
			if number++; changed[name] != 0 {
				t.Errorf("there are two thresholds %s", name)
			}
			changed[name] = number
			return fmt.Sprintf("%g # threshold: %s", number, name)
		}))
	}
	if len(changed) < 15 {
		t.Errorf("found only %d thresholds", len(changed))
	}
	input := try(yaml.Marshal(map[string]any{"prometheusRule": map[string]any{"enabled": true}, "thresholds": changed}))(t)
	for i, got := range rules(t, string(input)) {
		if got.Expr.StrVal != want[i] {
			t.Errorf("%s%s is\n%s\nwant\n%s", got.Alert, got.Record, got.Expr.StrVal, want[i])
		}
	}
	known := slices.Sorted(maps.Keys(readSchema(t).at("thresholds").Properties))
	if all := slices.Sorted(maps.Keys(changed)); !slices.Equal(known, all) {
		t.Errorf("values.schema.json: thresholds has %q, want %q", known, all)
	}
}

// Alerts must link to the URLs in the values. If a URL is not set, alerts must not link to it.
func TestLinks(t *testing.T) {
	t.Parallel()
	const on = "prometheusRule: {enabled: true}\n"
	for _, a := range alerts(t, on) {
		if a.Annotations["page_url"]+a.Annotations["dashboard_url"] != "" || a.Annotations["runbook_url"] == "" {
			t.Errorf("%s has links although none are configured: %v", a.Alert, a.Annotations)
		}
	}
	linked := alerts(t, on+"links: {page: 'https://{{ $labels.cluster }}.x/', grafana: https://g.x, runbooks: https://r.x/}")
	for _, a := range linked {
		for annotation, prefix := range map[string]string{
			"page_url": "https://{{ $labels.cluster }}.x/flaps", "dashboard_url": "https://g.x/d/kubeflap-", "runbook_url": "https://r.x/" + a.Alert + ".md",
		} {
			if !strings.HasPrefix(a.Annotations[annotation], prefix) {
				t.Errorf("%s: %s is %q, want it to begin with %s", a.Alert, annotation, a.Annotations[annotation], prefix)
			}
		}
		if got := a.Annotations["page_url"]; a.Alert == "KubeflapServiceFlapping" && !strings.Contains(got, "namespace={{ $labels.namespace | urlquery }}") {
			t.Errorf("the chart changed the templates in an alert: %s", got)
		}
	}
}

// The scrape job and the rules for VictoriaMetrics must be accepted by promtool, because vmagent and vmalert use
// Prometheus' formats. The job must find the pods. The rules must equal those in the PrometheusRule.
func TestVictoriaMetrics(t *testing.T) {
	t.Parallel()
	objects := render(t, values(t, chart+"/ci/victoria-metrics-values.yaml"))
	files := map[string]string{}
	for _, m := range all[corev1.ConfigMap](objects) {
		files[m.Name] = m.Data["kubeflap.yaml"]
	}
	job := "scrape_configs:\n  " + strings.ReplaceAll(files["vmagent-own"], "\n", "\n  ")
	promtool(t, job, "check", "config", "--syntax-only")
	labels := the[appsv1.Deployment](t, objects).Spec.Template.Labels
	if want := "regex: " + labels["app.kubernetes.io/name"] + ";http\n"; !strings.Contains(job, want) || !strings.Contains(job, "honor_labels: true\n") {
		t.Errorf("unexpected scrape job\n%s", job)
	}
	promtool(t, files["vmalert-own"], "check", "rules", "--lint=all", "--lint-fatal")
	var got monitoringv1.PrometheusRuleSpec
	must(t, yaml.UnmarshalStrict([]byte(files["vmalert-own"]), &got))
	if want := the[monitoringv1.PrometheusRule](t, render(t, "{prometheusRule: {enabled: true}}")).Spec; !reflect.DeepEqual(got, want) {
		t.Error("the rules differ from those in the PrometheusRule")
	}
}

// If links.page is empty or a template, the dashboards must not link to the page. They must still contain all other
// links.
func TestDashboardsLinkToNothingThatIsNotThere(t *testing.T) {
	t.Parallel()
	count := func(input, text string) (found, titles int) {
		for _, m := range all[corev1.ConfigMap](render(t, "{dashboards: {enabled: true}, links: {page: '"+input+"'}}")) {
			for name, dashboard := range m.Data {
				if !json.Valid([]byte(dashboard)) {
					t.Errorf("%q: %s is not JSON", input, name)
				}
				found, titles = found+strings.Count(dashboard, text), titles+strings.Count(dashboard, `"url": `)
			}
		}
		return found, titles
	}
	const toPage = `"url": "${page}/flaps`
	linked, links := count("https://flaps.x", toPage)
	if linked == 0 {
		t.Error("no dashboard links to the page")
	}
	for _, input := range []string{"", "https://flaps.{{ $labels.cluster }}.x"} {
		if dead, left := count(input, toPage); dead > 0 || left != links-linked {
			t.Errorf("%q: %d dead links; %d remaining links, want %d", input, dead, left, links-linked)
		}
	}
}

// The dashboards must equal the files in the repository byte for byte, with values instead of the questions of an import.
func TestDashboards(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	inputs := regexp.MustCompile(`(?s)\s*"__inputs": \[.*?\n \],`)
	got := map[string]string{}
	for _, m := range all[corev1.ConfigMap](render(t, "{dashboards: {enabled: true}, links: {page: https://flaps.x/}}")) {
		if m.Labels["grafana_dashboard"] != "1" {
			t.Errorf("%s has no label for the sidecar: %v", m.Name, m.Labels)
		}
		for name, text := range m.Data {
			got[name] = text
		}
	}
	if len(got) != len(files) {
		t.Errorf("got %d dashboards, want %d", len(got), len(files))
	}
	for _, file := range files {
		want := strings.NewReplacer("${VAR_PAGE}", "https://flaps.x", "${DS_PROMETHEUS}", "").Replace(inputs.ReplaceAllString(values(t, file), ""))
		if got["kubeflap-"+filepath.Base(file)] != want {
			t.Errorf("the chart changed %s", file)
		}
	}
}
