package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// gapsOf returns a cluster without incidents, whose kubeflap was restarted and has gaps in its coverage.
func gapsOf(name string) Cluster {
	return but(clusterOf(name, correlate.New(1), at(7200)), func(s *State) {
		s.Started, s.Coverage.LeftOut = at(3600), 2
		s.Coverage.Gaps = []watches.Gap{
			{Resources: []string{"nodes", "leases", "pods", "services", "endpointslices", "endpoints"}, From: at(3000), To: at(3600), Reason: event.ReasonNotRunning},
			{Resources: []string{"leases"}, From: at(7190), Reason: "timeout"},
		}
	})
}

func TestTheEmptyPageSaysWhatWasCovered(t *testing.T) {
	page := func(c Cluster, query string) string {
		_, text := get(t, serverOf(t, c), "/flaps"+query, nil)
		return text
	}
	whole := clusterOf("", correlate.New(1), at(60))
	restarted := but(whole, func(s *State) { s.Started = at(30) })
	for _, test := range []struct {
		name, text    string
		want, wantNot []string
	}{
		{"no gap", page(whole, ""), []string{
			"Nothing has lost readiness since 2026-03-01 12:00:00 UTC", "Watched since 2026-03-01 12:00:00 UTC, without a gap. Earlier changes are unknown.",
		}, []string{"May miss"}},
		{"a restart", page(restarted, ""), []string{"Watched since 2026-03-01 12:00:00 UTC, without a gap.</p>"}, []string{"Earlier changes are unknown"}},
		{"gaps", page(gapsOf(""), ""), []string{
			"and apart from the gaps below", "Watched since 2026-03-01 12:00:00 UTC, with gaps.",
			"Not watched: nodes, leases, pods, services, endpointslices, endpoints from 2026-03-01 12:50:00 UTC to 2026-03-01 13:00:00 UTC, for 10m00s (kubeflap was not running). May miss: every change",
			"Not watched: leases since 2026-03-01 13:59:50 UTC (timeout). May miss: late and missed heartbeats.", "2 older gaps are left out.",
		}, []string{"What happened before is not known"}},
		{"a period in a gap", page(gapsOf(""), "?from=2026-03-01T12:55:00Z&to=2026-03-01T12:56:00Z"), []string{
			"<h2>No incident matches, but kubeflap did not see everything</h2>", "kubeflap was not running",
		}, []string{"timeout"}},
		{"a period without a gap", page(gapsOf(""), "?from=2026-03-01T12:10:00Z&to=2026-03-01T12:20:00Z"), []string{"<h2>No incident matches</h2>"}, []string{"May miss"}},
		{"a period that has not begun", page(whole, "?from=2026-03-01T13:00:00Z"), []string{
			"<h2>The period is in the future</h2>", "The period begins after the current time, 2026-03-01 12:01:00 UTC.",
		}, []string{"No incident matches"}},
		{"a period before", page(whole, "?from=2026-03-01T11:00:00Z"), []string{
			"<h2>No incident matches, but kubeflap did not see everything</h2>", "The period begins before kubeflap started watching.",
		}, nil},
	} {
		mustShow(t, test.name, test.text, test.want, test.wantNot)
	}
}

// The page and the API report a recorder that fails, and what is missing after it has recovered.
func TestARecorderThatFailsIsReported(t *testing.T) {
	status := flightrecorder.Status{Since: at(30), Err: errors.New("no space left on device"), Lost: 7, Gaps: 1}
	s := serverOf(t, but(clusterOf("", correlate.New(1), at(60)), func(s *State) { s.Recorder = &status }))
	for _, test := range []struct{ path, want string }{
		{"/flaps", "<strong>Not recorded</strong> since 2026-03-01 12:00:30 UTC: no space left on device. Replays will have a gap"},
		{"/api/v1/incidents", `"recorder": {"recording": false, "since": "2026-03-01T12:00:30Z", "reason": "no space left on device", "oldest": null, "events_lost": 7, "gaps": 1}`},
	} {
		if _, text := get(t, s, test.path, nil); !strings.Contains(strings.ReplaceAll(text, " ", ""), strings.ReplaceAll(test.want, " ", "")) &&
			!strings.Contains(strings.Join(strings.Fields(text), ""), strings.ReplaceAll(test.want, " ", "")) {
			t.Errorf("%s: %q is missing in\n%s", test.path, test.want, text)
		}
	}
	status = flightrecorder.Status{Recording: true, Since: at(50), Lost: 7, Gaps: 1}
	if _, text := get(t, s, "/flaps", nil); !strings.Contains(text, "7 events are missing in the recordings") {
		t.Errorf("the page does not report the gap:\n%s", text)
	}
	status = flightrecorder.Status{Recording: true, Since: at(50)}
	if _, text := get(t, s, "/flaps", nil); strings.Contains(text, "recorded") {
		t.Errorf("nothing is missing:\n%s", text)
	}
}

func TestGapsInTheAPI(t *testing.T) {
	s := serverOf(t, gapsOf("one"), clusterOf("two", correlate.New(1), at(60)))
	for query, want := range map[string]int{
		"": 2, "?cluster=one": 2, "?cluster=two": 0, "?to=2026-03-01T13:30:00Z": 1, "?from=2026-03-01T13:30:00Z": 1,
	} {
		_, text := get(t, s, "/api/v1/incidents"+query, nil)
		var answer api.Answer
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		c := answer.Coverage
		if len(c.Gaps) != want || c.Since == nil || !c.Since.Equal(at(0)) || c.Gaps == nil {
			t.Errorf("%q: got %+v, want %d gaps", query, c, want)
		}
		for _, g := range c.Gaps {
			if g.Cluster != "one" || g.MayMiss == "" || (g.To == nil) != (g.Reason == "timeout") {
				t.Errorf("%q: gap %+v", query, g)
			}
		}
	}
}

