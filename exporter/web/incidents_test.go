package web

import (
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }

// lostNode returns a log with one incident: node-1 is lost, and the service in the namespace shop loses an address.
func lostNode(service string) *correlate.Log {
	log := correlate.New(10)
	when := func(seconds float64) transition.At { return transition.At{Time: at(seconds)} }
	shop := transition.Service{Namespace: "shop", Name: service}
	pod := transition.Pod{Namespace: "shop", Name: "web-1", Node: "node-1"}
	for _, x := range []transition.Transition{
		transition.GracePeriodKnown{At: when(0), Period: 40 * time.Second, Default: 40 * time.Second, Interval: 10 * time.Second, Nodes: 3},
		transition.HeartbeatMissed{OfNode: transition.OfNode{At: when(40), Node: "node-1"}, Silence: 40 * time.Second},
		transition.NodeReadyChanged{OfNode: transition.OfNode{At: when(41), Node: "node-1"}, From: event.StatusTrue, To: event.StatusUnknown, Silence: 41 * time.Second},
		transition.AddressLost{At: when(41.1), Address: transition.Address{Service: shop, Pod: pod}, Cause: cause.NodeHeartbeatLost},
		transition.OutageStarted{At: when(41.1), Service: shop},
		transition.HeartbeatSeen{OfNode: transition.OfNode{At: when(48), Node: "node-1"}, Interval: 48 * time.Second},
		transition.NodeReadyChanged{OfNode: transition.OfNode{At: when(48.2), Node: "node-1"}, From: event.StatusUnknown, To: event.StatusTrue, Lasted: 7200 * time.Millisecond},
	} {
		log.Observe(x)
	}
	return log
}

// graceTable returns the comparison of grace periods for the story of lostNode.
func graceTable(name string, log *correlate.Log, now time.Time) controlplane.Table {
	table := controlplane.Table{Cluster: name, Since: at(0)}
	silences := []controlplane.Silence{{Shortest: 48 * time.Second, Longest: 48 * time.Second, Addresses: 1}}
	for _, period := range []time.Duration{20, 30, 40, 50, 60, 80, 100, 120} {
		table.Rows = append(table.Rows, controlplane.RowOf(silences, period*time.Second, 5*time.Second))
	}
	table.Notes = advice.NotesOn(&table, log.GracePeriod(now))
	return table
}

// clusterWith returns a cluster with these incidents.
func clusterWith(all []incident.Incident, now time.Time) Cluster {
	return Cluster{
		Read: func() State {
			return State{AsOf: now, Incidents: slices.Clone(all), Coverage: watches.Coverage{Since: at(0)}}
		},
		Incident: func(id string) (incident.Incident, bool) {
			i := slices.IndexFunc(all, func(x incident.Incident) bool { return x.ID == id })
			return all[max(i, 0)], i >= 0
		},
	}
}

func clusterOf(name string, log *correlate.Log, now time.Time, unwatched ...watches.Watch) Cluster {
	return Cluster{
		Name: name,
		Read: func() State {
			return State{
				AsOf: now, Incidents: log.Overview(now), Displaced: log.Displaced(now), Started: at(0),
				Coverage: watches.Coverage{Since: at(0), NotWatched: unwatched}, GracePeriods: graceTable(name, log, now),
			}
		},
		Incident: func(id string) (incident.Incident, bool) { return log.Incident(now, id) },
	}
}

// but returns a cluster with a changed state.
func but(c Cluster, change func(*State)) Cluster {
	read := c.Read
	c.Read = func() State {
		s := read()
		change(&s)
		return s
	}
	return c
}

func handlerOf(t testing.TB, shown *prometheus.Registry, clusters ...Cluster) http.Handler {
	t.Helper()
	handler, err := Handler(Pages{Metrics: metrics.NewPage(shown), Unready: allWatched, Clusters: clusters}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func serverOf(t testing.TB, clusters ...Cluster) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handlerOf(t, prometheus.NewRegistry(), clusters...))
	t.Cleanup(s.Close)
	return s
}

