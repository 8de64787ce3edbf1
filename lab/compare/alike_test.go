package compare

import (
	"testing"

	"github.com/kubeflap/kubeflap/lab/truth"
)

func TestUnlike(t *testing.T) {
	const flips, down = `kubeflap_service_address_flips_total{to="ready"}`, `kubeflap_service_outage_seconds_total{class="unplanned",service="s"}`
	const deleted, unknown = lastLoss + `{cause="pod_deleted"}`, lastLoss + `{cause="unknown"}`
	for name, c := range map[string]struct {
		first, second truth.Counts
		want          int
	}{
		"the same":                         {truth.Counts{flips: 2}, truth.Counts{flips: 2}, 0},
		"another count":                    {truth.Counts{flips: 2}, truth.Counts{flips: 3}, 1},
		"0 or missing":                     {truth.Counts{flips: 0}, truth.Counts{}, 1},
		"times of two watchers":            {truth.Counts{down: 4}, truth.Counts{down: 5}, 0},
		"another time":                     {truth.Counts{down: 4}, truth.Counts{down: 9}, 1},
		"last loss seen later":             {truth.Counts{deleted: 100}, truth.Counts{deleted: 101.5}, 0},
		"last loss with another cause":     {truth.Counts{deleted: 100}, truth.Counts{unknown: 100}, 2},
		"watch metrics":                    {truth.Counts{`kubeflap_watch_events_total{}`: 1}, truth.Counts{}, 0},
		"metrics that compare two watches": {truth.Counts{`kubeflap_endpoints_propagation_seconds_count{}`: 1}, truth.Counts{}, 0},
		"values at the time of the scrape": {truth.Counts{`kubeflap_node_heartbeat_age_seconds{}`: 1}, truth.Counts{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Unlike(c.first, c.second); len(got) != c.want {
				t.Errorf("got %d differences, want %d:\n%s", len(got), c.want, Table(got))
			}
		})
	}
}
