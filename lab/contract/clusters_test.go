package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Nodes and Services of two clusters may have the same names. So each aggregation must be by cluster, and each vector
// match must be on cluster. Each query in an annotation must select one cluster.
func TestNothingIsJoinedAcrossClusters(t *testing.T) {
	for _, r := range rules(t) {
		for _, problem := range joins(t, r.Expr, false) {
			t.Errorf("%s, %s: %s", r.File, r.Name(), problem)
		}
		for _, query := range queries(t, r) {
			for _, problem := range joins(t, query, true) {
				t.Errorf("%s, %s: a query in an annotation does not select the cluster: %s", r.File, r.Name(), problem)
			}
		}
	}
}

// joins lists the parts of an expression that mix clusters. If ofOne is set, each selector must have a matcher for one
// cluster.
func joins(t *testing.T, expr string, ofOne bool) (problems []string) {
	t.Helper()
	e := try(ParseExpr(expr))(t)
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		joined := false
		switch x := n.(type) {
		case *parser.AggregateExpr:
			joined = !ofOne && (x.Without || !slices.Contains(x.Grouping, "cluster"))
		case *parser.BinaryExpr:
			m := x.VectorMatching
			// Without an on clause, all labels must match, including cluster.
			joined = !ofOne && m != nil && m.On == !slices.Contains(m.MatchingLabels, "cluster")
		case *parser.VectorSelector:
			joined = ofOne && !slices.ContainsFunc(x.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "cluster" && m.Type == labels.MatchEqual })
		}
		if joined {
			problems = append(problems, fmt.Sprint(n))
		}
		return nil
	})
	return problems
}

// The configuration in docs/fleet.md must send all series that the rules read to the central ruler.
func TestFleetPageIsRight(t *testing.T) {
	page := readFile(t, "docs/fleet.md")
	_, after, _ := strings.Cut(page, "### Series for all rules")
	keep := regexp.MustCompile(`(?m)^ +regex: (\S+)$`).FindStringSubmatch(after)
	if keep == nil {
		t.Fatal("docs/fleet.md has no regex below \"Series for all rules\"")
	}
	sent := regexp.MustCompile("^(?:" + keep[1] + ")$")
	recorded := map[string]bool{}
	for _, r := range rules(t) {
		recorded[r.Record] = true
		expr := try(ParseExpr(r.Expr))(t)
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok && v.Name != "ALERTS" && !recorded[v.Name] && !sent.MatchString(v.Name) {
				t.Errorf("%s reads %s, which docs/fleet.md does not send", r.Name(), v.Name)
			}
			return nil
		})
	}
}
