package session

import (
	"testing"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/truth"
)

func TestLossesHaveTheirCause(t *testing.T) {
	of := func(metric, service, cause string) string {
		return truth.Series(metric, "namespace", "a", "service", service, "cause", cause)
	}
	s := scenario.Scenario{Causes: []scenario.Loss{{Service: "web", Cause: "pod_deleted"}, {Service: "calm"}}}
	for name, c := range map[string]struct {
		reported truth.Counts
		scenario scenario.Scenario
		ok       bool
	}{
		"the right one":                  {truth.Counts{of(lossesMetric, "web", "pod_deleted"): 2, of(lastLossMetric, "web", "pod_deleted"): 9}, s, true},
		"another last one":               {truth.Counts{of(lossesMetric, "web", "pod_deleted"): 2, of(lastLossMetric, "web", "unknown"): 9}, s, false},
		"of a Service that lost nothing": {truth.Counts{of(lossesMetric, "calm", "pod_deleted"): 1}, s, false},
		"none counted":                   {truth.Counts{of(lossesMetric, "web", "unknown"): 0}, s, true},
		"unknown, where none is defined": {truth.Counts{of(lossesMetric, "web", "unknown"): 1}, scenario.Scenario{}, false},
		"any, where none is defined":     {truth.Counts{of(lossesMetric, "web", "manual_write"): 1}, scenario.Scenario{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := lossesHaveCauses(c.reported, &c.scenario); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAllIncidentsMustBeToldAndNoOther(t *testing.T) {
	of := func(verdict, subject string) compare.Incident {
		return compare.Incident{State: "ongoing", Scope: "node", Verdict: verdict, Subject: subject, Remedy: "look", Considered: []compare.Considered{
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

func TestDelaysAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"pods=1.5s": "pods=1.5s", "pods=2s,endpoints=1s": "endpoints=1s,pods=2s",
		"pods": "", "pods=": "", "=1s": "", "": "", "pods=1": "",
	} {
		delays, err := ParseDelays(text)
		if (err == nil) != (want != "") || err == nil && delays.String() != want {
			t.Errorf("%q: got %v (error %v), want %q", text, delays, err, want)
		}
	}
}
