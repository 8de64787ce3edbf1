package contract

import (
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rules returns all rules, each with the labels of its results.
func rules(t testing.TB) []*Rule {
	t.Helper()
	groups, err := ruleGroups()
	if err != nil {
		t.Fatal(err)
	}
	var all []*Rule
	recorded := map[string][]string{}
	for _, file := range RuleFiles {
		for _, g := range groups[RulePath(file)].Groups {
			for _, x := range g.Rules {
				r := &Rule{Rule: x, File: file, Group: g.Name}
				if err := r.derive(recorded); err != nil {
					t.Fatalf("%s, %s: %v", file, r.Name(), err)
				}
				all = append(all, r)
			}
		}
	}
	return all
}

func alerts(t testing.TB) []*Rule {
	return slices.DeleteFunc(rules(t), func(r *Rule) bool { return r.Alert == "" })
}

// Results of rules must not have target labels. Target labels differ between replicas, so two replicas would page
// twice. Alerts about kubeflap itself keep the label job, so that an alert about one installation does not hide
// another.
func TestNothingOfTheTargetSurvives(t *testing.T) {
	allowed := []string{"cause", "cluster", "kind", "namespace", "node", "reason", "resource", "scope", "service", "severity", "verdict"}
	for _, r := range rules(t) {
		for _, l := range r.Labels {
			if r.Record == "service:kubeflap_service_endpoints_resets:new15m" && l == "selector" {
				continue // this label belongs to the metric, and the two alerts that match it drop it
			}
			if itself := r.File == "kubeflap.yaml" && l == "job"; !itself && !slices.Contains(allowed, l) {
				t.Errorf("%s, %s: the results keep the label %q", r.File, r.Name(), l)
			}
		}
		if !slices.Contains(r.Labels, "cluster") {
			t.Errorf("%s, %s: the results have no label cluster", r.File, r.Name())
		}
	}
}

// Rules must only use metrics and labels that exist in kubeflap or in a recording rule.
func TestRulesUseWhatThereIs(t *testing.T) {
	all := declared(t)
	for name, m := range all {
		if name == "kubeflap_build_info" || strings.HasPrefix(name, "kubeflap_watch_") || strings.HasPrefix(name, "kubeflap_flight_recorder_") {
			// These metrics describe the target, so rules may use the target's labels.
			all[name] = Metric{m.Type, slices.Concat(m.Labels, []string{"instance", "job", "namespace"})}
		}
	}
	all["up"] = Metric{"gauge", []string{"instance", "job", "namespace", "service"}}
	all["process_start_time_seconds"] = Metric{"gauge", []string{"instance", "job"}}
	// These metrics come from kube-state-metrics, which is optional.
	all["kube_deployment_spec_replicas"] = Metric{"gauge", []string{"namespace", "deployment"}}
	all["kube_statefulset_replicas"] = Metric{"gauge", []string{"namespace", "statefulset"}}
	// Only queries in annotations may use these metrics. If they are not scraped, the annotation says so.
	texts := maps.Clone(all)
	for name, m := range otherMetrics {
		texts[name] = Metric{m.Type, slices.Concat(m.Labels, []string{"instance", "job"})}
	}
	check := func(r *Rule, text string, all map[string]Metric) {
		expr, err := ParseExpr(text)
		if err == nil {
			err = known(all, expr)
		}
		if err != nil {
			t.Errorf("%s: %v in %s", r.Name(), err, text)
		}
	}
	for _, r := range rules(t) {
		if r.Record != "" {
			all[r.Record] = Metric{"gauge", r.Labels}
			texts[r.Record] = all[r.Record]
		}
		check(r, r.Expr, all)
		for _, query := range queries(t, r) {
			check(r, query, texts)
		}
	}
}

var queryInText = regexp.MustCompile(`printf ("(?:[^"\\]|\\.)*") [^}|]*\| query`)

// queries returns the queries in a rule's annotations. It replaces templates in them by placeholders.
func queries(t *testing.T, r *Rule) (all []string) {
	asked := 0
	for _, text := range r.Annotations {
		asked += strings.Count(text, "| query")
		for _, m := range queryInText.FindAllStringSubmatch(text, -1) {
			s, err := strconv.Unquote(m[1])
			if err != nil {
				t.Fatalf("%s: %s: %v", r.Name(), m[1], err)
			}
			all = append(all, strings.NewReplacer("%q", `"x"`, "%[1]q", `"x"`, "%f", "1").Replace(s))
		}
	}
	if len(all) != asked {
		t.Errorf("%s: %d queries in the annotations, but only %d could be parsed", r.Name(), asked, len(all))
	}
	return all
}

var labelInText = regexp.MustCompile(`\$labels\.(\w+)`)

func TestAnnotations(t *testing.T) {
	for _, r := range alerts(t) {
		if s := r.Rule.Labels["severity"]; s != "critical" && s != "warning" && s != "info" {
			t.Errorf("%s: unexpected severity %q", r.Alert, s)
		}
		a := r.Annotations
		if s := a["summary"]; strings.Contains(s, "{{") || !strings.HasSuffix(s, ".") {
			t.Errorf("%s: the summary is not a fixed sentence: %q", r.Alert, s)
		}
		for _, part := range []string{"$externalLabels.cluster", "Cause: ", "Remedy: "} {
			if !strings.Contains(a["description"], part) {
				t.Errorf("%s: the description does not contain %q", r.Alert, part)
			}
		}
		if want := "https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/" + r.Alert + ".md"; a["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q, want %q", r.Alert, a["runbook_url"], want)
		}
		if len(a) != 5 {
			t.Errorf("%s has %d annotations, want 5", r.Alert, len(a))
		}
		for name, text := range a {
			for _, m := range labelInText.FindAllStringSubmatch(text, -1) {
				if !slices.Contains(r.Labels, m[1]) {
					t.Errorf("%s: %s uses the label %q, which the alert does not have", r.Alert, name, m[1])
				}
			}
		}
		checkPage(t, r)
		checkDashboard(t, r)
	}
}

