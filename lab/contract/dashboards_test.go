package contract

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard has the fields of Grafana's classic dashboard schema that the tests use.
type dashboard struct {
	File string `json:"-"`

	UID, Title, Description, Refresh, Timezone string
	Inputs                                     []input   `json:"__inputs"`
	Requires                                   []require `json:"__requires"`
	Editable                                   bool
	GraphTooltip                               int
	SchemaVersion                              int
	Tags                                       []string
	Links                                      []link
	Panels                                     []panel
	Annotations                                struct{ List []annotation }
	Templating                                 struct{ List []variable }
}

type input struct{ Name, Label, Description, Type, PluginID, Value string }

type require struct{ Type, ID, Name string }

type link struct {
	Type, URL             string
	Tags                  []string
	KeepTime, IncludeVars bool
}

type annotation struct {
	Name, Expr, TextFormat string
	Datasource             datasource
}

type variable struct {
	Name, Type, Query string
	Current           struct{ Value any }
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               datasource
	Targets                  []target
	FieldConfig              struct {
		Defaults  fieldDefaults
		Overrides []override
	}
	Options struct {
		SortBy []struct {
			DisplayName string
			Desc        bool
		}
	}
}

type fieldDefaults struct {
	Mappings   []any
	Thresholds any
	Links      []link
}

type override struct {
	Matcher    struct{ Options string }
	Properties []struct {
		ID    string
		Value any
	}
}

type target struct {
	RefID, Expr, LegendFormat, Format string
	Instant                           bool
	Datasource                        datasource
}

type datasource struct{ Type, UID string }

// fleetUID is the UID of the dashboard of recorded series. These series have no target labels and no incident labels.
const fleetUID = "kubeflap-fleet"

// dashboards reads the shipped dashboards.
func dashboards(t *testing.T) []dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Root, "dashboards", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	var all []dashboard
	for _, file := range files {
		d := dashboard{File: filepath.Base(file)}
		if err := json.Unmarshal([]byte(readFile(t, "dashboards/"+d.File)), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, d)
	}
	return all
}

// Alerts, runbooks and the chart refer to dashboards by these file names and UIDs.
func TestDashboardsHaveFixedIdentities(t *testing.T) {
	want := map[string]string{
		"fleet.json": fleetUID, "kubeflap.json": "kubeflap-self", "node.json": "kubeflap-node", "overview.json": "kubeflap-overview", "service.json": "kubeflap-service",
	}
	is := map[string]string{}
	for _, d := range dashboards(t) {
		is[d.File] = d.UID
		if d.Editable || d.Title == "" || d.Description == "" || d.Refresh != "30s" || d.Timezone != "utc" || d.GraphTooltip != 1 || !slices.Equal(d.Tags, []string{"kubeflap"}) {
			t.Errorf("%s: unexpected title, description, refresh, time zone, shared crosshair or tag", d.File)
		}
		if d.SchemaVersion < 39 || d.SchemaVersion > 41 {
			t.Errorf("%s: unexpected schemaVersion %d", d.File, d.SchemaVersion)
		}
	}
	for file, uid := range want {
		if is[file] != uid {
			t.Errorf("%s: uid is %q, want %q", file, is[file], uid)
		}
	}
	if len(is) != len(want) {
		t.Errorf("got %d dashboards, want %d", len(is), len(want))
	}
}

func TestDashboardsAreListedInTheDocs(t *testing.T) {
	page := readFile(t, "docs/dashboards.md")
	for _, d := range dashboards(t) {
		for _, s := range []string{"dashboards/" + d.File, d.UID, d.Title} {
			if !strings.Contains(page, "`"+s+"`") {
				t.Errorf("docs/dashboards.md does not mention `%s`", s)
			}
		}
	}
}

// A link in a table must select the cluster of its row, because the dashboard may show several clusters.
func TestLinksLeadSomewhere(t *testing.T) {
	var (
		toDashboard = regexp.MustCompile(`^/d/([a-z-]+)\?\$\{__url_time_range\}&\$\{datasource:queryparam\}&var-cluster=\$\{(__field\.labels|__data\.fields)\.cluster\}(&var-(node|namespace|service)=\$\{(__field\.labels|__data\.fields)\.\w+\})*$`)
		toRow       = regexp.MustCompile(`^\$\{page\}/flaps\?cluster=\$\{(__field\.labels|__data\.fields)\.cluster\}(&(namespace|service|node|id|from|to)=\$\{[\w.:]+\})+$`)
		toPage      = regexp.MustCompile(`^\$\{page\}/flaps(\?((namespace|service|node|from|to)=\$\{[\w.:]+\}&?)+)?$`)
	)
	all := dashboards(t)
	uids := map[string]bool{}
	for _, d := range all {
		uids[d.UID] = true
	}
	for _, d := range all {
		if first := d.Links[0]; first.Type != "dashboards" || !slices.Equal(first.Tags, []string{"kubeflap"}) || !first.KeepTime || !first.IncludeVars {
			t.Errorf("%s: the first link is not the menu of dashboards that keeps the time range and the variables", d.File)
		}
		for _, l := range d.Links[1:] {
			if !toPage.MatchString(l.URL) {
				t.Errorf("%s: link %s does not point to the page", d.File, l.URL)
			}
		}
		for _, l := range linksOf(t, d) {
			match := toDashboard.FindStringSubmatch(l.URL)
			if !toRow.MatchString(l.URL) && (match == nil || !uids[match[1]]) {
				t.Errorf("%s: link %s points neither to a dashboard nor to the page, or not with its row's cluster", d.File, l.URL)
			}
		}
	}
}

// Dashboards have an annotation at the start of each incident. The dashboards of kubeflap itself and of recorded series
// do not have this annotation.
func TestIncidentsAreAnnotations(t *testing.T) {
	const start = "max by (cluster, id, scope, namespace, subject, verdict) (kubeflap_incident_start_timestamp_seconds{"
	for _, d := range dashboards(t) {
		found := slices.ContainsFunc(d.Annotations.List, func(a annotation) bool { return strings.HasPrefix(a.Expr, start) })
		if found != (d.UID != "kubeflap-self" && d.UID != fleetUID) {
			t.Errorf("%s: has an incident annotation: %v", d.File, found)
		}
	}
}

// linksOf returns all links in the fields of a dashboard's panels.
func linksOf(t *testing.T, d dashboard) []link {
	t.Helper()
	var all []link
	for _, p := range d.Panels {
		all = append(all, p.FieldConfig.Defaults.Links...)
		for _, o := range p.FieldConfig.Overrides {
			for _, property := range o.Properties {
				if property.ID != "links" {
					continue
				}
				var some []link
				must(t, json.Unmarshal([]byte(asJSON(t, property.Value)), &some))
				all = append(all, some...)
			}
		}
	}
	return all
}
