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
		truth, reported truth.Counts
		want            int
	}{
		"equal counts agree":                   {truth.Counts{flips: 2}, truth.Counts{flips: 2}, 0},
		"a count must be exact":                {truth.Counts{flips: 2}, truth.Counts{flips: 3}, 1},
		"a missing series is a difference":     {truth.Counts{flips: 0}, truth.Counts{}, 1},
		"an additional series is a difference": {truth.Counts{}, truth.Counts{flips: 0}, 1},
		"other metrics are ignored":            {truth.Counts{}, truth.Counts{"go_goroutines": 9}, 0},
		"a time may differ slightly":           {truth.Counts{age: 1}, truth.Counts{age: 2.5}, 0},
		"a time must not differ much":          {truth.Counts{age: 1}, truth.Counts{age: 3.5}, 1},
		"resets of 0 may be missing":           {truth.Counts{resets: 0}, truth.Counts{}, 0},
		"resets above 0 must be equal":         {truth.Counts{resets: 1}, truth.Counts{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Differences(c.truth, c.reported); len(got) != c.want {
				t.Errorf("got %d differences, want %d:\n%s", len(got), c.want, Table(got))
			}
		})
	}
}

func TestCountsAreComparedFromTheBase(t *testing.T) {
	const flips = `kubeflap_service_address_flips_total{namespace="a",service="s",to="ready"}`
	const ready = `kubeflap_service_addresses{namespace="a",service="s",state="ready"}`
	const longest = `kubeflap_node_heartbeat_interval_max_seconds{node="n"}`
	base := Base{
		Truth:    truth.Counts{flips: 1, ready: 4, longest: 2},
		Reported: truth.Counts{flips: 10, ready: 4, longest: 30},
	}
	want := base.expected(truth.Counts{flips: 3, ready: 2, longest: 11})
	reported := truth.Counts{flips: 12, ready: 2, longest: 30}
	if got := Differences(want, reported); len(got) > 0 {
		t.Errorf("unexpected differences:\n%s", Table(got))
	}
	reported[flips] = 13
	if got := Differences(want, reported); len(got) != 1 {
		t.Errorf("got %d differences, want one:\n%s", len(got), Table(got))
	}
}