func TestFiltersOfTheURL(t *testing.T) {
	s := serverOf(t, clusterOf("one", lostNode("web"), at(60)), clusterOf("two", lostNode("api"), at(60)))
	for query, want := range map[string]int{
		"": 2, "?namespace=shop&service=web": 1, "?namespace=bank&service=web": 0, "?namespace=shop": 2, "?node=node-1": 2, "?node=node-2": 0,
		"?cause=node_heartbeat_lost": 2, "?cause=probe_failed": 0, "?cluster=two": 1, "?id=20260301-120040000-ef14ebfa": 0,
		"?state=ongoing": 2, "?state=resolved": 0, "?verdict=node&cluster=one": 1, "?verdict=shared_path": 0,
		"?to=2026-03-01T12:00:39Z": 0, "?from=2026-03-01T12:00:59Z": 2, "?from=1772366400&to=1772366460": 2, "?from=1772366400.5&to=1772366460.25": 2,
		"?namespace=&service=web&node=&cause=&from=2026-03-01T12:00&to=": 1, // as a form sends it
	} {
		_, body := get(t, s, "/api/v1/incidents"+query, nil)
		_, page := get(t, s, "/flaps"+query, nil)
		if inAPI, shown := strings.Count(body, `"duration_seconds": `), onPage(page); inAPI != want || shown != want {
			t.Errorf("%s: %d incidents in the API, %d on the page, want %d", query, inAPI, shown, want)
		}
		filters := len(regexp.MustCompile(`[?&](\w{3,}|to)=[^&]`).FindAllString(query, -1)) // the ID is no filter
		if shown := strings.Count(page, `<span class="active">`); shown != filters {
			t.Errorf("%s: the page names %d filters, want %d", query, shown, filters)
		}
	}
}

// onPage counts the incidents on a page: the rows of the table, or one incident in full.
func onPage(page string) int {
	if n := strings.Count(page, `<tr role="row" class=`); n > 0 {
		return n
	}
	return strings.Count(page, "<article")
}

// withoutItsScript removes the page's script tag, and checks that there is exactly one.
func withoutItsScript(t *testing.T, page string) string {
	t.Helper()
	const tag = `<script src="/flaps.js" defer></script>`
	if n := strings.Count(page, tag); n != 1 {
		t.Errorf("the page has its script %d times", n)
	}
	return strings.Replace(page, tag, "", 1)
}

func TestNamesFromTheClusterAreOnlyText(t *testing.T) {
	hostile := []string{
		`"><script>alert(1)</script><a href="javascript:x`, `' onmouseover='alert(1)`, "`${alert(1)}`{{.}}<%=1%>", "</title></style></svg><svg onload=alert(1)>",
		"javascript:alert(1)//", "&lt;script&gt;&#x3c;script>", "a&b=c#d?e;f%0a", "\u202eleft\u2066\u2028", "\x1b[31m\u009b0m\x00\r\n", "no\xffUTF-8\xc3", strings.Repeat("long", 2500),
	}
	for _, name := range hostile {
		s := serverOf(t, clusterOf(name, lostNode(name), at(60), brokenWatches(event.Reason(name), 0, event.KindPod)...))
		few := name[:min(len(name), 253)]
		filter := url.Values{"cluster": {few}, "service": {few}}.Encode()
		for _, path := range []string{"/flaps", "/flaps?namespace=shop&service=web", "/flaps?" + filter, "/flaps?node=%22%3E%3Cscript%3E"} {
			response, page := get(t, s, path, nil)
			if cutOff := few != name && strings.Contains(path, "cluster="); (response.StatusCode == http.StatusOK) == cutOff {
				t.Errorf("%s is answered with %s", path, response.Status)
			}
			page = withoutItsScript(t, page)
			if strings.Contains(page, "<script") || strings.Contains(page, `href="javascript:`) || strings.Contains(page, "style=") || strings.Contains(page, "<svg onload") ||
				strings.Contains(page, " onmouseover='") {
				t.Errorf("%s lets a name out of its place:\n%s", path, page)
			}
			shown := func(r rune) bool { return r == '\n' || unicode.IsPrint(r) }
			if i := strings.IndexFunc(page, func(r rune) bool { return !shown(r) }); i >= 0 || !utf8.ValidString(page) {
				t.Errorf("%s obeys a name: %.80q", path, page[max(i, 0):])
			}
		}
		_, text := get(t, s, "/api/v1/incidents?cause=node_heartbeat_lost", nil)
		var answer api.Answer
		if err := json.Unmarshal([]byte(text), &answer); err != nil || !utf8.ValidString(text) || strings.ContainsAny(text, "<>\x1b\x00") {
			t.Errorf("the API answers %v:\n%q", err, text)
		}
		if want := strings.ToValidUTF8(name, "\ufffd"); len(answer.Incidents) != 1 || answer.Incidents[0].Services[0].Name != want {
			t.Errorf("the API changes the name %q:\n%q", want, text)
		}
	}
}

func TestThePageLoadsNothingFromElsewhereAndRunsOnlyItsScript(t *testing.T) {
	s := serverOf(t, clusterOf("", lostNode("web"), at(60)))
	_, page := get(t, s, "/flaps", nil)
	page = withoutItsScript(t, page)
	if strings.Contains(page, "http://") || strings.Contains(page, "https://") || strings.Contains(page, "<script") || strings.Contains(page, " onclick") {
		t.Errorf("not on its own:\n%s", page)
	}
	response, script := get(t, s, "/flaps.js", nil)
	if response.Header.Get("Content-Type") != "text/javascript; charset=utf-8" || !strings.Contains(script, `"use strict"`) {
		t.Errorf("%v:\n%.200s", response.Header, script)
	}
	response, style := get(t, s, "/flaps.css", nil)
	if response.Header.Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(style, "prefers-color-scheme: dark") {
		t.Errorf("%v:\n%.200s", response.Header, style)
	}
}

