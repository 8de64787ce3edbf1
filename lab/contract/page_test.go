package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
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
