package web

import (
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// several returns a cluster with one running node incident and 119 ended workload incidents.
func several(recorded bool) Cluster {
	node, ended := lostNode("web").Incidents(at(60)), many(119).Incidents(at(6000))
	c := clusterWith(append(node, ended...), at(6000))
	c.Recorded = recorded
	return c
}

func TestTheTableHasAPageForEachFiftyIncidents(t *testing.T) {
	s := serverOf(t, several(false))
	seen := map[string]bool{}
	path := "/flaps?cause=&verdict="
	for _, want := range []int{50, 50, 20} {
		response, page := get(t, s, path, nil)
		if n := onPage(page); response.StatusCode != http.StatusOK || n != want {
			t.Errorf("%s has %d incidents, want %d", path, n, want)
		}
		for _, row := range regexp.MustCompile(`<tr role="row" class="\w+" id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
			if seen[row[1]] {
				t.Errorf("%s shows %s again", path, row[1])
			}
			seen[row[1]] = true
		}
		next := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(page)
		if (next == nil) != (want == 20) {
			t.Fatalf("%s: next page %v", path, next)
		}
		if next != nil {
			path = html.UnescapeString(next[1])
		}
	}
	response, page := get(t, s, "/flaps?page=4", nil)
	if response.StatusCode != http.StatusNotFound || !strings.Contains(page, "There is no page 4") || !strings.Contains(page, `href="/flaps?page=3"`) {
		t.Errorf("page 4 is answered with %s:\n%s", response.Status, page)
	}
}

// TestPageIsAParameterOfThePage checks that only /flaps accepts the parameter "page". The API lists all incidents.
func TestPageIsAParameterOfThePage(t *testing.T) {
	s := serverOf(t, several(false))
	for path, says := range map[string]string{
		"/api/v1/incidents?page=1": "unknown parameter", "/flaps?page=0": "Parameter page", "/flaps?page=x": "Parameter page", "/flaps?page=99999999999999999999": "Parameter page",
	} {
		if response, body := get(t, s, path, nil); response.StatusCode != http.StatusBadRequest || !strings.Contains(body, says) {
			t.Errorf("%s is answered with %s:\n%s", path, response.Status, body)
		}
	}
}

// TestChoicesLeadToAsManyIncidentsAsTheySay checks that the links above the table keep the other filters, and show the
// correct number of incidents.
func TestChoicesLeadToAsManyIncidentsAsTheySay(t *testing.T) {
	s := serverOf(t, several(false))
	for _, path := range []string{"/flaps", "/flaps?state=running", "/flaps?verdict=workload&namespace=shop", "/flaps?state=ended&page=2"} {
		_, page := get(t, s, path, nil)
		links := regexp.MustCompile(`<a id="(state|verdict)-(\w+)" href="([^"]*)"[^>]*>\w+ <b>(\d+)</b>`).FindAllStringSubmatch(page, -1)
		if len(links) < 4 {
			t.Errorf("%s has only the choices %v", path, links)
		}
		for _, link := range links {
			target := html.UnescapeString(link[3])
			_, body := get(t, s, strings.Replace(target, "/flaps", "/api/v1/incidents", 1), nil)
			if n := fmt.Sprint(strings.Count(body, `"duration_seconds"`)); n != link[4] {
				t.Errorf("%s: the choice %s %s says %s, %s has %s", path, link[1], link[2], link[4], target, n)
			}
			u, err := url.Parse(target)
			if err != nil {
				t.Fatal(err)
			}
			if is := u.Query().Get(link[1]); link[2] != "all" && is != link[2] || link[2] == "all" && is != "" {
				t.Errorf("%s: the choice %s %s leads to %s", path, link[1], link[2], target)
			}
			if strings.Contains(path, "namespace=shop") != u.Query().Has("namespace") {
				t.Errorf("%s: the choice loses or adds a filter: %s", path, target)
			}
		}
	}
}

