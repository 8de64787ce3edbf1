package contract

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// Removing any part of an alert's expression must make one of the alert's unit tests in rules/tests fail: an operand, a
// matcher, an aggregation, a comparison or a range. The same applies to its durations.
func TestEveryPartOfARuleIsTested(t *testing.T) {
	if testing.Short() {
		t.Skip("runs promtool for each part")
	}
	all := alerts(t)
	for _, r := range all {
		var others []rulefmt.Rule
		for _, x := range all {
			if x.Alert == r.Alert && x != r {
				others = append(others, x.Rule)
			}
		}
		t.Run(r.Alert+"/"+r.Rule.Labels["severity"], func(t *testing.T) {
			t.Parallel()
			if out, err := unitTests(t, r, append([]rulefmt.Rule{r.Rule}, others...)); err != nil {
				t.Fatalf("the tests of the alert need other alerts: %s", out)
			}
			for _, m := range mutants(t, r) {
				if _, err := unitTests(t, r, append([]rulefmt.Rule{m}, others...)); err == nil {
					t.Errorf("no test fails with for %s, keep_firing_for %s and the expression\n%s", m.For, m.KeepFiringFor, m.Expr)
				}
			}
		})
	}
}

// unitTests runs the tests of an alert with the given rules.
func unitTests(t *testing.T, r *Rule, rules []rulefmt.Rule) ([]byte, error) {
	t.Helper()
	dir := t.TempDir()
	text := try(yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "mutant", "rules": rules}}}))(t)
	must(t, os.Mkdir(filepath.Join(dir, "tests"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, r.File), text, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "tests", r.File), []byte(readFile(t, "rules/tests/"+r.File)), 0o600))
	return exec.CommandContext(t.Context(), Root+"/bin/promtool", "test", "rules", "--run=^"+r.Alert+":", filepath.Join(dir, "tests", r.File)).CombinedOutput()
}

// mutants returns the rule without each of its parts.
func mutants(t *testing.T, r *Rule) (all []rulefmt.Rule) {
	t.Helper()
	expr := try(ParseExpr(r.Expr))(t)
	seen := setOf(r.Expr)
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if n == nil {
			return nil
		}
		at := n.PositionRange()
		for _, less := range lesser(r.Expr, n) {
			m := r.Rule
			m.Expr = r.Expr[:at.Start] + less + r.Expr[at.End:]
			if _, err := ParseExpr(m.Expr); err == nil && !seen[m.Expr] {
				all = append(all, m)
				seen[m.Expr] = true
			}
		}
		return nil
	})
	if m := r.Rule; m.For > 0 {
		m.For = 0
		all = append(all, m)
	}
	if m := r.Rule; m.KeepFiringFor > 0 {
		m.KeepFiringFor = 0
		all = append(all, m)
	}
	return all
}

var braces = regexp.MustCompile(`{(.*)}`)

// lesser returns the text of a node of an expression without each of its parts.
func lesser(expr string, n parser.Node) []string {
	text := func(n parser.Node) string {
		at := n.PositionRange()
		return expr[at.Start:at.End]
	}
	switch n := n.(type) {
	case *parser.BinaryExpr:
		if n.Op == parser.LAND { // the right operand alone has other labels and another value
			return []string{text(n.LHS)}
		}
		return []string{text(n.LHS), text(n.RHS)}
	case *parser.AggregateExpr:
		return []string{text(n.Expr)}
	case *parser.Call:
		if len(n.Args) == 1 && n.Func.Name != "increase" { // another function of a counter is another rule
			return []string{strings.TrimRight(regexp.MustCompile(`\[\w+\]$`).ReplaceAllString(text(n.Args[0]), ""), " ")}
		}
	case *parser.VectorSelector:
		selector := text(n)
		inner := braces.FindStringSubmatch(selector)
		if inner == nil {
			return nil
		}
		var all []string
		matchers := strings.Split(inner[1], ",")
		for i := range matchers {
			rest := strings.Join(slices.Delete(slices.Clone(matchers), i, i+1), ",")
			all = append(all, strings.Replace(selector, inner[0], "{"+rest+"}", 1))
		}
		return all
	}
	return nil
}
