package web

import (
	"encoding/json"
	"errors"
	"html"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// answer is a request with the expected response.
type answer struct {
	name     string
	clusters []Cluster
	// path begins with ? for the page, and with @ for the API.
	path string
	// status is 200 if it is 0.
	status int
	// The response contains each text of want, or n times the text after "n* ", and none of wantNot.
	want, wantNot []string
}

func checkAnswers(t *testing.T, all []answer) {
	t.Helper()
	for _, c := range all {
		path := c.path
		switch {
		case path == "" || path[0] == '?':
			path = "/flaps" + path
		case path[0] == '@':
			path = api.Path + path[1:]
		}
		response, body := get(t, serverOf(t, c.clusters...), path, nil)
		text := strings.ReplaceAll(html.UnescapeString(body), `\"`, `"`)
		if want := max(c.status, 200); response.StatusCode != want {
			t.Errorf("%s: %s has status %d, want %d", c.name, path, response.StatusCode, want)
		}
		for _, want := range c.want {
			n, times := 0, false
			if before, after, found := strings.Cut(want, "* "); found {
				i, err := strconv.Atoi(before)
				if times = err == nil; times {
					n, want = i, after
				}
			}
			if got := strings.Count(text, want); got == 0 || times && got != n {
				t.Errorf("%s: %s has %q %d times:\n%s", c.name, path, want, got, text)
			}
		}
		for _, wrong := range c.wantNot {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: %s has %q:\n%s", c.name, path, wrong, text)
			}
		}
	}
}

// gapsOf returns a cluster without incidents, whose kubeflap was restarted and has gaps in its coverage.
func gapsOf(name string) Cluster {
	return but(clusterOf(name, correlate.New(1), at(7200)), func(s *State) {
		s.Started = at(3600)
		s.Coverage.Gaps = []watches.Gap{
			{Resources: []string{"nodes", "leases", "pods", "services", "endpointslices", "endpoints"}, From: at(3000), To: at(3600), Reason: event.ReasonNotRunning},
			{Resources: []string{"leases"}, From: at(7190), Reason: "timeout"},
		}
	})
}

func brokenWatches(reason event.Reason, since float64, kinds ...event.Kind) []watches.Watch {
	var all []watches.Watch
	for _, k := range kinds {
		all = append(all, watches.Watch{Resource: k, Synced: true, Since: at(since), Reason: reason})
	}
	return all
}

func named(c Cluster, name string) Cluster {
	c.Name = name
	return c
}

func recorder(status flightrecorder.Status) []Cluster {
	return []Cluster{but(clusterOf("", correlate.New(1), at(60)), func(s *State) { s.Recorder = &status })}
}

