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

var update = flag.Bool("update", false, "write docs/causes.md")

const causesPath = "../docs/causes.md"

const causesHead = `# Causes

This page is written by a run of the [lab](../lab/README.md) (` + "`make lab-docs`" + `): each line is what kubeflap told of a fault that
was made to happen on a real control plane. A test keeps it fresh. What each cause means is in the
[code that attributes it](../exporter/track/pods/rules.go), with the function of Kubernetes behind it.

| what happens | cause that kubeflap tells | scenario |
| --- | --- | --- |
`

// causeRows is what kubeflap told of a scenario: of the incident that it is, and of each Service.
func causeRows(s scenario.Scenario, told *session.Session) string {
	var rows strings.Builder
	if told.ToldIncident != "" && s.Causes == nil {
		fmt.Fprintf(&rows, "| %s | `%s` | `%s` |\n", s.Summary, told.ToldIncident, s.Name)
	}
	for _, loss := range s.Causes {
		cause := "none: no address is lost"
		if causes := told.ToldCauses[loss.Service]; causes != "" {
			cause = "`" + causes + "`"
		}
		fmt.Fprintf(&rows, "| %s | %s | `%s` |\n", loss.What, cause, s.Name)
	}
	return rows.String()
}

// expectCausesPage holds docs/causes.md against this run, if it was of all scenarios.
func (r *results) expectCausesPage(t *testing.T) {
	t.Helper()
	page := causesHead
	for _, s := range slices.DeleteFunc(scenario.All(cluster.Newest), leftOut) {
		rows, ok := r.causes[nameOf(s)]
		if !ok {
			t.Logf("%s did not run, %s is not looked at", nameOf(s), causesPath)
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
		t.Errorf("%s is not what the run tells (%v): make lab-docs writes it. The run tells:\n%s", causesPath, err, page)
	}
}
