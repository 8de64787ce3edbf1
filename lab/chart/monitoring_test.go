package chart

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	for _, name := range []string{"fleet", "kubeflap", "nodes", "pods", "services"} {
		var file monitoringv1.PrometheusRuleSpec
		if err := yaml.UnmarshalStrict([]byte(values(t, root+"/rules/"+name+".yaml")), &file); err != nil {
			t.Fatal(err)
		}
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

// alert returns the alert with this name and severity, or nil.
func alert(all []monitoringv1.Rule, name, severity string) *monitoringv1.Rule {
	for i := range all {
		if all[i].Alert == name && all[i].Labels["severity"] == severity {
			return &all[i]
		}
	}
	return nil
}

func TestAlertsAreChanged(t *testing.T) {
	t.Parallel()
	const on = "prometheusRule: {enabled: true, alerts: {"
	before := shipped(t)
	for name, c := range map[string]struct {
		values, alert, was, is string
		change                 func(*monitoringv1.Rule)
	}{
		"for":              {on + "KubeflapBlind: {for: 9m}}}", "KubeflapBlind", "warning", "warning", func(r *monitoringv1.Rule) { *r.For = "9m" }},
		"keep firing":      {on + "KubeflapBlind: {keepFiringFor: 1h}}}", "KubeflapBlind", "warning", "warning", func(r *monitoringv1.Rule) { *r.KeepFiringFor = "1h" }},
		"severity":         {on + "KubeflapBlind: {severity: page}}}", "KubeflapBlind", "warning", "page", func(r *monitoringv1.Rule) { r.Labels["severity"] = "page" }},
		"label":            {on + "KubeflapBlind: {labels: {team: a}}}}", "KubeflapBlind", "warning", "warning", func(r *monitoringv1.Rule) { r.Labels["team"] = "a" }},
		"annotation":       {on + "KubeflapBlind: {annotations: {summary: S}}}}", "KubeflapBlind", "warning", "warning", func(r *monitoringv1.Rule) { r.Annotations["summary"] = "S" }},
		"expression":       {on + "KubeflapBlind: {expr: vector(1)}}}", "KubeflapBlind", "warning", "warning", func(r *monitoringv1.Rule) { r.Expr.StrVal = "vector(1)" }},
		"threshold":        {on + `KubeflapBlind: {replace: {"> 60": "> 120"}}}}`, "KubeflapBlind", "warning", "warning", func(r *monitoringv1.Rule) { r.Expr.StrVal = strings.Replace(r.Expr.StrVal, "> 60", "> 120", 1) }},
		"switched off":     {on + "KubeflapBlind: {enabled: false}}}", "KubeflapBlind", "warning", "warning", nil},
		"one of two off":   {on + "KubeflapDown: {warning: {enabled: false}}}}", "KubeflapDown", "warning", "warning", nil},
		"the other stays":  {on + "KubeflapDown: {warning: {enabled: false}}}}", "KubeflapDown", "critical", "critical", func(*monitoringv1.Rule) {}},
		"both":             {on + "KubeflapDown: {for: 7m}}}", "KubeflapDown", "critical", "critical", func(r *monitoringv1.Rule) { *r.For = "7m" }},
		"one over both":    {on + "KubeflapDown: {for: 7m, critical: {for: 8m}}}}", "KubeflapDown", "critical", "critical", func(r *monitoringv1.Rule) { *r.For = "8m" }},
		"back on":          {on + "KubeflapDown: {enabled: false, critical: {enabled: true}}}}", "KubeflapDown", "critical", "critical", func(*monitoringv1.Rule) {}},
		"label of all":     {"prometheusRule: {enabled: true, alertLabels: {team: a}}", "KubeflapBlind", "warning", "warning", func(r *monitoringv1.Rule) { r.Labels["team"] = "a" }},
		"its own over all": {"prometheusRule: {enabled: true, alertLabels: {team: a}, alerts: {KubeflapBlind: {labels: {team: b}}}}", "KubeflapBlind", "warning", "warning", func(r *monitoringv1.Rule) { r.Labels["team"] = "b" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := alert(rules(t, c.values+"\nlinks: {page: https://kubeflap.example.org, grafana: https://grafana.example.org}"), c.alert, c.is)
			if c.change == nil {
				if got != nil {
					t.Errorf("the disabled alert still exists: %+v", got)
				}
				return
			}
			want := alert(before, c.alert, c.was).DeepCopy()
			c.change(want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
		})
	}
}

// severitiesByNamespace must change the severity of each alert about a Service, and of no alert about kubeflap itself.
// The severity is a template that reads the label namespace, and Prometheus evaluates it.
func TestSeveritiesByNamespace(t *testing.T) {
	t.Parallel()
	got := the[monitoringv1.PrometheusRule](t, render(t, `prometheusRule:
  enabled: true
  severitiesByNamespace:
    - {namespaces: dev-.*, severities: {critical: warning, warning: info}}
    - {namespaces: '.*-ci|dev\d', severities: {warning: none}}
`))
	for _, group := range got.Spec.Groups {
		for _, r := range group.Rules {
			ofService := strings.Contains(r.Annotations["description"], "$labels.namespace }}/{{")
			if changed := strings.Contains(r.Labels["severity"], "match"); ofService && !changed || changed && group.Name == "kubeflap-self" {
				t.Errorf("%s has the unexpected severity %s", r.Alert, r.Labels["severity"])
			}
		}
	}
	text, err := yaml.Marshal(got.Spec)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "rule_files: ["+file+"]\n"+`evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'kubeflap_service_selector_conflict{namespace="shop",service="web"}', values: 1x5}
      - {series: 'kubeflap_service_selector_conflict{namespace="dev-a",service="web"}', values: 1x5}
      - {series: 'kubeflap_service_selector_conflict{namespace="my-dev-a",service="web"}', values: 1x5}
      - {series: 'kubeflap_service_selector_conflict{namespace="dev-ci",service="web"}', values: 1x5}
      - {series: 'kubeflap_service_selector_conflict{namespace="dev7",service="web"}', values: 1x5}
    promql_expr_test:
      - expr: ALERTS{alertname="KubeflapSelectorConflict"}
        eval_time: 3m
        exp_samples:
          - {labels: 'ALERTS{alertname="KubeflapSelectorConflict",alertstate="firing",namespace="shop",service="web",severity="warning"}', value: 1}
          - {labels: 'ALERTS{alertname="KubeflapSelectorConflict",alertstate="firing",namespace="dev-a",service="web",severity="info"}', value: 1}
          - {labels: 'ALERTS{alertname="KubeflapSelectorConflict",alertstate="firing",namespace="my-dev-a",service="web",severity="warning"}', value: 1}
          - {labels: 'ALERTS{alertname="KubeflapSelectorConflict",alertstate="firing",namespace="dev-ci",service="web",severity="info"}', value: 1}
          - {labels: 'ALERTS{alertname="KubeflapSelectorConflict",alertstate="firing",namespace="dev7",service="web",severity="none"}', value: 1}
`, "test", "rules")
}

// threshold matches a number that is compared, multiplied, divided or subtracted.
var threshold = regexp.MustCompile(`(?:[<>]=?(?: bool| on \([a-z, ]+\)(?: group_left \(\))?)? |\()[\d.]+|[\d.]+ \*|[/*-] [\d.]+`)

// It must be possible to change every threshold with values. This includes the thresholds in recording rules.
func TestEveryThresholdCanBeChanged(t *testing.T) {
	t.Parallel()
	type change struct {
		Replace map[string]string `json:"replace"`
	}
	severities := map[string]int{}
	for _, r := range shipped(t) {
		severities[r.Alert]++
	}
	changedAlerts, changedRecords := map[string]any{}, map[string]any{}
	var want []string
	for _, r := range shipped(t) {
		found := map[string]string{}
		for _, text := range threshold.FindAllString(r.Expr.StrVal, -1) {
			found[text] = digits.ReplaceAllString(text, "${0}7")
		}
		var pairs []string
		for _, old := range slices.Sorted(maps.Keys(found)) { // the chart replaces the texts in this order
			pairs = append(pairs, old, found[old])
		}
		expr := r.Expr.StrVal
		for i := 0; i < len(pairs); i += 2 {
			expr = strings.ReplaceAll(expr, pairs[i], pairs[i+1])
		}
		want = append(want, expr)
		switch {
		case len(found) == 0:
		case r.Record != "":
			changedRecords[r.Record] = change{found}
		case severities[r.Alert] == 1:
			changedAlerts[r.Alert] = change{found}
		default:
			if changedAlerts[r.Alert] == nil {
				changedAlerts[r.Alert] = map[string]any{}
			}
			changedAlerts[r.Alert].(map[string]any)[r.Labels["severity"]] = change{found}
		}
	}
	if len(changedAlerts) < 15 || len(changedRecords) < 8 {
		t.Errorf("only %d alerts and %d recording rules have thresholds", len(changedAlerts), len(changedRecords))
	}
	input, err := yaml.Marshal(map[string]any{"prometheusRule": map[string]any{"enabled": true, "alerts": changedAlerts, "records": changedRecords}})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range rules(t, string(input)) {
		if got.Expr.StrVal != want[i] {
			t.Errorf("%s%s is\n%s\nwant\n%s", got.Alert, got.Record, got.Expr.StrVal, want[i])
		}
	}
}

// The README must list the thresholds of recording rules with the same text as in the expressions.
func TestReadmeNamesThresholds(t *testing.T) {
	t.Parallel()
	rows := regexp.MustCompile("(?m)^\\| .* \\| `([a-z]+:\\S+)` \\| (.*) \\|$").FindAllStringSubmatch(values(t, chart+"/README.md"), -1)
	if len(rows) < 5 {
		t.Errorf("found only %d rows", len(rows))
	}
	for _, row := range rows {
		i := slices.IndexFunc(shipped(t), func(r monitoringv1.Rule) bool { return r.Record == row[1] })
		if i < 0 {
			t.Errorf("there is no recording rule %s", row[1])
			continue
		}
		for text := range strings.SplitSeq(row[2], "`, `") {
			if text = strings.Trim(text, "`"); !strings.Contains(shipped(t)[i].Expr.StrVal, text) {
				t.Errorf("%s does not contain %q", row[1], text)
			}
		}
	}
}

var digits = regexp.MustCompile(`[\d.]+`)

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
	}
	if got := alert(linked, "KubeflapServiceFlapping", "warning").Annotations["page_url"]; !strings.Contains(got, "namespace={{ $labels.namespace | urlquery }}") {
		t.Errorf("the chart changed the templates in an alert: %s", got)
	}
}