// abridged returns indented JSON with only the first entry of each list, and without the table of grace periods.
func abridged(body string) string {
	body = regexp.MustCompile(`(?s)"grace_periods": \[.*\n  \]`).ReplaceAllString(body, `"grace_periods": [...]`)
	var b strings.Builder
	var open []string // the lines that opened the objects and lists around the current line
	for rest := body; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		b.WriteString(line + "\n")
		text, entry := strings.TrimSpace(line), false
		switch {
		case strings.HasSuffix(text, "{") || strings.HasSuffix(text, "["):
			open = append(open, text)
		case strings.Trim(text, "}],") == "":
			entry = open[len(open)-1] == "{" && text == "},"
			open = open[:len(open)-1]
		default:
			entry = strings.HasSuffix(open[len(open)-1], "[") && strings.HasSuffix(text, ",")
		}
		if indent := strings.Repeat(" ", len(line)-len(text)); entry { // leave out the other entries
			_, after, _ = strings.Cut("\n"+rest, "\n"+indent[2:]+"]")
			b.WriteString(indent + "...\n")
			rest = indent[2:] + "]" + after
		}
	}
	return b.String()
}

// TestAPIDocumentationIsFresh checks that the example in docs/api.md equals a real response, and the length of short IDs.
func TestAPIDocumentationIsFresh(t *testing.T) {
	const path, begin, end = "../../docs/api.md", "```json\n", "```\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), begin)
	_, tail, closed := strings.Cut("\n"+rest, "\n"+end)
	if !found || !closed {
		t.Fatalf("%s has no example", path)
	}
	if short := fmt.Sprintf("(at least %d)", api.MinPrefix); !strings.Contains(head, short) {
		t.Errorf("%s does not say that the ID needs %s characters", path, short)
	}
	_, body := get(t, serverOf(t, clusterOf("", lostNode("web"), at(60))), "/api/v1/incidents?namespace=shop&service=web", nil)
	want := head + begin + abridged(strings.TrimSpace(body)) + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(page) {
		t.Errorf("%s is out of date: make docs", path)
	}
}

// TestALinkOpensWhereTheIncidentHasAnotherID checks that a link from one replica works at another replica, which may
// have seen fewer events and assigned another ID.
func TestALinkOpensWhereTheIncidentHasAnotherID(t *testing.T) {
	log := lostNode("web")
	s := serverOf(t, clusterOf("", log, at(100)))
	known := log.Incidents(at(100))[0]
	path := (&clusterIncident{Incident: &known}).Link()
	elsewhere := regexp.MustCompile(`id=[^&]*`).ReplaceAllString(path, "id=0123456789abcdef")
	for what, path := range map[string]string{"its own": path, "another's": elsewhere} {
		if response, page := get(t, s, path, nil); response.StatusCode != 200 || !strings.Contains(page, "node-1") {
			t.Errorf("%s link %s: %s", what, path, response.Status)
		}
	}
	for what, path := range map[string]string{
		"another subject": strings.Replace(elsewhere, "node-1", "node-9", 1),
		"another time":    regexp.MustCompile(`at=\d+`).ReplaceAllString(elsewhere, "at=1"),
	} {
		if response, _ := get(t, s, path, nil); response.StatusCode != 404 {
			t.Errorf("%s: %s, want 404", what, response.Status)
		}
	}
}

// TestLinksOfACardStayInItsCluster follows the links to a node, a Service and the API. Both clusters have the same node,
// and the names can have any characters.
func TestLinksOfACardStayInItsCluster(t *testing.T) {
	const name = `a&b=c#d?e;f%0a "x" +/é`
	s := serverOf(t, clusterOf("one", lostNode(name), at(60)), clusterOf(name, lostNode(name), at(60)))
	cluster := url.Values{"cluster": {name}}.Encode()
	_, page := get(t, s, "/flaps?node=node-1&"+cluster, nil)
	_, card, _ := strings.Cut(page, "<article")
	links := map[string]int{}
	for _, found := range regexp.MustCompile(`<a [^>]*href="((/flaps\?|/api/v1/incidents\?)[^"]*)"`).FindAllStringSubmatch(card, -1) {
		link := html.UnescapeString(found[1])
		links[found[2]]++
		if response, linked := get(t, s, link, nil); response.StatusCode != http.StatusOK || !strings.Contains(link, cluster) || !strings.Contains(linked, "node_heartbeat_lost") {
			t.Errorf("%s: %s", link, response.Status)
		}
	}
	if links["/flaps?"] != 2 || links["/api/v1/incidents?"] != 1 {
		t.Errorf("the card has the links %v, want those of the node, the Service and the API", links)
	}
}
