package contract

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-jsonnet"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// inPlace configures the same link prefixes as in the shipped files.
const inPlace = `links: {page: 'https://kubeflap.example.org', grafana: 'https://grafana.example.org', runbooks: 'https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/'}`

// mixin is the result of an evaluation of the mixin.
type mixin struct {
	PrometheusAlerts  map[string]any
	PrometheusRules   map[string]any
	GrafanaDashboards map[string]any
}

// installed returns a vendor directory as jsonnet-bundler would create it. It contains a link to the repository.
func installed(t *testing.T) string {
	t.Helper()
	vendor := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(vendor, "github.com/kubeflap"), 0o755))
	must(t, os.Symlink(try(filepath.Abs(Root))(t), filepath.Join(vendor, "github.com/kubeflap/kubeflap")))
	return vendor
}

// evaluated evaluates a jsonnet snippet and returns the resulting JSON.
func evaluated(t *testing.T, snippet string) (string, error) {
	t.Helper()
	vm := jsonnet.MakeVM()
	vm.Importer(&jsonnet.FileImporter{JPaths: []string{installed(t)}})
	return vm.EvaluateAnonymousSnippet("test.jsonnet", snippet)
}

// configured evaluates the mixin with the given configuration.
func configured(t *testing.T, config string) (mixin, error) {
	t.Helper()
	text, err := evaluated(t, fmt.Sprintf(`
		local kubeflap = (import 'github.com/kubeflap/kubeflap/mixin/mixin.libsonnet') + { _config+:: { %s } };
		{ [k]: kubeflap[k] for k in ['prometheusAlerts', 'prometheusRules', 'grafanaDashboards'] }`, config))
	var m mixin
	if err == nil {
		err = json.Unmarshal([]byte(text), &m)
	}
	return m, err
}

func mustConfigured(t *testing.T, config string) mixin {
	t.Helper()
	m, err := configured(t, config)
	if err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	return m
}

// If its links are configured as in the files, the mixin must contain exactly the rules and dashboards of the files.
func TestMixinIsMadeOfTheFiles(t *testing.T) {
	is := mustConfigured(t, inPlace)
	var want []any
	for _, file := range RuleFiles {
		var groups struct{ Groups []any }
		must(t, yaml.Unmarshal([]byte(readFile(t, "rules/"+file)), &groups))
		want = append(want, groups.Groups...)
	}
	if !reflect.DeepEqual(groupsOf(is), want) {
		t.Error("prometheusAlerts and prometheusRules differ from the files")
	}
	if fleet := asJSON(t, is.PrometheusRules); strings.Contains(fleet, `"alert"`) || !strings.Contains(fleet, `"kubeflap-fleet"`) {
		t.Errorf("unexpected prometheusRules %v", is.PrometheusRules)
	}
	uids := map[string]bool{}
	for _, d := range dashboards(t) {
		uids[d.UID] = true
		var want map[string]any
		text := strings.NewReplacer("${VAR_PAGE}", "https://kubeflap.example.org", "${DS_PROMETHEUS}", "").Replace(readFile(t, "dashboards/"+d.File))
		must(t, json.Unmarshal([]byte(text), &want))
		delete(want, "__inputs")
		if !reflect.DeepEqual(is.GrafanaDashboards[d.UID+".json"], any(want)) {
			t.Errorf("%s differs from its file", d.UID)
		}
	}
	if len(is.GrafanaDashboards) != len(uids) {
		t.Errorf("got %d dashboards, want %d", len(is.GrafanaDashboards), len(uids))
	}
}

// By default, no link may lead to an example address.
func TestMixinLinksToNothingThatIsNotThere(t *testing.T) {
	for config, want := range map[string]bool{
		"": false, "links+: {page: 'https://flaps.{{ $labels.cluster }}.x/', grafana: 'https://boards.x/'}": true,
	} {
		is := mustConfigured(t, config)
		alerts, boards := asJSON(t, is.PrometheusAlerts), asJSON(t, is.GrafanaDashboards)
		if strings.Contains(alerts+boards, "example.org") || strings.Contains(boards, "/flaps") {
			t.Errorf("%q: found a dead link", config)
		}
		for _, link := range []string{"https://flaps.{{ $labels.cluster }}.x/flaps?node=", "https://boards.x/d/kubeflap-node?"} {
			if strings.Contains(alerts, link) != want {
				t.Errorf("%q: alerts contain the link %s: %v", config, link, !want)
			}
		}
	}
	if boards := asJSON(t, mustConfigured(t, "links+: {page: 'https://flaps.x/'}").GrafanaDashboards); strings.Count(boards, `"query":"https://flaps.x"`) != 4 {
		t.Error("the variable page does not have the address of the page")
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b := try(json.Marshal(v))(t)
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

// A configured selector must be part of each selector of a kubeflap metric, and of no other selector. If none is
// configured, the expressions must be those of the files.
func TestMixinSelects(t *testing.T) {
	is := mustConfigured(t, `kubeflapSelector: 'job=~".*"'`)
	before := rulesOf(t, mustConfigured(t, ""))
	for i, r := range rulesOf(t, is) {
		expr := try(ParseExpr(r["expr"].(string)))(t)
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok && strings.HasPrefix(v.Name, "kubeflap_") {
				all := len(v.LabelMatchers)
				v.LabelMatchers = slices.DeleteFunc(v.LabelMatchers, func(m *labels.Matcher) bool { return m.String() == `job=~".*"` })
				if len(v.LabelMatchers) != all-1 {
					t.Errorf("%s%s: unexpected selector %s", r["alert"], r["record"], v)
				}
			}
			return nil
		})
		want := try(ParseExpr(before[i]["expr"].(string)))(t)
		if expr.String() != want.String() {
			t.Errorf("%s%s: got %s, want %s", r["alert"], r["record"], expr, want)
		}
	}
}

