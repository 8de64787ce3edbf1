package contract

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// An import asks for the data source and for kubeflap's address. It replaces ${NAME} of each input.
func TestDashboardsCanBePublished(t *testing.T) {
	placeholder := regexp.MustCompile(`\$\{([A-Z_]+)\}`)
	for _, d := range dashboards(t) {
		text := readFile(t, "dashboards/"+d.File)
		inputs := map[string]bool{}
		for _, i := range d.Inputs {
			inputs[i.Name] = true
			if !strings.Contains(text, "${"+i.Name+"}") || i.Label == "" || i.Description == "" || (i.Type == "datasource") != (i.PluginID == "prometheus") || (i.Type == "constant") != (i.Value != "") {
				t.Errorf("%s: unexpected input %+v", d.File, i)
			}
		}
		for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
			if !inputs[match[1]] {
				t.Errorf("%s: no input for %s", d.File, match[0])
			}
		}
		requires, want := map[string]bool{}, map[string]bool{"grafana grafana": true, "datasource prometheus": true}
		for _, r := range d.Requires {
			requires[r.Type+" "+r.ID] = r.Name != ""
		}
		for _, p := range d.Panels {
			if p.Type != "row" {
				want["panel "+p.Type] = true
			}
		}
		if fmt.Sprint(requires) != fmt.Sprint(want) {
			t.Errorf("%s: __requires has %v, want %v", d.File, requires, want)
		}
	}
}

// kubeflap's address is a variable, so that one setting changes all links.
func TestAddressOfThePageIsAVariable(t *testing.T) {
	for _, d := range dashboards(t) {
		text := readFile(t, "dashboards/"+d.File)
		found := slices.ContainsFunc(d.Templating.List, func(v variable) bool {
			return v.Name == "page" && v.Type == "constant" && v.Query == "${VAR_PAGE}" && v.Current.Value == v.Query
		})
		if found != strings.Contains(text, "${page}/flaps") || strings.Count(text, "kubeflap.example.org") > 1 {
			t.Errorf("%s: has the variable page: %v", d.File, found)
		}
	}
}

// Somebody who is paged reads the queries.
func TestQueriesAreShort(t *testing.T) {
	for _, d := range dashboards(t) {
		eachTarget(t, d, func(_ panel, q target, _ parser.Expr) error {
			lines := strings.Split(q.Expr, "\n")
			if len(lines) > 8 {
				return fmt.Errorf("%d lines, want at most 8", len(lines))
			}
			for _, line := range lines {
				if len(line) > 250 {
					return fmt.Errorf("a line of %d characters: %s", len(line), line)
				}
			}
			return nil
		})
	}
}

// calm matches the names of what was announced, intended, or not caused by anybody.
var calm = regexp.MustCompile(`planned|rollout|scaled_to_zero|found|expected|departing|deleted`)

// red matches all shades of red.
var red = regexp.MustCompile(`red|#[c-f][0-9a-f][0-4]`)

// classified matches the selectors of series with the label class.
var classified = regexp.MustCompile(`\w*_(outage_start_timestamp_seconds|outages_total|outage_seconds_total|addresses_lost_total|unready_total|unready_seconds_total|silence_start_timestamp_seconds|services_in_outage:count|addresses_lost:increase1m)(\{[^}]*\})`)

// A panel with red must only show what is unplanned in red: its queries select it, or an override has another colour for
// the rest.
func TestRedIsUnplanned(t *testing.T) {
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			checkMapped(t, d, p, p.FieldConfig.Defaults.Mappings)
			var overridden []*regexp.Regexp
			for _, o := range p.FieldConfig.Overrides {
				name := regexp.MustCompile(strings.Trim(o.Matcher.Options, "/"))
				for _, property := range o.Properties {
					switch {
					case property.ID == "mappings":
						checkMapped(t, d, p, property.Value)
					case isCalm(name.String()) && red.MatchString(asJSON(t, property.Value)):
						t.Errorf("%s: panel %q shows %s in red", d.File, p.Title, name)
					case property.ID == "thresholds":
						overridden = append(overridden, name)
					}
				}
			}
			for _, q := range p.Targets {
				for _, match := range classified.FindAllStringSubmatch(q.Expr, -1) {
					if red.MatchString(asJSON(t, p.FieldConfig.Defaults.Thresholds)) && !strings.Contains(match[2], `class="unplanned"`) &&
						(!isCalm(q.LegendFormat) || !slices.ContainsFunc(overridden, func(o *regexp.Regexp) bool { return o.MatchString(q.LegendFormat) })) &&
						!strings.Contains(q.Expr, "unless on (cluster, namespace, service) "+match[0]) {
						t.Errorf("%s: panel %q, query %s: red, but %s is of any class", d.File, p.Title, q.RefID, match[0])
					}
				}
			}
		}
	}
}

func isCalm(name string) bool { return calm.MatchString(strings.ReplaceAll(name, "unplanned", "")) }

// Outages that nobody has to mend are many and old, so a table of outages must begin with the unplanned ones.
func TestUnplannedOutagesComeFirst(t *testing.T) {
	found := 0
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			if p.Type != "table" || !strings.Contains(p.Targets[0].Expr, "by (cluster, namespace, service, class)") {
				continue
			}
			found++
			if first := p.Options.SortBy[0]; first.DisplayName != "Class" || !first.Desc {
				t.Errorf("%s: panel %q is sorted by %+v", d.File, p.Title, first)
			}
		}
	}
	for c := range cause.NumClasses {
		if c.String() > cause.Unplanned.String() {
			t.Errorf("%s comes before the unplanned ones", c)
		}
	}
	if found == 0 {
		t.Error("there is no table of outages")
	}
}

// checkMapped checks the colours of states, and of columns of classes and verdicts.
func checkMapped(t *testing.T, d dashboard, p panel, value any) {
	t.Helper()
	var mappings []struct {
		Options map[string]struct{ Color, Text string }
	}
	must(t, json.Unmarshal([]byte(asJSON(t, value)), &mappings))
	for _, m := range mappings {
		for name, as := range m.Options {
			if isCalm(name+as.Text) && (as.Color == "" || red.MatchString(as.Color)) {
				t.Errorf("%s: panel %q shows %s %s in %q", d.File, p.Title, name, as.Text, as.Color)
			}
		}
	}
}

// Whoever sees a colour finds its meaning in the panel.
func TestLegendsNameTheClasses(t *testing.T) {
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				if q.LegendFormat == "{{class}}" && !strings.Contains(p.Description, "Red: unplanned.") {
					t.Errorf("%s: the description of panel %q does not explain the colours", d.File, p.Title)
				}
			}
		}
	}
}
