package contract

import (
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// rules returns all rules, each with the labels of its results.
func rules(t testing.TB) []*Rule {
	t.Helper()
	groups := try(ruleGroups())(t)
	var all []*Rule
	for _, file := range RuleFiles {
		for _, g := range groups[RulePath(file)].Groups {
			for _, x := range g.Rules {
				all = append(all, &Rule{Rule: x, File: file, Group: g.Name, Labels: labelsOf(t, &x)})
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
// another. An alert has neither a cause nor a verdict as a label, because a revision would notify again.
func TestNothingOfTheTargetSurvives(t *testing.T) {
	allowed := []string{"cluster", "kind", "namespace", "node", "resource", "scope", "service", "severity"}
	for _, r := range rules(t) {
		for _, l := range r.Labels {
			ok := slices.Contains(allowed, l) || r.File == "kubeflap.yaml" && l == "job" || r.Record != "" && (l == "class" || l == "verdict")
			if !ok {
				t.Errorf("%s, %s: the results keep the label %q", r.File, r.Name(), l)
			}
		}
		if !slices.Contains(r.Labels, "cluster") {
			t.Errorf("%s, %s: the results have no label cluster", r.File, r.Name())
		}
	}
}

// The rules must stay small enough to be read. Only the fleet dashboard has recording rules.
func TestRulesAreSmall(t *testing.T) {
	names, groups, lines, bytes := setOf(), map[string]int{}, 0, 0
	for _, r := range rules(t) {
		if r.Record != "" && r.File != "fleet.yaml" {
			t.Errorf("%s has the recording rule %s", r.File, r.Record)
		}
		if n := strings.Count(strings.TrimSpace(r.Expr), "\n") + 1; r.Alert != "" && n > 8 {
			t.Errorf("the expression of %s has %d lines, want at most 8", r.Alert, n)
		}
		if groups[r.Group]++; groups[r.Group] > 20 {
			t.Errorf("%s has more than 20 rules, which is the default limit of Mimir", r.Group)
		}
		if r.Alert != "" {
			names[r.Alert] = true
		}
	}
	for _, file := range RuleFiles {
		text := readFile(t, "rules/"+file)
		lines, bytes = lines+strings.Count(text, "\n"), bytes+len(text)
	}
	if len(names) > 16 || lines > 450 || bytes > 30<<10 {
		t.Errorf("the rules have %d names, %d lines and %d bytes, want at most 16, 450 and 30 KiB", len(names), lines, bytes)
	}
}

var thresholdMark = regexp.MustCompile(`(\d[\d.]*) # threshold: (\w+)`)

// If an alert compares with a number, its last number must be a threshold. docs/alerts.md and the runbook must name each
// threshold, and the page must state its default.
func TestThresholdsAreNamed(t *testing.T) {
	texts := runbooks(t)
	listed := map[string]string{}
	for _, row := range table(t, "| threshold | default | meaning |") {
		listed[strings.Trim(row[0], "`")] = row[1]
	}
	for _, r := range alerts(t) {
		marks := thresholdMark.FindAllStringSubmatchIndex(r.Expr, -1)
		rest := r.Expr
		for _, at := range marks {
			name, number := r.Expr[at[4]:at[5]], r.Expr[at[2]:at[3]]
			if listed[name] != number {
				t.Errorf("docs/alerts.md: the default of %s is %q, want %s", name, listed[name], number)
			}
			delete(listed, name)
			if !strings.Contains(texts[r.Alert+".md"], "`"+name+"`") {
				t.Errorf("the runbook of %s does not name %s", r.Alert, name)
			}
			rest = r.Expr[at[1]:]
		}
		if comparedNumber.MatchString(rest) {
			t.Errorf("%s: the last number is not marked as a threshold", r.Alert)
		}
	}
	for name := range listed {
		t.Errorf("docs/alerts.md: there is no threshold %s", name)
	}
}

// comparedNumber matches a comparison with a number. A comparison with 0 or 1 selects a state.
var comparedNumber = regexp.MustCompile(`[<>]=? ?\d`)

// Rules must only use metrics and labels that exist in kubeflap or in a recording rule.
func TestRulesUseWhatThereIs(t *testing.T) {
	all := declared(t)
	for name, m := range all {
		if name == "kubeflap_build_info" || strings.HasPrefix(name, "kubeflap_watch_") || strings.HasPrefix(name, "kubeflap_recorder_") || name == "kubeflap_classes_info" {
			// These metrics describe the target, so rules may use the target's labels.
			all[name] = Metric{m.Type, slices.Concat(m.Labels, []string{"instance", "job", "namespace"})}
		}
	}
	all["process_start_time_seconds"] = Metric{"gauge", []string{"instance", "job"}}
	all["ALERTS"] = Metric{"gauge", []string{"alertname", "alertstate", "severity"}}
	check := func(r *Rule, text string) {
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
		}
		check(r, r.Expr)
		for _, query := range queries(t, r) {
			check(r, query)
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
			all = append(all, strings.NewReplacer("%q", `"x"`, "%[1]q", `"x"`, "%[2]q", `"x"`, "%[3]q", `"x"`).Replace(s))
		}
	}
	if len(all) != asked {
		t.Errorf("%s: %d queries in the annotations, but only %d could be parsed", r.Name(), asked, len(all))
	}
	return all
}

var labelInText = regexp.MustCompile(`\$labels\.(\w+)`)

const verdictLink = "Verdict: {{ .Labels.verdict | reReplaceAll \"_\" \" \" }} (https://github.com/kubeflap/kubeflap/blob/main/docs/verdicts.md#{{ .Labels.verdict }})."

// The description of a critical alert about the cluster has one query, which gives the verdict.
func TestAnnotations(t *testing.T) {
	for _, r := range alerts(t) {
		critical := r.Rule.Labels["severity"] == "critical"
		if s := r.Rule.Labels["severity"]; !critical && s != "warning" {
			t.Errorf("%s: unexpected severity %q", r.Alert, s)
		}
		if s := r.Rule.Labels["scope"]; !slices.Contains([]string{"control_plane", "nodes", "services", "kubeflap"}, s) {
			t.Errorf("%s: unexpected scope %q", r.Alert, s)
		}
		a := r.Annotations
		if s := a["summary"]; strings.Contains(s, "{{") || !strings.HasSuffix(s, ".") {
			t.Errorf("%s: the summary is not a fixed sentence: %q", r.Alert, s)
		}
		if !strings.Contains(a["description"], "$externalLabels.cluster") {
			t.Errorf("%s: the description does not contain the cluster", r.Alert)
		}
		// The chart omits an annotation if its link is not set.
		if strings.Contains(a["description"], "_url") {
			t.Errorf("%s: the description refers to an annotation that can be missing", r.Alert)
		}
		asked := len(queries(t, r))
		// The warning of the same name may share the text.
		if names := critical && r.Alert != "KubeflapDown"; names && asked != 1 || asked > 1 || asked == 1 != strings.Contains(a["description"], verdictLink) {
			t.Errorf("%s: the description has %d queries: %s", r.Alert, asked, a["description"])
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
	api := readFile(t, "docs/api.md")
	for p := range u.Query() {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + p + "`[^|]*\\|").MatchString(api) {
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

// RuleFiles lists the shipped rule files, in the order in which docs/alerts.md describes them.
var RuleFiles = []string{"nodes.yaml", "services.yaml", "kubeflap.yaml", "fleet.yaml"}

// Rule is an alerting or recording rule, with the labels of its results.
type Rule struct {
	rulefmt.Rule
	File, Group string
	Labels      []string
}

// Name returns the name of the alert or of the recorded metric.
func (r *Rule) Name() string { return r.Alert + r.Record }

// RulePath returns the path of a file in rules/.
func RulePath(name string) string { return filepath.Join(Root, "rules", name) }

// labelsOf returns the labels of a rule's results: those by which its first aggregation groups, and those that it adds.
// The scenes check that alerts fire with these labels.
func labelsOf(t testing.TB, r *rulefmt.Rule) []string {
	t.Helper()
	var grouping, added []string
	parser.Inspect(try(ParseExpr(r.Expr))(t), func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.AggregateExpr:
			if grouping == nil && n.Op != parser.TOPK { // topk keeps all labels
				grouping = n.Grouping
			}
		case *parser.Call:
			if n.Func.Name == "label_replace" {
				added = append(added, n.Args[1].(*parser.StringLiteral).Val)
			}
		}
		return nil
	})
	all := setOf(slices.Concat(grouping, added, slices.Collect(maps.Keys(r.Labels)))...)
	return slices.Sorted(maps.Keys(all))
}

// ParseExpr parses PromQL.
func ParseExpr(s string) (parser.Expr, error) {
	return parser.NewParser(parser.Options{}).ParseExpr(s)
}

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return set
}