// promtool must accept rules after values have changed them.
func TestPrometheusTakesTheRules(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"kube-prometheus-stack", "test-only-monitoring", "namespace"} {
		rule := the[monitoringv1.PrometheusRule](t, render(t, values(t, chart+"/ci/"+file+"-values.yaml")))
		text, err := yaml.Marshal(rule.Spec)
		if err != nil {
			t.Fatal(err)
		}
		promtool(t, string(text), "check", "rules", "--lint=all", "--lint-fatal")
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
	if err := yaml.UnmarshalStrict([]byte(files["vmalert-own"]), &got); err != nil {
		t.Fatal(err)
	}
	if want := the[monitoringv1.PrometheusRule](t, render(t, "{prometheusRule: {enabled: true}}")).Spec; !reflect.DeepEqual(got, want) {
		t.Error("the rules differ from those in the PrometheusRule")
	}
}

// ServiceMonitor and PodMonitor must select kubeflap's Service, pods and port. They must set honorLabels.
func TestMonitorsFindKubeflap(t *testing.T) {
	t.Parallel()
	objects := render(t, "{serviceMonitor: {enabled: true, namespace: m}, podMonitor: {enabled: true}}")
	service, deployment := the[corev1.Service](t, objects), the[appsv1.Deployment](t, objects)
	sm, pm := the[monitoringv1.ServiceMonitor](t, objects), the[monitoringv1.PodMonitor](t, objects)
	if !matches(sm.Spec.Selector.MatchLabels, service.Labels) || !matches(pm.Spec.Selector.MatchLabels, deployment.Spec.Template.Labels) {
		t.Errorf("unexpected selectors %v and %v", sm.Spec.Selector, pm.Spec.Selector)
	}
	if sm.Namespace != "m" || sm.Spec.NamespaceSelector.MatchNames[0] != service.Namespace || pm.Spec.NamespaceSelector.MatchNames[0] != deployment.Namespace {
		t.Errorf("the monitor in %s has the namespace selector %v", sm.Namespace, sm.Spec.NamespaceSelector)
	}
	port := deployment.Spec.Template.Spec.Containers[0].Ports[0].Name
	if s, p := sm.Spec.Endpoints[0], pm.Spec.PodMetricsEndpoints[0]; !s.HonorLabels || !p.HonorLabels || s.Port != service.Spec.Ports[0].Name || *p.Port != port {
		t.Errorf("unexpected endpoints %+v and %+v", s, p)
	}
}

