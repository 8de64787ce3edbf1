//go:build fleet

package fleet

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// These variables replace Grafana's variables by values.
var (
	filled   = strings.NewReplacer("$__interval", "1m", "$__range", "30m")
	variable = regexp.MustCompile(`=~"\$\w+"`)
)

// checkDashboard checks that each panel of the fleet dashboard has data with each querier. It also logs the number of
// series.
func (f *fleet) checkDashboard(t *testing.T) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, root+"/dashboards/fleet.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	panels := 0
	for _, c := range []*center{f.all, f.few} {
		for _, p := range dashboard.Panels {
			found := 0
			for _, q := range p.Targets {
				series, err := query(t.Context(), c.querier, variable.ReplaceAllString(filled.Replace(q.Expr), `=~".*"`))
				if err != nil {
					t.Errorf("%s: panel %q: %v", c.name, p.Title, err)
				}
				found += len(series)
			}
			if len(p.Targets) > 0 && found == 0 {
				t.Errorf("%s: panel %q has no data", c.name, p.Title)
			}
			panels += min(1, len(p.Targets))
		}
	}
	for _, c := range []*center{f.all, f.few} {
		for name := range f.clusters {
			series, err := query(t.Context(), c.querier, fmt.Sprintf(`{__name__=~".+", cluster=%q}`, name))
			if err != nil {
				t.Error(err)
			}
			t.Logf("%s: %d series from %s", c.name, len(series), name)
		}
	}
	if panels < 20 {
		t.Errorf("found only %d panels", panels)
	}
}