// TestThePageLinksToTheRecording checks that an incident's page links to its recording, with ten minutes on both sides,
// only if downloads are enabled.
func TestThePageLinksToTheRecording(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		c := clusterOf("", lostNode("web"), at(60))
		c.downloads = enabled
		all := cardsOf(t, c)
		if got := all[0].Recording(); enabled != (got == "/api/v1/recording?from=2026-03-01T11%3A50%3A40Z") || !enabled && got != "" {
			t.Errorf("enabled %v: link %q", enabled, got)
		}
	}
}

func cardsOf(t *testing.T, c Cluster) []clusterIncident {
	t.Helper()
	q, err := api.ParsePage("id=" + c.Read().Incidents[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	return viewOf([]Cluster{c}, q).Cards
}

// TestDroppedIncidentsAreNoAllClear checks that lists that lack older incidents say so, unless none of these can belong
// to the period of the list.
func TestDroppedIncidentsAreNoAllClear(t *testing.T) {
	dropped := but(clusterOf("", lostNode("web"), at(7200)), func(s *State) { s.Displaced = incident.Displaced{Count: 412, Until: at(3600)} })
	const count, until = "kubeflap has dropped 412 older incidents", "2026-03-01 13:00:00 UTC are kept"
	s := serverOf(t, dropped)
	for _, c := range []struct {
		query         string
		want, wantNot []string
	}{
		{"", []string{count, until}, []string{"in all<"}},
		{"?node=nowhere", []string{"No incident matches, but older incidents are missing", count, until}, []string{"<h2>No incident matches</h2>"}},
		{"?node=node-1", []string{"1 found", " · older incidents are missing", count}, nil},
		{"?from=2026-03-01T13:30:00Z&node=nowhere", []string{"<h2>No incident matches</h2>"}, []string{count}},
		{"?from=2026-03-01T13:00:00Z&node=nowhere", []string{"No incident matches, but older incidents are missing", count}, nil},
		{"?id=gone", []string{"kubeflap keeps the newest incidents. " + count}, []string{"newest incidents, since"}},
	} {
		_, page := get(t, s, "/flaps"+c.query, nil)
		mustShow(t, c.query, page, c.want, c.wantNot)
	}
	for _, c := range []struct {
		clusters []Cluster
		query    string
		want     int
	}{
		{[]Cluster{dropped}, "", 412},
		{[]Cluster{gapsOf("one"), named(dropped, "two")}, "", 412},
		{[]Cluster{gapsOf("one"), named(dropped, "two")}, "?cluster=one", 0},
	} {
		_, text := get(t, serverOf(t, c.clusters...), "/api/v1/incidents"+c.query, nil)
		var answer api.Answer
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		got := answer.Coverage
		if got.IncidentsDropped != c.want || (got.IncidentsDroppedUntil != nil) != (c.want > 0) || strings.Contains(text, "incidents_dropped") != (c.want > 0) {
			t.Errorf("%q: %+v, want %d", c.query, got, c.want)
		}
	}
}

// TestLostIncidentsAreNoAllClear checks that lists say that incidents of earlier processes were lost, unless none of
// these can belong to the period of the list.
func TestLostIncidentsAreNoAllClear(t *testing.T) {
	const until, hint = "Incidents until 2026-03-01 13:00:00 UTC may be missing", "run kubeflap incidents with its --data.dir directory."
	lost := func(s *State) { s.LostUntil = at(3600) }
	empty, one := but(clusterOf("", correlate.New(1), at(7200)), lost), but(clusterOf("", lostNode("web"), at(7200)), lost)
	for _, c := range []struct {
		cluster       Cluster
		query         string
		want, wantNot []string
	}{
		{empty, "", []string{"No incidents are known, but older incidents are missing", until, hint}, []string{"<h2>No incidents</h2>", "Nothing has lost readiness since"}},
		{empty, "?node=nowhere", []string{"No incident matches, but older incidents are missing", until}, nil},
		{empty, "?from=2026-03-01T13:30:00Z", []string{"<h2>No incident matches</h2>"}, []string{until}},
		{empty, "?id=gone", []string{until}, nil},
		{one, "", []string{until}, []string{"in all<"}},
		{one, "?node=node-1", []string{"1 found", " · older incidents are missing", until}, nil},
	} {
		_, page := get(t, serverOf(t, c.cluster), "/flaps"+c.query, nil)
		mustShow(t, c.query, page, c.want, c.wantNot)
	}
	for query, want := range map[string]bool{"": true, "?cluster=one": false} {
		_, text := get(t, serverOf(t, gapsOf("one"), named(one, "two")), "/api/v1/incidents"+query, nil)
		if strings.Contains(text, `"incidents_lost_until": "2026-03-01T13:00:00Z"`) != want {
			t.Errorf("%q: %s", query, text)
		}
	}
}

func named(c Cluster, name string) Cluster {
	c.Name = name
	return c
}

// TestAdviceBeforeTheFirstLists checks that there is no advice on a cluster that is not listed yet.
func TestAdviceBeforeTheFirstLists(t *testing.T) {
	unlisted := Cluster{Advice: func() (report.Report, error) { return report.Report{}, errors.New("the list of pods is not complete") }}
	for path, want := range map[string]int{api.AdvicePath: http.StatusServiceUnavailable, api.AdvicePath + "?node=x": http.StatusBadRequest} {
		if response, text := get(t, serverOf(t, unlisted), path, nil); response.StatusCode != want || !strings.Contains(text, `"error": `) {
			t.Errorf("%s: status %d, want %d: %s", path, response.StatusCode, want, text)
		}
	}
}
