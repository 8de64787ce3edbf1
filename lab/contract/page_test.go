package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// table returns the rows of the table with the given head in docs/alerts.md.
func table(t *testing.T, head string) (rows [][]string) {
	t.Helper()
	_, rest, ok := strings.Cut(readFile(t, "docs/alerts.md"), head+"\n")
	if !ok {
		t.Fatalf("no table %q in docs/alerts.md", head)
	}
	for line := range strings.SplitSeq(rest, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if strings.HasPrefix(line, "| ---") {
			continue
		}
		var cells []string
		for c := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(c))
		}
		rows = append(rows, cells)
	}
	return rows
}

// The table must list every alert in the order of the files. Each row must have the severities, and a link to the
// runbook.
func TestAlertsAreListed(t *testing.T) {
	var want []string
	for _, r := range alerts(t) {
		row := fmt.Sprintf("[%s](../rules/runbooks/%s.md) %s", r.Alert, r.Alert, r.Rule.Labels["severity"])
		want = append(want, row)
	}
	var got []string
	for _, row := range table(t, "| alert | severity | fires when |") {
		if len(row) != 3 || len(row[2]) < 20 {
			t.Errorf("the row %q does not say when it fires", row)
			continue
		}
		got = append(got, row[0]+" "+row[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/alerts.md lists\n%s\nbut the rules are\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// begin is the time at which the pattern in each unit test begins.
const begin = 10 * time.Minute

type patterns struct {
	Tests []struct {
		Name  string
		Exprs []struct {
			Expr     string
			EvalTime model.Duration `yaml:"eval_time"`
			Samples  []any          `yaml:"exp_samples"`
		} `yaml:"promql_expr_test"`
	}
}

// Each row of the table must match the unit test with the same name. A test asserts that an alert fires at the given
// time, but not 30 s earlier. Other tests assert that no alert ever fires.
func TestPatternsAreAsserted(t *testing.T) {
	var file patterns
	for _, name := range []string{"patterns.yaml", "patterns_services.yaml"} {
		var part patterns
		if err := yaml.Unmarshal([]byte(readFile(t, "rules/tests/"+name)), &part); err != nil {
			t.Fatal(err)
		}
		file.Tests = append(file.Tests, part.Tests...)
	}
	var want []string
	for _, x := range file.Tests {
		first, second := x.Exprs[0], x.Exprs[0]
		if strings.HasPrefix(first.Expr, "count_over_time(ALERTS[") && len(first.Samples) == 0 {
			want = append(want, x.Name+": never")
			continue
		}
		second = x.Exprs[1]
		alert := regexp.MustCompile(`^count\(ALERTS\{alertstate="firing",alertname="(\w+)"\}\) > 0$`).FindStringSubmatch(second.Expr)
		if alert == nil || len(second.Samples) != 1 || first.Expr != `count(ALERTS{alertstate="firing"})` || len(first.Samples) != 0 ||
			second.EvalTime-first.EvalTime != model.Duration(30*time.Second) {
			t.Errorf("%s: the test does not assert the first alert and its time", x.Name)
			continue
		}
		after := "at once"
		if d := second.EvalTime - model.Duration(begin); d > 0 {
			after = d.String()
		}
		want = append(want, fmt.Sprintf("%s: %s, %s", x.Name, after, alert[1]))
	}
	var got []string
	for _, row := range table(t, "| pattern | stock rules | kubeflap fires after |") {
		got = append(got, row[0]+": "+row[2])
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/alerts.md lists\n%s\nbut the unit tests assert\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
