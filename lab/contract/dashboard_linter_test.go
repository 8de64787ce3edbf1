package contract

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// The names are those of the rules of Grafana's dashboard linter (github.com/grafana/dashboard-linter, docs/rules). The
// linter applies some rules only to some types of panels, but this test applies them to all types. The dashboard of
// recorded series has no target labels, so the rules about targets do not apply to it.
func TestDashboardsBreakNoRuleOfTheLinter(t *testing.T) {
	rules := map[string]func(*testing.T, dashboard){
		"template-datasource":            lintDatasource,
		"template-job":                   func(t *testing.T, d dashboard) { lintVariable(t, d, "job", "Job") },
		"template-instance":              func(t *testing.T, d dashboard) { lintVariable(t, d, "instance", "Instance") },
		"template-label-promql":          lintVariableQueries,
		"template-on-time-change-reload": lintReload,
		"panel-datasource":               lintPanelDatasource,
		"panel-title-description":        lintDescription,
		"panel-units":                    lintUnits,
		"panel-no-targets":               lintTargets,
		"target-rate-interval":           func(t *testing.T, d dashboard) { eachNode(t, d, lintRateInterval) },
		"target-job":                     func(t *testing.T, d dashboard) { eachTarget(t, d, lintMatcher("job")) },
		"target-instance":                func(t *testing.T, d dashboard) { eachTarget(t, d, lintMatcher("instance")) },
		"target-counter-agg":             func(t *testing.T, d dashboard) { eachNode(t, d, lintCounter(dictionary(t))) },
	}
	ofTargets := []string{"template-job", "template-instance", "target-job", "target-instance"}
	for name, rule := range rules {
		for _, d := range dashboards(t) {
			if d.UID == fleetUID && slices.Contains(ofTargets, name) {
				continue
			}
			t.Run(name+"/"+d.File, func(t *testing.T) { rule(t, d) })
		}
	}
}

// eachNode calls look with every node of every expression of a dashboard.
func eachNode(t *testing.T, d dashboard, look func(node parser.Node, path []parser.Node) error) {
	t.Helper()
	eachTarget(t, d, func(_ panel, _ target, expr parser.Expr) error {
		var errs []error
		parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
			errs = append(errs, look(node, path))
			return nil
		})
		return errors.Join(errs...)
	})
}

// eachTarget calls look with every expression of a dashboard.
func eachTarget(t *testing.T, d dashboard, look func(panel, target, parser.Expr) error) {
	t.Helper()
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(filled.Replace(q.Expr))
			if err == nil {
				err = look(p, q, expr)
			}
			if err != nil {
				t.Errorf("panel %q, query %s: %v", p.Title, q.RefID, err)
			}
		}
	}
}

// rateInterval is the value of $__rate_interval in the tests. No other variable has this value.
const rateInterval = 2 * time.Minute

// filled replaces Grafana's built-in variables by values. Other variables only occur in matchers.
var filled = strings.NewReplacer(
	"$__rate_interval", "2m", "$__interval_ms", "60000", "$__interval", "1m", "$__range_s", "1800", "$__range", "30m", "$__from", "900000",
)

func lintDatasource(t *testing.T, d dashboard) {
	if v := d.Templating.List[0]; v.Type != "datasource" || v.Query != "prometheus" || v.Name != "datasource" || v.Label != "Data source" {
		t.Errorf("the first variable is %+v, not the data source", v)
	}
}

func lintVariable(t *testing.T, d dashboard, name, label string) {
	for _, v := range d.Templating.List {
		if v.Name != name {
			continue
		}
		if v.Type != "query" || v.Label != label || !v.Multi || !v.IncludeAll || v.AllValue != ".+" || v.Datasource.UID != "${datasource}" {
			t.Errorf("unexpected settings of the variable %s: %+v", name, v)
		}
		return
	}
	t.Errorf("no variable %s", name)
}

func lintVariableQueries(t *testing.T, d dashboard) {
	query := regexp.MustCompile(`^(?:label_values\((.+), (\w+)\)|query_result\((.+)\))$`)
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		match := query.FindStringSubmatch(v.Query)
		if match == nil {
			t.Errorf("variable %s: unexpected query %s", v.Name, v.Query)
			continue
		}
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(match[1] + match[3])
		if err == nil {
			err = known(scraped(dictionary(t)), expr, match[2])
		}
		if err != nil {
			t.Errorf("variable %s: %v", v.Name, err)
		}
	}
}

func lintReload(t *testing.T, d dashboard) {
	const onTimeRangeChange = 2
	for _, v := range d.Templating.List {
		if v.Type == "query" && v.Refresh != onTimeRangeChange {
			t.Errorf("variable %s has refresh %d", v.Name, v.Refresh)
		}
	}
}

