package session

import (
	"testing"

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
