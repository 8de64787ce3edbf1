package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/session"
)

var update = flag.Bool("update", false, "write causes.md")

const causesPath = "causes.md"

// causesHead is the beginning of causes.md. In this text, two single quotes stand for a backtick.
var causesHead = strings.ReplaceAll(`# Faults in the lab

Each row shows a fault that the [lab](README.md) injected into a real control plane, and the [cause](../docs/verdicts.md#causes) that kubeflap reported.
The table omits scenarios without an expected cause, and scenarios that only ''make lab-test SCENARIOS=-verdicts'' runs. A run of the lab generates this page
(''make lab-test SCENARIOS=-update''). A test fails when the page is out of date.

| what happens | cause that kubeflap reports | scenario |
| --- | --- | --- |
`, "''", "`")

// causeRows returns the rows of causes.md for a scenario: the incident that kubeflap reported, and a row for each
// Service.
func causeRows(s scenario.Scenario, session *session.Session) string {
	var rows strings.Builder
	if session.ReportedIncident != "" && s.Causes == nil {
		fmt.Fprintf(&rows, "| %s | `%s` | `%s` |\n", s.Summary, session.ReportedIncident, s.Name)
	}
	for _, loss := range s.Causes {
		cause := "none: no address is lost"
		if causes := session.ReportedCauses[loss.Service]; causes != "" {
			cause = "`" + causes + "`"
		}
		fmt.Fprintf(&rows, "| %s | %s | `%s` |\n", loss.What, cause, s.Name)
	}
	return rows.String()
}

// expectCausesPage compares causes.md with this run, if all scenarios without the Extra flag ran.
func (r *results) expectCausesPage(t *testing.T) {
	t.Helper()
	page := causesHead
	for _, s := range scenario.All(cluster.Newest) {
		if s.Extra {
			continue
		}
		rows, ok := r.causes[nameOf(s)]
		if !ok {
			t.Logf("%s did not run, so %s is not checked", nameOf(s), causesPath)
			return
		}
		page += rows
	}
	if *update {
		if err := os.WriteFile(causesPath, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(causesPath); err != nil || string(was) != page {
		t.Errorf("%s is out of date (%v): run make lab-test SCENARIOS=-update. Its content should be:\n%s", causesPath, err, page)
	}
}

// The texts of causes.md must be those of the code. This test does not need a run.
func TestTextsOfTheCausesPage(t *testing.T) {
	page, err := os.ReadFile(causesPath)
	if err != nil {
		t.Fatal(err)
	}
	rows, ok := strings.CutPrefix(string(page), causesHead)
	if !ok {
		t.Fatalf("%s does not begin with:\n%s", causesPath, causesHead)
	}
	texts := map[string]bool{}
	for _, s := range scenario.All(cluster.Newest) {
		texts[s.Summary+" "+s.Name] = true
		for _, loss := range s.Causes {
			texts[loss.What+" "+s.Name] = true
		}
	}
	for row := range strings.Lines(rows) {
		cells := strings.Split(strings.Trim(row, "| \n"), " | ")
		if name := strings.Trim(cells[len(cells)-1], "`"); !texts[cells[0]+" "+name] {
			t.Errorf("no scenario has the text of the row %s", row)
		}
	}
}

// With -verdicts, a run must not check causes.md, because none of its scenarios are on that page.
func TestScenariosOfVerdictsAreNotOnTheCausesPage(t *testing.T) {
	was := *verdicts
	*verdicts = true
	t.Cleanup(func() { *verdicts = was })
	r := results{causes: map[string]string{}}
	for _, s := range slices.DeleteFunc(scenario.All(cluster.Newest), leftOut) {
		r.causes[nameOf(s)] = "| " + s.Summary + " | | |\n"
	}
	r.expectCausesPage(t)
}
