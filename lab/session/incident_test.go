package session

import (
	"testing"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/scenario"
)

func TestAllIncidentsMustBeToldAndNoOther(t *testing.T) {
	of := func(verdict, subject string) compare.Incident {
		return compare.Incident{State: "running", Scope: "node", Verdict: verdict, Subject: subject, Remedy: "look", Considered: []compare.Considered{
			{Verdict: "shared_path", Holds: "unknown", Because: "two together"}, {Verdict: verdict, Holds: "yes", Because: "alone"},
		}}
	}
	one := scenario.Report{Verdict: "node", Scope: "node", Subject: "node-1", Because: "alone", Remedy: "look"}
	open := scenario.Report{Verdict: "undecided", Scope: "node", Subject: "node-1", Because: "two together"}
	for name, c := range map[string]struct {
		reported []compare.Incident
		want     []scenario.Report
		repeats  bool
		ok       bool
	}{
		"the right one":             {[]compare.Incident{of("node", "node-1")}, []scenario.Report{one}, false, true},
		"twice":                     {[]compare.Incident{of("node", "node-1"), of("node", "node-1")}, []scenario.Report{one}, false, false},
		"twice, which may be":       {[]compare.Incident{of("node", "node-1"), of("node", "node-1")}, []scenario.Report{one}, true, true},
		"none":                      {nil, []scenario.Report{one}, false, false},
		"another verdict":           {[]compare.Incident{of("shared_path", "node-1")}, []scenario.Report{one}, false, false},
		"another node":              {[]compare.Incident{of("node", "node-2")}, []scenario.Report{one}, false, false},
		"undecided, with its facts": {[]compare.Incident{of("undecided", "node-1")}, []scenario.Report{open}, false, true},
		"an outdated fact":          {[]compare.Incident{of("node", "node-1")}, []scenario.Report{{Verdict: "node", Scope: "node", Subject: "node-1", Because: "two together"}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := sameAs(c.reported, c.want, c.repeats); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