// TestRecordingsHaveAbsoluteTimes checks that recordings are shown without ages. Ages depend on the user's clock, which
// is unrelated to the times of a recording.
func TestRecordingsHaveAbsoluteTimes(t *testing.T) {
	both := func(path string) (live, replayed string) {
		_, live = get(t, serverOf(t, several(false)), path, nil)
		_, replayed = get(t, serverOf(t, several(true)), path, nil)
		return live, replayed
	}
	live, replayed := both("/flaps?state=ended")
	if !strings.Contains(live, " ago</small>") || !strings.Contains(live, "· <span id=\"asof\">as of 2026-03-01 13:40:00 UTC") {
		t.Errorf("no age of what ended:\n%s", live)
	}
	if strings.Contains(replayed, " ago") || !strings.Contains(replayed, "<small>for ") || !strings.Contains(replayed, "replay: as of 2026-03-01 13:40:00 UTC") {
		t.Errorf("no absolute times:\n%s", replayed)
	}
	for _, path := range []string{"/flaps", "/flaps?state=running"} {
		live, replayed := both(path)
		for _, page := range []string{live, replayed} {
			mustContain(t, page, "2026-03-01 12:00:40", "for 1h39m so far", "as of 2026-03-01 13:40:00 UTC")
		}
	}
}

func TestTheTitleSaysHowManyRun(t *testing.T) {
	blind := brokenWatches("timeout", 0, event.KindPod)
	quiet, finished := clusterOf("", correlate.New(1), at(60)), but(several(true), func(s *State) { s.Finished = true })
	all := several(false).Read().Incidents
	last := all[len(all)-1].ID
	for name, c := range map[string]struct {
		cluster      Cluster
		query, title string
	}{
		"nothing":             {quiet, "", "Incidents · kubeflap"},
		"one of many":         {several(false), "", "(1) Incidents · kubeflap"},
		"on another page":     {several(false), "?page=3", "(1) Incidents · kubeflap"},
		"ended ones":          {several(false), "?state=ended", "(1) Incidents · kubeflap"},
		"another node":        {several(false), "?node=nowhere", "(1) Incidents · kubeflap"},
		"one that ended":      {several(false), "?id=" + last, "(1) StatefulSet shop/web0 · kubeflap"},
		"at the end":          {finished, "?state=ended", "Incidents · kubeflap"},
		"another name":        {several(false), "?cluster=eu&state=ended", "(1) Incidents · kubeflap"},
		"a single one":        {several(false), "?state=running", "(1) node node-1 · kubeflap"},
		"blind":               {clusterOf("", correlate.New(1), at(60), blind...), "", "(blind) Incidents · kubeflap"},
		"blind, and one runs": {clusterOf("", lostNode("web"), at(60), blind...), "", "(1, blind) node node-1 · kubeflap"},
	} {
		s := serverOf(t, c.cluster)
		_, page := get(t, s, "/flaps"+c.query, nil)
		if want := "<title>" + c.title + "</title>"; !strings.Contains(page, want) {
			t.Errorf("%s: no %s in\n%.400s", name, want, page)
		}
	}
}

// TestCardsOfOngoingIncidents checks that only ongoing incidents have a card below the table, up to maxCards.
func TestCardsOfOngoingIncidents(t *testing.T) {
	s := serverOf(t, several(false))
	if _, page := get(t, s, "/flaps", nil); strings.Count(page, "<article") != 1 {
		t.Errorf("%d cards, want that of the incident that runs", strings.Count(page, "<article"))
	}
	storm := lostNode("web").Incidents(at(60))
	for i := range 30 {
		x := storm[0]
		x.ID = fmt.Sprint(i)
		storm = append(storm, x)
	}
	_, page := get(t, serverOf(t, clusterWith(storm, at(60))), "/flaps", nil)
	if strings.Count(page, "<article") != maxCards || !strings.Contains(page, "21 more ongoing incidents are listed only in the table.") {
		t.Errorf("%d cards:\n%s", strings.Count(page, "<article"), page)
	}
}

// TestNoElementsShareAnID uses two replays of the same recording, whose incidents have the same IDs.
func TestNoElementsShareAnID(t *testing.T) {
	s := serverOf(t, clusterOf("one", lostNode("web"), at(60)), clusterOf("two", lostNode("web"), at(60)))
	for _, path := range []string{"/flaps", "/flaps?cluster=two"} {
		_, page := get(t, s, path, nil)
		seen := map[string]bool{}
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if seen[id[1]] {
				t.Errorf("%s: two elements have the ID %s", path, id[1])
			}
			seen[id[1]] = true
		}
	}
}

