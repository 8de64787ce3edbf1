package compare

import (
	"testing"

	"github.com/kubeflap/kubeflap/lab/truth"
)

func TestDifferences(t *testing.T) {
	const flips = `kubeflap_service_address_flips_total{namespace="a",service="s",to="ready"}`
	const age = `kubeflap_node_heartbeat_age_seconds{node="n"}`
	const resets = `kubeflap_service_endpoints_resets_total{namespace="a",selector="true",service="s"}`
	for name, c := range map[string]struct {
		truth, told truth.Counts
		want        int
	}{
		"equal counts agree":              {truth.Counts{flips: 2}, truth.Counts{flips: 2}, 0},
		"a count is exact":                {truth.Counts{flips: 2}, truth.Counts{flips: 3}, 1},
		"a missing series is a fault":     {truth.Counts{flips: 0}, truth.Counts{}, 1},
		"a series too many is a fault":    {truth.Counts{}, truth.Counts{flips: 0}, 1},
		"other metrics are no business":   {truth.Counts{}, truth.Counts{"go_goroutines": 9}, 0},
		"a time may be a little off":      {truth.Counts{age: 1}, truth.Counts{age: 1.2}, 0},
		"a time may not be far off":       {truth.Counts{age: 1}, truth.Counts{age: 1.3}, 1},
		"resets at 0 may be missing":      {truth.Counts{resets: 0}, truth.Counts{}, 0},
		"resets above 0 must be the same": {truth.Counts{resets: 1}, truth.Counts{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Differences(c.truth, c.told); len(got) != c.want {
				t.Errorf("got %d differences, want %d:\n%s", len(got), c.want, Table(got))
			}
		})
	}
}