func TestCoverage(t *testing.T) {
	whole, gaps := clusterOf("", correlate.New(1), at(60)), []Cluster{gapsOf("")}
	two := []Cluster{gapsOf("one"), clusterOf("two", correlate.New(1), at(60))}
	many := []Cluster{but(whole, func(s *State) {
		for n := range 200 {
			i := float64(n)
			s.Coverage.Gaps = append(s.Coverage.Gaps, watches.Gap{Resources: []string{"leases"}, From: at(10 * i), To: at(10*i + 5), Reason: "timeout"})
		}
	})}
	checkAnswers(t, []answer{
		{"many gaps", many, "", 0, []string{"20* May miss: late", "from 2026-03-01 12:33:10 UTC", "Only the JSON document lists 180 earlier gaps."}, nil},
		{"many gaps in the API", many, "@", 0, []string{`200* "may_miss"`}, nil},
		{"no gap", []Cluster{whole}, "", 0, []string{
			"<h2>No incidents</h2>", "Nothing has lost readiness since 2026-03-01 12:00:00 UTC", "Watched since 2026-03-01 12:00:00 UTC, without a gap. Earlier changes are unknown.",
		}, []string{"May miss", `role="alert"`}},
		{"nothing is not watched", []Cluster{whole}, "@", 0, []string{`"not_watched": []`, `"gaps": []`}, nil},
		{"a restart", []Cluster{but(whole, func(s *State) { s.Started = at(30) })}, "", 0, []string{"Watched since 2026-03-01 12:00:00 UTC, without a gap.</p>"}, []string{"Earlier changes are unknown"}},
		{"gaps", gaps, "", 0, []string{
			"and apart from the gaps below", "Watched since 2026-03-01 12:00:00 UTC, with gaps.",
			"Not watched: nodes, leases, pods, services, endpointslices, endpoints from 2026-03-01 12:50:00 UTC to 2026-03-01 13:00:00 UTC, for 10m (kubeflap was not running). May miss: changes that were reverted",
			"Not watched: leases since 2026-03-01 13:59:50 UTC (timeout). May miss: late and missed heartbeats.",
		}, []string{"What happened before is not known"}},
		{"a period in a gap", gaps, "?from=2026-03-01T12:55:00Z&to=2026-03-01T12:56:00Z", 0, []string{
			"<h2>No incident matches, but kubeflap did not see everything</h2>", "kubeflap was not running",
		}, []string{"timeout"}},
		{"a period without a gap", gaps, "?from=2026-03-01T12:10:00Z&to=2026-03-01T12:20:00Z", 0, []string{"<h2>No incident matches</h2>"}, []string{"May miss"}},
		{"a period that has not begun", []Cluster{whole}, "?from=2026-03-01T13:00:00Z", 0, []string{
			"<h2>The period is in the future</h2>", "The period begins after the current time, 2026-03-01 12:01:00 UTC.",
		}, []string{"No incident matches"}},
		{"a period before", []Cluster{whole}, "?from=2026-03-01T11:00:00Z", 0, []string{
			"<h2>No incident matches, but kubeflap did not see everything</h2>", "The period begins before kubeflap started watching.",
		}, nil},
		{"several clusters have no common beginning", two, "", 0, []string{"Not watched: leases in one since"}, []string{"Watched since", "Earlier changes are unknown"}},
		{"one of several clusters", two, "?cluster=two", 0, []string{"Watched since 2026-03-01 12:00:00 UTC, without a gap."}, []string{"Not watched: leases in one"}},
		{"gaps in the API", two, "@", 0, []string{`2* "may_miss"`, `"cluster": "one"`, `"to": null`, `"since": "2026-03-01T12:00:00Z"`}, nil},
		{"gaps of a cluster", two, "@?cluster=one", 0, []string{`2* "may_miss"`}, nil},
		{"no gaps of another", two, "@?cluster=two", 0, []string{`"gaps": []`}, nil},
		{"gaps before", two, "@?to=2026-03-01T13:30:00Z", 0, []string{`1* "may_miss"`, "kubeflap was not running"}, nil},
		{"gaps after", two, "@?from=2026-03-01T13:30:00Z", 0, []string{`1* "may_miss"`, "timeout"}, nil},
		{"a recorder that fails", recorder(flightrecorder.Status{Since: at(30), Err: errors.New("no space left on device"), Lost: 7, Gaps: 1}), "", 0, []string{
			"<strong>Not recorded</strong> since 2026-03-01 12:00:30 UTC: no space left on device. Replays will have a gap",
		}, nil},
		{"in the API", recorder(flightrecorder.Status{Since: at(30), Err: errors.New("no space left on device"), Lost: 7, Gaps: 1}), "@", 0, []string{
			`"recording": false`, `"since": "2026-03-01T12:00:30Z"`, `"reason": "no space left on device"`, `"oldest": null`, `"events_lost": 7`, `"gaps": 1`,
		}, nil},
		{"a recorder that failed", recorder(flightrecorder.Status{Recording: true, Since: at(50), Lost: 7, Gaps: 1}), "", 0, []string{"7 events are missing in the recordings"}, nil},
		{"a recorder that works", recorder(flightrecorder.Status{Recording: true, Since: at(50)}), "", 0, nil, []string{"recorded"}},
	})
}