// Users must be able to set any field of a monitor with endpoint and spec. These fields override what the chart sets.
// All other fields must stay as the chart sets them.
func TestMonitorsPassOn(t *testing.T) {
	t.Parallel()
	const endpoint = "endpoint: {proxyUrl: http://p.x, tlsConfig: {insecureSkipVerify: true}, interval: 10s, honorTimestamps: false}"
	const spec = "spec: {sampleLimit: 10000000, scrapeProtocols: [PrometheusProto]"
	const values = "scrapeClass: mtls, bodySizeLimit: 20MB, podTargetLabels: [tier]"
	objects := render(t, "{serviceMonitor: {enabled: true, targetLabels: [team], "+values+", "+endpoint+", "+spec+"}},"+
		" podMonitor: {enabled: true, "+values+", "+endpoint+", "+spec+"}},"+
		" scrapeConfig: {enabled: true, scrapeClass: mtls, bodySizeLimit: 20MB, "+spec+", scrapeInterval: 10s, proxyUrl: http://p.x}}}")
	sm, pm, sc := the[monitoringv1.ServiceMonitor](t, objects).Spec, the[monitoringv1.PodMonitor](t, objects).Spec, the[monitoringv1alpha1.ScrapeConfig](t, objects).Spec
	s, p := sm.Endpoints[0], pm.PodMetricsEndpoints[0]
	for what, ok := range map[string]bool{
		"interval":    s.Interval == "10s" && p.Interval == "10s" && *sc.ScrapeInterval == "10s",
		"own fields":  !*s.HonorTimestamps && !*p.HonorTimestamps && *s.ProxyURL == "http://p.x" && *p.ProxyURL == "http://p.x" && *sc.ProxyURL == "http://p.x",
		"TLS":         *s.TLSConfig.InsecureSkipVerify && *p.TLSConfig.InsecureSkipVerify,
		"the rest":    s.HonorLabels && p.HonorLabels && s.Port == "http" && *p.Port == "http" && *sc.MetricsPath == "/metrics" && len(sc.KubernetesSDConfigs) == 1,
		"limit":       *sm.SampleLimit == 10_000_000 && *pm.SampleLimit == 10_000_000 && *sc.SampleLimit == 10_000_000,
		"format":      sm.ScrapeProtocols[0] == "PrometheusProto" && pm.ScrapeProtocols[0] == "PrometheusProto" && sc.ScrapeProtocols[0] == "PrometheusProto",
		"size":        *sm.BodySizeLimit == "20MB" && *pm.BodySizeLimit == "20MB" && *sc.BodySizeLimit == "20MB",
		"class":       *sm.ScrapeClassName == "mtls" && *pm.ScrapeClassName == "mtls" && *sc.ScrapeClassName == "mtls",
		"labels":      slices.Equal(sm.TargetLabels, []string{"team"}) && slices.Equal(sm.PodTargetLabels, []string{"tier"}) && slices.Equal(pm.PodTargetLabels, []string{"tier"}),
		"selection":   len(sm.Selector.MatchLabels) == 2 && len(pm.Selector.MatchLabels) == 2,
		"unset limit": sm.TargetLimit == nil && sc.TargetLimit == nil,
	} {
		if !ok {
			t.Errorf("%s: got\n%+v\n%+v\n%+v", what, sm, pm, sc)
		}
	}
}

