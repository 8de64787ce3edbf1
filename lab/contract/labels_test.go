package contract

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
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

// derive sets the labels of the rule's results. It also adds the labels of recording rules to the map recorded, for
// later rules.
func (r *Rule) derive(recorded map[string][]string) error {
	expr, err := ParseExpr(r.Expr)
	if err != nil {
		return err
	}
	set, err := labelsOf(expr, recorded)
	if err != nil {
		return err
	}
	if r.Record != "" {
		// A recording rule can read its own previous value. That adds no labels.
		delete(set, anyLabel)
		recorded[r.Record] = slices.Sorted(maps.Keys(set))
		if set, err = labelsOf(expr, recorded); err != nil {
			return err
		}
	}
	for name := range r.Rule.Labels {
		set[name] = true
	}
	r.Labels = slices.Sorted(maps.Keys(set))
	if r.Record != "" {
		recorded[r.Record] = r.Labels
	}
	return nil
}

// ParseExpr parses PromQL.
func ParseExpr(s string) (parser.Expr, error) {
	return parser.NewParser(parser.Options{}).ParseExpr(s)
}

// anyLabel represents the target labels, which Prometheus adds to the labels of a scraped series.
const anyLabel = "*"

// labelsOf returns the labels that the results of an expression may have.
func labelsOf(expr parser.Expr, recorded map[string][]string) (map[string]bool, error) {
	switch e := expr.(type) {
	case *parser.VectorSelector:
		if own, ok := recorded[e.Name]; ok {
			return setOf(own...), nil
		}
		return setOf(anyLabel), nil
	case *parser.AggregateExpr:
		return labelsOfAggregation(e, recorded)
	case *parser.BinaryExpr:
		return labelsOfBinary(e, recorded)
	case *parser.Call:
		return labelsOfCall(e, recorded)
	}
	return labelsOfOperands(expr, recorded)
}

// labelsOfOperands returns the labels of all operands of an expression.
func labelsOfOperands(expr parser.Expr, recorded map[string][]string) (map[string]bool, error) {
	all := setOf()
	for operand := range parser.ChildrenIter(expr) {
		some, err := labelsOf(operand.(parser.Expr), recorded)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, some)
	}
	return all, nil
}

func labelsOfAggregation(e *parser.AggregateExpr, recorded map[string][]string) (map[string]bool, error) {
	inner, err := labelsOf(e.Expr, recorded)
	switch {
	case err != nil:
		return nil, err
	case e.Without:
		return nil, fmt.Errorf("%s keeps the target labels", e)
	case e.Op == parser.TOPK:
		return inner, nil
	}
	for _, l := range e.Grouping {
		if !inner[l] && !inner[anyLabel] {
			return nil, fmt.Errorf("%s: no operand has the label %s", e, l)
		}
	}
	return setOf(e.Grouping...), nil
}

func labelsOfBinary(e *parser.BinaryExpr, recorded map[string][]string) (map[string]bool, error) {
	left, err := labelsOf(e.LHS, recorded)
	switch {
	case err != nil:
		return nil, err
	case e.VectorMatching == nil, e.Op == parser.LOR: // without a VectorMatching, one operand is a scalar
		return labelsOfOperands(e, recorded)
	case e.Op == parser.LAND, e.Op == parser.LUNLESS:
		return left, nil
	case len(e.VectorMatching.MatchingLabels) == 0: // without an on clause, all labels must match, also those of the target
		return left, nil
	case !e.VectorMatching.On:
		return nil, fmt.Errorf("%s has no \"on\" clause", e)
	case e.VectorMatching.Card == parser.CardManyToOne:
		maps.Copy(left, setOf(e.VectorMatching.Include...))
		return left, nil
	case e.VectorMatching.Card == parser.CardOneToOne:
		return setOf(e.VectorMatching.MatchingLabels...), nil
	}
	return nil, fmt.Errorf("unsupported expression %s", e)
}

func labelsOfCall(e *parser.Call, recorded map[string][]string) (map[string]bool, error) {
	all, err := labelsOfOperands(e, recorded)
	if err != nil {
		return nil, err
	}
	switch e.Func.Name {
	case "absent":
		return setOf(), nil
	case "histogram_quantile":
		delete(all, labels.BucketLabel)
	case "label_replace":
		all[e.Args[1].(*parser.StringLiteral).Val] = true
	}
	return all, nil
}

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return set
}