// TestDroppedAndLostIncidentsAreNoAllClear checks that lists that lack older incidents say so, unless none of these can
// belong to the period of the list.
func TestDroppedAndLostIncidentsAreNoAllClear(t *testing.T) {
	const count, until = "kubeflap has dropped 412 older incidents", "2026-03-01 13:00:00 UTC are kept"
	const lostUntil, hint = "Incidents until 2026-03-01 13:00:00 UTC may be missing", "run kubeflap incidents with its --data.dir directory."
	web := clusterOf("", lostNode("web"), at(7200))
	dropped := but(web, func(s *State) {
		s.Displaced = incident.Displaced{Dropped: 412, DroppedUntil: phrase.Time{Time: at(3600)}}
	})
	lose := func(s *State) { s.LostUntil = at(3600) }
	one, lost, empty := []Cluster{dropped}, []Cluster{but(web, lose)}, []Cluster{but(clusterOf("", correlate.New(1), at(7200)), lose)}
	two := []Cluster{gapsOf("one"), named(dropped, "two"), named(lost[0], "three")}
	none, perhaps := "<h2>No incident matches</h2>", "No incident matches, but older incidents are missing"
	checkAnswers(t, []answer{
		{"dropped", one, "", 0, []string{count, until}, []string{"in all<"}},
		{"dropped, another node", one, "?node=nowhere", 0, []string{perhaps, count, until}, []string{none}},
		{"dropped, a node", one, "?node=node-1", 0, []string{"1 found", " · older incidents are missing", count}, nil},
		{"dropped before the period", one, "?from=2026-03-01T13:30:00Z&node=nowhere", 0, []string{none}, []string{count}},
		{"dropped in the period", one, "?from=2026-03-01T13:00:00Z&node=nowhere", 0, []string{perhaps, count}, nil},
		{"dropped, an ID", one, "?id=gone", 404, []string{"kubeflap keeps the newest incidents. " + count}, []string{"newest incidents, since"}},
		{"lost", empty, "", 0, []string{"No incidents are known, but older incidents are missing", lostUntil, hint}, []string{"<h2>No incidents</h2>", "Nothing has lost readiness since"}},
		{"lost, another node", empty, "?node=nowhere", 0, []string{perhaps, lostUntil}, nil},
		{"lost before the period", empty, "?from=2026-03-01T13:30:00Z", 0, []string{none}, []string{lostUntil}},
		{"lost, an ID", empty, "?id=gone", 404, []string{lostUntil}, nil},
		{"one is left", lost, "", 0, []string{lostUntil}, []string{"in all<"}},
		{"one is left, its node", lost, "?node=node-1", 0, []string{"1 found", " · older incidents are missing", lostUntil}, nil},
		{"the API", two, "@", 0, []string{`"incidents_dropped": 412`, `"incidents_dropped_until": "2026-03-01T13:00:00Z"`, `"incidents_lost_until": "2026-03-01T13:00:00Z"`}, nil},
		{"the API, another cluster", two, "@?cluster=one", 0, nil, []string{"incidents_dropped", "incidents_lost_until"}},
	})
}

func TestWhatIsNotWatched(t *testing.T) {
	blind := append(brokenWatches("connection refused", 10, event.KindNode, event.KindLease), brokenWatches("forbidden", 0, event.KindPod)...)
	two := []Cluster{
		clusterOf("one", correlate.New(1), at(60), brokenWatches("timeout", 10, event.KindLease)...),
		clusterOf("two", correlate.New(1), at(60), watches.Watch{Resource: event.KindPod, Reason: "not listed yet"}),
	}
	all := []answer{
		{"two clusters", two, "", 0, []string{"does not watch leases in one since 2026-03-01 12:00:10 UTC (timeout); pods in two (not listed yet), so"}, nil},
		{"one of them", two, "?cluster=two", 0, []string{"does not watch pods in two (not listed yet), so"}, nil},
		{"two clusters", two, "@", 0, []string{`"cluster": "one"`, `"resource": "leases"`, `"since": "2026-03-01T12:00:10Z"`, `"reason": "timeout"`, `2* "resource"`}, nil},
		{"one of them", two, "@?cluster=two&id=x", 0, []string{`1* "resource"`, `"cluster": "two"`, `"resource": "pods"`, `"since": null`}, nil},
		// Links in dashboards and alerts contain a name that a kubeflap for a single cluster does not know.
		{"an unnamed cluster has any name", []Cluster{clusterOf("", lostNode("web"), at(60), blind...)}, "@?cluster=eu&node=node-1", 0, []string{`1* "id": `, `1* "resource": "leases"`}, nil},
	}
	for name, log := range map[string]*correlate.Log{"no incident": correlate.New(1), "an incident": lostNode("web")} {
		for query, status := range map[string]int{"": 0, "?node=nowhere": 0, "?id=gone": 404} {
			all = append(all, answer{name, []Cluster{clusterOf("", log, at(60), blind...)}, query, status, []string{
				`role="alert"`, "kubeflap does not see everything",
				"kubeflap does not watch nodes, leases since 2026-03-01 12:00:10 UTC (connection refused); pods since 2026-03-01 12:00:00 UTC (forbidden), so incidents may be missing.",
			}, []string{"<h2>No incidents</h2>", "<h2>No incident matches</h2>"}})
		}
	}
	checkAnswers(t, all)
}

