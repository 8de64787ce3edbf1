package compare

import (
	"testing"

	"github.com/kubeflap/kubeflap/lab/truth"
)

// of holds the labels of a Service. The others are those of its lost addresses.
const (
	of        = `{namespace="a", service="s"}`
	unplanned = lossesByClass + `{class="unplanned", namespace="a", service="s"}`
	planned   = lossesByClass + `{class="planned", namespace="a", service="s"}`
	deleted   = `{cause="pod_deleted", namespace="a", service="s"}`
	unknown   = `{cause="unknown", namespace="a", service="s"}`
)

func TestDifferences(t *testing.T) {
	const flips = `kubeflap_service_address_flips_total{namespace="a", service="s", to="ready"}`
	const age = `kubeflap_node_heartbeat_age_seconds{node="n"}`
	const resets = `kubeflap_service_endpoints_resets_total{namespace="a", selector="true", service="s"}`
	lost := truth.Counts{truth.AddressesLost + of: 3, truth.LossesOfAnyCause + of: 3}
	none := truth.Counts{truth.AddressesLost + of: 0, truth.LossesOfAnyCause + of: 0}
	classed := func(byCause truth.Counts) truth.Counts {
		byCause[unplanned], byCause[planned] = 1, 2
		return byCause
	}
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

		"losses by two causes":             {lost, classed(truth.Counts{lossesByCause + deleted: 2, lossesByCause + unknown: 1}), 0},
		"one loss too many":                {lost, classed(truth.Counts{lossesByCause + deleted: 3, lossesByCause + unknown: 1}), 1},
		"no loss has its cause":            {lost, classed(truth.Counts{}), 1},
		"a class is not final":             {truth.Counts{truth.AddressesLost + of: 2}, truth.Counts{unplanned: 1}, 0},
		"all classes are final":            {truth.Counts{truth.AddressesLost + of: 2}, truth.Counts{unplanned: 2}, 0},
		"more losses than there were":      {truth.Counts{truth.AddressesLost + of: 2}, truth.Counts{unplanned: 3}, 1},
		"nothing was lost":                 {none, truth.Counts{unplanned: 0}, 0},
		"the counter of losses is missing": {none, truth.Counts{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			addLosses(c.reported)
			if got := Differences(c.truth, c.reported); len(got) != c.want {
				t.Errorf("got %d differences, want %d:\n%s", len(got), c.want, Table(got))
			}
		})
	}
}

func TestCountsAreComparedFromTheBase(t *testing.T) {
	const flips = `kubeflap_service_address_flips_total{namespace="a", service="s", to="ready"}`
	const ready = `kubeflap_service_addresses{namespace="a", service="s", state="ready"}`
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