func lintPanelDatasource(t *testing.T, d dashboard) {
	want := datasource{"prometheus", "${datasource}"}
	for _, a := range d.Annotations.List {
		if a.Datasource != want {
			t.Errorf("annotation %q has data source %v", a.Name, a.Datasource)
		}
	}
	for _, p := range d.Panels {
		if len(p.Targets) > 0 && p.Datasource != want {
			t.Errorf("panel %q has data source %v", p.Title, p.Datasource)
		}
		for _, q := range p.Targets {
			if q.Datasource != want {
				t.Errorf("panel %q, query %s has data source %v", p.Title, q.RefID, q.Datasource)
			}
		}
	}
}

func lintDescription(t *testing.T, d dashboard) {
	for _, p := range d.Panels {
		if p.Type != "row" && (p.Title == "" || !strings.HasSuffix(p.Description, ".")) {
			t.Errorf("panel %q: missing or unexpected description %q", p.Title, p.Description)
		}
	}
}

// lintUnits checks that panels only use known units. You may add any unit that Grafana has to the list.
func lintUnits(t *testing.T, d dashboard) {
	units := []string{"short", "s", "percentunit", "bytes", "cps", "dateTimeFromNow", "dateTimeAsIso"}
	for _, p := range d.Panels {
		if !slices.Contains([]string{"stat", "timeseries", "bargauge", "table"}, p.Type) || len(p.FieldConfig.Defaults.Mappings) > 0 {
			continue
		}
		used := []string{p.FieldConfig.Defaults.Unit}
		for _, o := range p.FieldConfig.Overrides {
			for _, property := range o.Properties {
				if property.ID == "unit" {
					used = append(used, fmt.Sprint(property.Value))
				}
			}
		}
		// Tables set units per column.
		if used[0] == "" && len(used) > 1 {
			used = used[1:]
		}
		for _, unit := range used {
			if !slices.Contains(units, unit) {
				t.Errorf("panel %q has the unknown unit %q", p.Title, unit)
			}
		}
	}
}

func lintTargets(t *testing.T, d dashboard) {
	for _, p := range d.Panels {
		if none := len(p.Targets) == 0; none != (p.Type == "row" || p.Type == "alertlist") {
			t.Errorf("panel %q has %d queries", p.Title, len(p.Targets))
		}
	}
}

func lintRateInterval(node parser.Node, _ []parser.Node) error {
	if call, ok := node.(*parser.Call); ok && (call.Func.Name == "rate" || call.Func.Name == "irate") {
		if m, ok := call.Args[0].(*parser.MatrixSelector); !ok || m.Range != rateInterval {
			return fmt.Errorf("%s does not use $__rate_interval", call)
		}
	}
	return nil
}

func lintMatcher(name string) func(panel, target, parser.Expr) error {
	return func(_ panel, _ target, expr parser.Expr) error {
		for _, matchers := range parser.ExtractSelectors(expr) {
			if slices.ContainsFunc(matchers, isOfKubeProxy) {
				continue // kube-proxy is another target than kubeflap
			}
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
				return m.Name == name && m.Type == labels.MatchRegexp && m.Value == "$"+name
			}) {
				return fmt.Errorf(`a selector without %s=~"$%s"`, name, name)
			}
		}
		return nil
	}
}

func isOfKubeProxy(m *labels.Matcher) bool {
	return m.Name == model.MetricNameLabel && strings.HasPrefix(m.Value, "kubeproxy_")
}

// lintCounter allows a counter without rate or increase only as an operand of "and", "unless" or a difference, because
// rate and increase miss the event with which a series starts.
func lintCounter(all map[string]Metric) func(parser.Node, []parser.Node) error {
	return func(node parser.Node, path []parser.Node) error {
		v, ok := node.(*parser.VectorSelector)
		if ok && isCounter(all, v.Name) && !slices.ContainsFunc(path, grows) {
			return fmt.Errorf("the counter %s is used without rate or increase", v)
		}
		return nil
	}
}

func grows(node parser.Node) bool {
	switch n := node.(type) {
	case *parser.Call:
		return slices.Contains([]string{"rate", "increase", "resets", "last_over_time", "count_over_time"}, n.Func.Name)
	case *parser.BinaryExpr:
		return n.Op == parser.LAND || n.Op == parser.LUNLESS || n.Op == parser.SUB
	}
	return false
}

func isCounter(all map[string]Metric, name string) bool {
	return all[name].Type == "counter" || all[name].Type == "histogram" || strings.HasSuffix(name, "_total")
}
