package lab

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/session"
)

// juryRow matches a row of the table in jury.md: the number, the fault, and what must be said.
var juryRow = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]*) \|[^|]*\|[^|]*\| ([^|]*) \|`)

// TestJury plays the faults of the jury, and prints what kubeflap says, and after how many seconds. It fails if kubeflap
// does not say what jury.md requires.
func TestJury(t *testing.T) {
	t.Parallel()
	titles, required := map[string]string{}, map[string]string{}
	text, err := os.ReadFile("jury.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range juryRow.FindAllStringSubmatch(string(text), -1) {
		titles[row[1]], required[row[1]] = row[2], row[3]
	}
	jury := scenario.Jury()
	for _, f := range jury {
		must := required[fmt.Sprint(f.Number)]
		if right := strings.HasPrefix(must, f.Verdict()); right == f.Unsaid {
			t.Errorf("%d: jury.md requires %q, the test %s", f.Number, must, f.Verdict())
		}
	}
	if testing.Short() || !slices.Contains(releases(t), cluster.Newest) {
		t.Skip("takes too long, or tests another release")
	}
	kubeflap := buildKubeflap(t)
	rows := make([]string, len(jury))
	t.Run("all", func(t *testing.T) {
		for i, f := range jury {
			t.Run(fmt.Sprint(f.Number), func(t *testing.T) {
				t.Parallel()
				rows[i] = fmt.Sprintf("| %d | %s | failed |", f.Number, titles[fmt.Sprint(f.Number)])
				runScenario(t, f.Scenario, session.Options{Kubeflap: kubeflap, Log: logger(t)})
				rows[i] = fmt.Sprintf("| %d | %s | %s | %s |", f.Number, titles[fmt.Sprint(f.Number)], f.Verdict(), f.Took.Round(100*time.Millisecond))
			})
		}
	})
	t.Log(strings.Join(slices.DeleteFunc(rows, func(row string) bool { return row == "" }), "\n"))
}