// groupsOf returns all rule groups, in the order of the files.
func groupsOf(m mixin) []any {
	return slices.Concat(m.PrometheusAlerts["groups"].([]any), m.PrometheusRules["groups"].([]any))
}

func rulesOf(t *testing.T, m mixin) (all []map[string]any) {
	t.Helper()
	for _, g := range groupsOf(m) {
		for _, r := range g.(map[string]any)["rules"].([]any) {
			all = append(all, r.(map[string]any))
		}
	}
	return all
}

// A threshold must change its own number in its rule, and nothing else. Unknown names are refused.
func TestMixinThresholds(t *testing.T) {
	before := rulesOf(t, mustConfigured(t, ""))
	config, number := "", 1000.5
	for _, r := range before {
		r["expr"] = thresholdMark.ReplaceAllStringFunc(r["expr"].(string), func(text string) string {
			number++
			name := thresholdMark.FindStringSubmatch(text)[2]
			config += fmt.Sprintf("%s: %g, ", name, number)
			return fmt.Sprintf("%g # threshold: %s", number, name)
		})
	}
	for i, r := range rulesOf(t, mustConfigured(t, "thresholds+: {"+config+"}")) {
		if r["expr"] != before[i]["expr"] {
			t.Errorf("%s%s: got %s\nwant %s", r["alert"], r["record"], r["expr"], before[i]["expr"])
		}
	}
	if _, err := configured(t, "thresholds+: {serviceDownSecond: 90}"); err == nil || !strings.Contains(err.Error(), "unknown thresholds: serviceDownSecond") {
		t.Errorf("unexpected error for a threshold that does not exist: %v", err)
	}
}

// The mixin must offer the same changes to alerts as the values of the Helm chart.
func TestMixinChangesAlerts(t *testing.T) {
	is := rulesOf(t, mustConfigured(t, `
		interval: '1m', alertLabels: {team: 'x'}, alertAnnotations: {channel: 'y'},
		alerts: {
			KubeflapBlind: {enabled: false},
			KubeflapSelectorConflict: {'for': '30m', keepFiringFor: '1h', severity: 'info', labels: {a: 'b'}, annotations: {c: 'd'}},
			KubeflapNodeLost: {'for': '10m', warning: {enabled: false}},
		}`))
	count := map[string]int{}
	for _, r := range is {
		name := fmt.Sprint(r["alert"], r["record"])
		count[name]++
		labels, _ := r["labels"].(map[string]any)
		annotations, _ := r["annotations"].(map[string]any)
		ok := true
		switch r["alert"] {
		case "KubeflapSelectorConflict":
			ok = r["for"] == "30m" && r["keep_firing_for"] == "1h" && labels["severity"] == "info" && labels["a"] == "b" && annotations["c"] == "d"
		case "KubeflapNodeLost":
			ok = r["for"] == "10m" && labels["severity"] == "critical"
		}
		if !ok || r["alert"] != nil && (labels["team"] != "x" || annotations["channel"] != "y") {
			t.Errorf("%s: unexpected %v", name, r)
		}
	}
	if count["KubeflapBlind<nil>"] != 0 || count["KubeflapNodeLost<nil>"] != 1 {
		t.Errorf("a disabled alert still exists: %v", count)
	}
}

// The examples in the documentation must evaluate without errors.
func TestMixinExamples(t *testing.T) {
	page := readFile(t, "mixin/README.md")
	examples := regexp.MustCompile("(?ms)^```jsonnet\n(.*?)^```").FindAllStringSubmatch(page, -1)
	if len(examples) == 0 {
		t.Fatal("mixin/README.md has no example")
	}
	for _, m := range examples {
		if _, err := evaluated(t, m[1]); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}