// The ScrapeConfig must find the same pods and the same port as the monitors. It must set the same label job.
func TestScrapeConfigFindsKubeflap(t *testing.T) {
	t.Parallel()
	for web, scheme := range map[string]string{"{}": "HTTP", "{existingSecret: s, tls: true}": "HTTPS"} {
		objects := render(t, "{nameOverride: flaps, namespaceOverride: flaps-ns, scrapeConfig: {enabled: true, namespace: m, relabelings: [{targetLabel: cluster, replacement: c}]}, webConfig: "+web+"}")
		deployment, found := the[appsv1.Deployment](t, objects), the[monitoringv1alpha1.ScrapeConfig](t, objects)
		pods := found.Spec.KubernetesSDConfigs[0]
		selector, err := labels.Parse(*pods.Selectors[0].Label)
		if err != nil || !selector.Matches(labels.Set(deployment.Spec.Template.Labels)) || selector.Matches(labels.Set{"app.kubernetes.io/name": "flaps"}) {
			t.Errorf("unexpected selector %s: %v", *pods.Selectors[0].Label, err)
		}
		if found.Namespace != "m" || !slices.Equal(pods.Namespaces.Names, []string{deployment.Namespace}) || pods.Role != "Pod" || pods.Selectors[0].Role != "Pod" {
			t.Errorf("unexpected discovery in the namespace %s: %+v", found.Namespace, pods)
		}
		container := deployment.Spec.Template.Spec.Containers[0]
		if keep := found.Spec.RelabelConfigs[0]; keep.Action != "keep" || keep.Regex != container.Name+";"+container.Ports[0].Name {
			t.Errorf("unexpected keep rule %+v", keep)
		}
		if place := found.Spec.RelabelConfigs[2]; place.TargetLabel != "namespace" || place.SourceLabels[0] != "__meta_kubernetes_namespace" {
			t.Errorf("two releases cannot be distinguished: %+v", place)
		}
		if last := found.Spec.RelabelConfigs[len(found.Spec.RelabelConfigs)-1]; last.TargetLabel != "cluster" {
			t.Errorf("unexpected last relabeling %+v", last)
		}
		if string(*found.Spec.Scheme) != scheme || !*found.Spec.HonorLabels || *found.Spec.MetricsPath != "/metrics" || *found.Spec.JobName != "flaps" {
			t.Errorf("unexpected scheme %s: %+v", *found.Spec.Scheme, found.Spec)
		}
	}
}