func TestOneIncident(t *testing.T) {
	log := lostNode("web")
	id := "?id=" + log.Incidents(at(60))[0].ID
	one, none := clusterOf("", log, at(60)), clusterOf("", correlate.New(1), at(0))
	checkAnswers(t, []answer{
		{"its evidence", []Cluster{one}, id, 0, []string{
			"<h3>First step</h3>", ">Evidence</summary>", "node-1: no heartbeat for 40s (the whole grace period)", "shop/web has no ready address left", "<h3>Verdict: the node or its kubelet</h3>", "node_heartbeat_lost", `<rect class="bar outage"`, "<svg", "Other grace periods",
		}, []string{"/api/v1/recording"}},
		{"an unknown ID", []Cluster{none}, "?id=gone", 404, []string{"There is no incident with this ID"}, nil},
		{"before a replay begins", []Cluster{{Recorded: true, Read: clusterOf("", correlate.New(1), time.Time{}).Read}}, "", 0, []string{"No incidents"}, []string{"0001"}},
	})
	one.downloads = true
	view, _ := answerTo([]Cluster{one}, id[1:])
	if got, want := view.One.Recording(), "/api/v1/recording?from=2026-03-01T11%3A50%3A40Z"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOngoingIncidents covers the title, times and states in live clusters and replays.
func TestOngoingIncidents(t *testing.T) {
	blind := brokenWatches("timeout", 0, event.KindPod)
	live, replayed := []Cluster{several(false)}, []Cluster{several(true)}
	all := live[0].Read().Incidents
	const now = "as of 2026-03-01 13:40:00 UTC"
	checkAnswers(t, []answer{
		{"nothing", []Cluster{clusterOf("", correlate.New(1), at(60))}, "", 0, []string{"<title>Incidents · kubeflap</title>"}, nil},
		{"another node", live, "?node=nowhere", 0, []string{"<title>(1) Incidents · kubeflap</title>"}, nil},
		{"another name", live, "?cluster=eu&state=resolved", 0, []string{"<title>(1) Incidents · kubeflap</title>"}, nil},
		{"one that ended", live, "?id=" + all[len(all)-1].ID, 0, []string{"<title>(1) StatefulSet shop/web0 · kubeflap</title>"}, nil},
		{"blind", []Cluster{clusterOf("", correlate.New(1), at(60), blind...)}, "", 0, []string{"<title>(blind) Incidents · kubeflap</title>"}, nil},
		{"blind, and one runs", []Cluster{clusterOf("", lostNode("web"), at(60), blind...)}, "", 0, []string{"<title>(1, blind) node node-1 · kubeflap</title>"}, nil},
		{"one of many", live, "", 0, []string{"<title>(1) Incidents · kubeflap</title>", "2026-03-01 12:00:40", "for 1h39m so far", now}, nil},
		{"a single one", live, "?state=ongoing", 0, []string{"<title>(1) node node-1 · kubeflap</title>", "2026-03-01 12:00:40", "for 1h39m so far", now}, nil},
		{"ended ones", live, "?state=resolved", 0, []string{"<title>(1) Incidents · kubeflap</title>", `· <span id="asof">` + now}, nil},
		{"a replay", replayed, "", 0, []string{
			"<title>(1) Incidents", `<strong class="state">1 ongoing</strong></span>, 120 in all`, "2026-03-01 12:00:40", "for 1h39m so far", "replay: " + now,
		}, []string{" ago"}},
		{"a replay, ended ones", replayed, "?state=resolved", 0, []string{"<small>after ", "replay: " + now}, []string{" ago"}},
	})
}

// TestGracePeriods checks that the page of an incident about heartbeats shows the same table as the API.
func TestGracePeriods(t *testing.T) {
	two := []Cluster{clusterOf("one", lostNode("web"), at(60)), clusterOf("two", lostNode("api"), at(60))}
	_, body := get(t, serverOf(t, two...), api.Path+"?cluster=two", nil)
	var document api.Answer
	if err := json.Unmarshal([]byte(body), &document); err != nil || len(document.GracePeriods) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	table := document.GracePeriods[0]
	if table.Cluster != "two" || len(table.Rows) != 8 || table.Rows[2].Silences != (controlplane.Range{AtLeast: 1, AtMost: 1}) || table.Rows[3].Silences != (controlplane.Range{}) {
		t.Errorf("%+v", table)
	}
	unknown := but(clusterOf("", lostNode("web"), at(60)), func(s *State) {
		s.GracePeriods = controlplane.Table{Rows: []controlplane.Row{}, Notes: advice.NotesOn(&controlplane.Table{}, advice.GracePeriod{Period: time.Minute})}
	})
	checkAnswers(t, []answer{
		{"a list", two, "", 0, nil, []string{"Other grace periods"}},
		{"an incident", two, "?cluster=two", 0, append(table.Notes, ">Other grace periods</summary>", "all silences since 2026-03-01 12:00:00 UTC",
			`<tr><th scope="row">40s</th><td>1</td><td>1</td><td>45s</td></tr>`, `<tr><th scope="row">50s</th><td>0</td><td>0</td><td>55s</td></tr>`), nil},
		{"without heartbeats", []Cluster{unknown}, "", 0, []string{"kubeflap cannot see the heartbeats of nodes"}, []string{"Dead node"}},
	})
}

func TestBadParametersAreOneClear400(t *testing.T) {
	two := []Cluster{clusterOf("one", lostNode("web"), at(60)), clusterOf("two", lostNode("api"), at(60))}
	unlisted := []Cluster{{Advice: func() (report.Report, error) { return report.Report{}, errors.New("the list of pods is not complete") }}}
	all := []answer{
		{"no advice before the first lists", unlisted, api.AdvicePath, 503, []string{`"error": "the list of pods is not complete"`}, nil},
		{"no parameter of the advice", unlisted, api.AdvicePath + "?node=x", 400, []string{`"error": "unknown parameter`}, nil},
		{"an empty parameter", two, "?cluster=", 0, []string{"2 in all"}, nil},
	}
	for name, c := range map[string]struct{ query, says string }{
		"mistyped":                 {"srevice=web", "nknown parameter"},
		"twice":                    {"node=a&node=b", "arameter node occurs 2 times"},
		"no cause":                 {"cause=magic", "is not one of unknown, node_heartbeat_lost"},
		"no time":                  {"from=yesterday", "is not a time such as"},
		"not a time with 2 points": {"at=1.2.3", "arameter at"},
		"backwards":                {"from=20&to=10", `arameter "to" is before "from"`},
		"no escape":                {"node=a&namespace=%zz", `alformed query: `},
		"a semicolon":              {"service=shop;a", `alformed query: invalid semicolon`},
		"no escape in a name":      {"%zz=a", `alformed query: `},
		"no state":                 {"state=broken", `arameter state: "broken" is not one of ongoing, pending, recovered, resolved, withdrawn`},
		"no verdict":               {"verdict=me", `arameter verdict: "me" is not one of undecided, node, node_rebooted`},
		"a mistyped cluster":       {"cluster=tow", `arameter cluster: "tow" is not one of one, two`},
	} {
		all = append(all, answer{name, two, "?" + c.query, 400, []string{c.says}, nil}, answer{name, two, "@?" + c.query, 400, []string{c.says}, nil})
	}
	checkAnswers(t, all)
}
