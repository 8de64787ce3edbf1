package contract

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// These are the rules of Grafana's dashboard linter (github.com/grafana/dashboard-linter, docs/rules) that break a
// dashboard. TestDashboardsObeyTheirVariables checks the matchers.
func TestDashboardsBreakNoRuleOfTheLinter(t *testing.T) {
	all := dictionary(t)
	for _, d := range dashboards(t) {
		t.Run(d.File, func(t *testing.T) {
			lintDatasources(t, d)
			lintVariableQueries(t, d)
			for _, p := range d.Panels {
				if p.Type != "row" && (p.Title == "" || !strings.HasSuffix(p.Description, ".")) {
					t.Errorf("panel %q: missing or unexpected description %q", p.Title, p.Description)
				}
			}
			eachNode(t, d, lintRateInterval)
			eachNode(t, d, lintCounter(all))
		})
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

// lintDatasources checks that everything asks the data source that the user chooses with the first variable.
func lintDatasources(t *testing.T, d dashboard) {
	if v := d.Templating.List[0]; v.Type != "datasource" || v.Query != "prometheus" || v.Name != "datasource" {
		t.Errorf("the first variable is %+v, not the data source", v)
	}
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
			if q.Datasource != (datasource{}) {
				t.Errorf("panel %q, query %s repeats the data source", p.Title, q.RefID)
			}
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