// checkPage checks that the link to /flaps filters by the alert's object. It may only use parameters that the page
// knows, because the page refuses others.
func checkPage(t *testing.T, r *Rule) {
	u := parseURL(t, r, "page_url")
	if u.Scheme+"://"+u.Host+u.Path != "https://kubeflap.example.org/flaps" {
		t.Errorf("%s: unexpected page_url %s", r.Alert, u)
	}
	for _, l := range []string{"namespace", "service", "node"} {
		if got := u.Query().Has(l); got != isOfTheObject(r, l) {
			t.Errorf("%s: page_url filters by %s: %t", r.Alert, l, got)
		}
	}
	api, err := os.ReadFile(Root + "/docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for p := range u.Query() {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + p + "`[^|]*\\|").Match(api) {
			t.Errorf("%s: docs/api.md lists no parameter %q", r.Alert, p)
		}
	}
}

// isOfTheObject reports whether the label identifies the object of the alert. In alerts about kubeflap itself, the
// label namespace is that of kubeflap, so it is not a filter.
func isOfTheObject(r *Rule, label string) bool {
	return slices.Contains(r.Labels, label) && (label != "namespace" || r.File != "kubeflap.yaml")
}

func checkDashboard(t *testing.T, r *Rule) {
	u := parseURL(t, r, "dashboard_url")
	uids := []string{"/d/kubeflap-overview", "/d/kubeflap-service", "/d/kubeflap-node", "/d/kubeflap-self"}
	if u.Host != "grafana.example.org" || !slices.Contains(uids, u.Path) {
		t.Errorf("%s: unexpected dashboard_url %s", r.Alert, u)
	}
	if u.Path == "/d/kubeflap-service" && !slices.Contains(r.Labels, "service") {
		t.Errorf("%s: dashboard_url selects all Services of the namespace", r.Alert)
	}
	for _, l := range []string{"cluster", "namespace", "service", "node"} {
		if got := u.Query().Has("var-" + l); got != isOfTheObject(r, l) {
			t.Errorf("%s: dashboard_url filters by %s: %t", r.Alert, l, got)
		}
	}
}

func parseURL(t *testing.T, r *Rule, name string) *url.URL {
	t.Helper()
	u, err := url.Parse(regexp.MustCompile(`{{.*?}}`).ReplaceAllString(r.Annotations[name], "x"))
	if err != nil {
		t.Fatalf("%s: %s: %v", r.Alert, name, err)
	}
	return u
}

// Two rules in different files must not record the same series, because they would overwrite each other's samples.
// promtool does not find this, because it checks each file separately.
func TestRecordsHaveOneRule(t *testing.T) {
	files := map[string]string{}
	for _, r := range rules(t) {
		if other, found := files[r.Record]; found && r.Record != "" {
			t.Errorf("%s is recorded in both %s and %s", r.Record, other, r.File)
		}
		files[r.Record] = r.File
	}
}