// The notes must warn if nothing scrapes kubeflap, or if honorLabels is off in one of the three kinds of monitors.
func TestNotesTellWhetherItIsScraped(t *testing.T) {
	t.Parallel()
	const none, off = "This release does not configure Prometheus", "honorLabels is off"
	for input, want := range map[string]string{
		"{}": none, "{serviceMonitor: {enabled: true}}": "", "{podMonitor: {enabled: true}}": "", "{scrapeConfig: {enabled: true}}": "",
		"{podMonitor: {enabled: true, endpoint: {honorLabels: false}}}": off, "{scrapeConfig: {enabled: true, spec: {honorLabels: false}}}": off,
		"{scrapeConfig: {enabled: true, honorLabels: false}}": off, "{podMonitor: {enabled: true, honorLabels: false}}": off,
		"{serviceMonitor: {enabled: true, honorLabels: false}}": off, "{serviceMonitor: {enabled: true}, podMonitor: {honorLabels: false}}": "",
	} {
		text := notes(t, input)
		for _, note := range []string{none, off} {
			if strings.Contains(text, note) != (note == want) {
				t.Errorf("%s: the notes are\n%s", input, text)
			}
		}
	}
}

// If webConfig requires a password or TLS, the notes must say which settings the monitor lacks.
func TestNotesTellWhatTheScrapeLacks(t *testing.T) {
	t.Parallel()
	const password, tls, perhaps = "requires a password, but serviceMonitor has none", "enables TLS, but serviceMonitor has no TLS settings", "serviceMonitor has no password"
	const users, cert = "basic_auth_users: {p: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}", "tls_server_config: {cert_file: /c, key_file: /k}"
	const shown, trusted = ", endpoint: {basicAuth: {username: {name: s, key: u}}}", ", endpoint: {tlsConfig: {insecureSkipVerify: true}}"
	const classed = ", scrapeClass: mtls"
	for _, c := range []struct {
		web, monitor string
		want         []string
	}{
		{"{}", "", nil},
		{"{content: {" + users + "}}", "", []string{password}},
		{"{content: {" + users + "}}", shown, nil},
		{"{content: {" + cert + "}}", "", []string{tls}},
		{"{content: {" + cert + ", " + users + "}}", "", []string{password, tls}},
		{"{content: {" + cert + "}}", trusted, nil},
		{"{content: {" + cert + "}}", classed, nil},
		{"{existingSecret: s}", "", []string{perhaps}},
		{"{existingSecret: s}", shown, nil},
		{"{existingSecret: s, tls: true}", shown, []string{tls}},
	} {
		text := notes(t, "{serviceMonitor: {enabled: true"+c.monitor+"}, webConfig: "+c.web+"}")
		for _, note := range []string{password, tls, perhaps} {
			if strings.Contains(text, note) != slices.Contains(c.want, note) {
				t.Errorf("%s, %s: the notes are\n%s", c.web, c.monitor, text)
			}
		}
	}
}

func matches(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
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
	linked, links := count("https://flaps.x", `"url": "https://flaps.x/flaps`)
	if linked == 0 {
		t.Error("no dashboard links to the page")
	}
	for input, text := range map[string]string{"": "kubeflap.example.org", "https://flaps.{{ $labels.cluster }}.x": "https://flaps."} {
		if dead, left := count(input, text); dead > 0 || left != links-linked {
			t.Errorf("%q: %d dead links; %d remaining links, want %d", input, dead, left, links-linked)
		}
	}
}

// The dashboards must equal the files in the repository byte for byte, except for links to the page.
func TestDashboards(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
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
		want := bytes.ReplaceAll([]byte(values(t, file)), []byte("https://kubeflap.example.org"), []byte("https://flaps.x"))
		if got["kubeflap-"+filepath.Base(file)] != string(want) {
			t.Errorf("the chart changed %s", file)
		}
	}
}
