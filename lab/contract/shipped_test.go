package contract

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// The PrometheusRule must contain the same rules, with the configured links. It must only have fields that the
// Prometheus Operator's types define.
func TestPrometheusRule(t *testing.T) {
	out := filepath.Join(t.TempDir(), "rule.yaml")
	make := exec.Command("make", "-C", Root, "prometheusrule", "OUT="+out,
		"RUNBOOKS=https://wiki.test/", "PAGE=https://flaps.{{ $$labels.cluster }}.test", "GRAFANA=https://boards.test")
	if b, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	b := try(os.ReadFile(out))(t)
	var object monitoring.PrometheusRule
	must(t, yaml.UnmarshalStrict(b, &object))
	if object.Kind != monitoring.PrometheusRuleKind || object.Name == "" {
		t.Errorf("unexpected %s named %q", object.Kind, object.Name)
	}
	links := strings.NewReplacer("https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/", "https://wiki.test/",
		"https://kubeflap.example.org", "https://flaps.{{ $labels.cluster }}.test", "https://grafana.example.org", "https://boards.test")
	want := rules(t)
	for _, g := range object.Spec.Groups {
		for _, got := range g.Rules {
			if len(want) == 0 {
				t.Fatalf("unexpected rule %s%s", got.Alert, got.Record)
			}
			r := want[0]
			want = want[1:]
			annotations := map[string]string{}
			for k, v := range r.Annotations {
				annotations[k] = links.Replace(v)
			}
			if len(annotations) == 0 {
				annotations = nil
			}
			if got.Alert != r.Alert || got.Record != r.Record || g.Name != r.Group || got.Expr.String() != r.Expr ||
				!maps.Equal(got.Labels, r.Rule.Labels) || !reflect.DeepEqual(got.Annotations, annotations) {
				t.Errorf("%s differs from its file: %+v", r.Name(), got)
			}
			if (got.For != nil) != (r.For != 0) || (got.KeepFiringFor != nil) != (r.KeepFiringFor != 0) {
				t.Errorf("%s: for or keep_firing_for differs from its file", r.Name())
			}
		}
	}
	for _, r := range want {
		t.Errorf("%s is missing", r.Name())
	}
}

// The alerts and labels in the shipped Alertmanager configuration must exist.
func TestAlertmanagerKnowsTheAlerts(t *testing.T) {
	text := readFile(t, "rules/alertmanager.yaml")
	labels := setOf("alertname")
	var names []string
	for _, r := range alerts(t) {
		names = append(names, r.Alert)
		maps.Copy(labels, setOf(r.Labels...))
	}
	mentioned := regexp.MustCompile(`\bKubeflap\w+`).FindAllString(text, -1)
	if len(mentioned) < 15 {
		t.Errorf("the example only mentions %v", mentioned)
	}
	for _, name := range mentioned {
		if !slices.Contains(names, name) {
			t.Errorf("unknown alert %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`'(\w+)=~?"([^"]*)"'`).FindAllStringSubmatch(text, -1) {
		if !labels[m[1]] {
			t.Errorf("no alert has the label %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?:equal|group_by): \[(.*)\]`).FindAllStringSubmatch(text, -1) {
		for l := range strings.SplitSeq(m[1], ", ") {
			if !labels[l] {
				t.Errorf("no alert has the label %s", l)
			}
		}
	}
}

// Each alert has a runbook of one screen. It says what the alert means, whom it affects and what to do. Its first step is
// the page, and it links to the page with all verdicts and causes.
func TestRunbooks(t *testing.T) {
	texts := runbooks(t)
	known := setOf()
	for _, r := range alerts(t) {
		known[r.Alert+".md"] = true
	}
	for name := range known {
		text := texts[name]
		var sections []string
		for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(text, -1) {
			sections = append(sections, m[1])
		}
		if want := []string{"Meaning", "Impact", "What to do"}; !slices.Equal(slices.DeleteFunc(sections, func(s string) bool { return s == "Threshold" }), want) {
			t.Errorf("rules/runbooks/%s has the sections %q, want %q", name, sections, want)
		}
		for _, want := range []string{"# " + strings.TrimSuffix(name, ".md") + "\n", "\n1. Open the page of the alert (`page_url`)", "](../../docs/verdicts.md"} {
			if !strings.Contains(text, want) {
				t.Errorf("rules/runbooks/%s does not contain %q", name, want)
			}
		}
		if n := len(strings.Fields(text)); n > 350 {
			t.Errorf("rules/runbooks/%s has %d words, want at most 350", name, n)
		}
	}
	for name := range texts {
		if !known[name] {
			t.Errorf("%s belongs to no alert", name)
		}
	}
}
