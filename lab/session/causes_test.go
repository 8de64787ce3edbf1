package session

import (
	"testing"

	"github.com/kubeflap/kubeflap/lab/truth"
)

func TestTheLastLossHasOneCause(t *testing.T) {
	of := func(service, cause string) string {
		return truth.Series(lastLossMetric, "namespace", "a", "service", service, "cause", cause)
	}
	for name, c := range map[string]struct {
		reported truth.Counts
		ok       bool
	}{
		"the right one":                  {truth.Counts{of("web", "pod_deleted"): 9}, true},
		"another":                        {truth.Counts{of("web", "unknown"): 9}, false},
		"two":                            {truth.Counts{of("web", "pod_deleted"): 9, of("web", "unknown"): 8}, false},
		"none":                           {truth.Counts{}, false},
		"of a Service that lost nothing": {truth.Counts{of("web", "pod_deleted"): 9, of("calm", "unknown"): 9}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := reportsLastLosses(c.reported, map[string]string{"web": "pod_deleted", "calm": ""})
			if (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