// TestIncidentsAreAskedForOnce checks that a page reads the incidents once, even if it has to find an incident of
// another replica by subject.
func TestIncidentsAreAskedForOnce(t *testing.T) {
	asked := 0
	s := serverOf(t, Cluster{Read: func() State { asked++; return State{AsOf: at(60)} }})
	for _, path := range []string{"/flaps", "/flaps?id=0&subject=node-1&at=1772366440", "/api/v1/incidents?id=0&subject=node-1&at=1772366440"} {
		asked = 0
		get(t, s, path, nil)
		if asked != 1 {
			t.Errorf("%s asks for the incidents %d times", path, asked)
		}
	}
}

func TestBeforeAReplayBegins(t *testing.T) {
	c := clusterOf("", correlate.New(1), time.Time{})
	c.Recorded = true
	if _, page := get(t, serverOf(t, c), "/flaps", nil); strings.Contains(page, "0001") {
		t.Errorf("the year 1:\n%s", page)
	}
}

func TestNothingRunsAfterTheEndOfARecording(t *testing.T) {
	c := several(true)
	_, page := get(t, serverOf(t, c), "/flaps", nil)
	mustContain(t, page, "<title>(1) Incidents", `<strong class="alarm">1 running</strong>, 120 in all`, `running <b>1</b>`, "as of ")
	c = but(c, func(s *State) { s.Finished = true })
	_, page = get(t, serverOf(t, c), "/flaps", nil)
	mustContain(t, page, "<title>Incidents", `<strong class="warn">1 open at the end of the recording</strong>, 120 in all`,
		`<span class="state">open</span> <small>at the end of the recording</small>`, "for at least ", `<span class="state">open at the end of the recording</span>`)
	if strings.Contains(page, "1 running") {
		t.Errorf("something runs:\n%s", page)
	}
}

func mustContain(t *testing.T, page string, texts ...string) {
	t.Helper()
	mustShow(t, "", page, texts, nil)
}

// mustShow checks that a page contains some texts, and not some others. The query is part of the errors.
func mustShow(t *testing.T, query, page string, want, wantNot []string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(page, text) {
			t.Errorf("%q: the page lacks %q:\n%s", query, text, page)
		}
	}
	for _, text := range wantNot {
		if strings.Contains(page, text) {
			t.Errorf("%q: the page contains %q:\n%s", query, text, page)
		}
	}
}

// FuzzQueryOfThePage checks that each query gets a page, or a single error that names the parameter.
func FuzzQueryOfThePage(f *testing.F) {
	for _, query := range []string{
		"", "namespace=shop&service=web", "id=0&subject=node-1&at=1772366440", "from=2026-03-01T12:00&to=2026-03-01T12:00:01.5%2B01:00", "page=2&state=ended",
		"cause=unknown&verdict=undecided", "cluster=one&node=node-1", "page=%", "a=1;b", "from=1e300&to=NaN", "at=34359738367.999999999999", "=&&=&page", "\x00=\xff",
	} {
		f.Add(query)
	}
	log := slog.New(slog.DiscardHandler)
	handler, err := Handler(Pages{
		Metrics: metrics.NewPage(prometheus.NewRegistry()), Registry: prometheus.NewRegistry(), Unready: allWatched,
		Clusters: []Cluster{clusterOf("one", lostNode("web"), at(60), watches.Watch{Resource: event.KindPod})},
	}, log)
	if err != nil {
		f.Fatal(err)
	}
	names := regexp.MustCompile(`[Pp]arameter (&#34;|[a-z]+)`)
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/flaps", "/api/v1/incidents"} {
			answer := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
			request.URL.RawQuery = query
			handler.ServeHTTP(answer, request)
			text := strings.ReplaceAll(answer.Body.String(), `\"`, "&#34;")
			switch answer.Code {
			case http.StatusOK:
			case http.StatusNotFound:
				if !strings.Contains(text, "There is no incident with this ID") && !strings.Contains(text, "There is no page") {
					t.Errorf("%s?%s is not found:\n%s", path, query, text)
				}
			case http.StatusBadRequest:
				if !names.MatchString(text) {
					t.Errorf("%s?%s: the error names no parameter:\n%s", path, query, text)
				}
			default:
				t.Errorf("%s?%s is answered with %d:\n%s", path, query, answer.Code, text)
			}
		}
	})
}
