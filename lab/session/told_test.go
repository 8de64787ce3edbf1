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
	one := scenario.Told{Verdict: "node", Scope: "node", Subject: "node-1", Because: "alone", Remedy: "look"}
	open := scenario.Told{Verdict: "undecided", Scope: "node", Subject: "node-1", Because: "two together"}
	for name, c := range map[string]struct {
		told []compare.Incident
		want []scenario.Told
		ok   bool
	}{
		"the right one":             {[]compare.Incident{of("node", "node-1")}, []scenario.Told{one}, true},
		"twice":                     {[]compare.Incident{of("node", "node-1"), of("node", "node-1")}, []scenario.Told{one}, false},
		"none":                      {nil, []scenario.Told{one}, false},
		"another verdict":           {[]compare.Incident{of("shared_path", "node-1")}, []scenario.Told{one}, false},
		"another node":              {[]compare.Incident{of("node", "node-2")}, []scenario.Told{one}, false},
		"undecided, with its facts": {[]compare.Incident{of("undecided", "node-1")}, []scenario.Told{open}, true},
		"an outdated fact":          {[]compare.Incident{of("node", "node-1")}, []scenario.Told{{Verdict: "node", Scope: "node", Subject: "node-1", Because: "two together"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := sameAs(c.told, c.want); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
