package contract

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

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
