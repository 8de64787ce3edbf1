package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// serveIncidents serves the pages at the end of a replay.
func serveIncidents(t *testing.T, files ...string) string {
	t.Helper()
	recordings, err := openRecordings(period{}, files...)
	if err != nil {
		t.Fatal(err)
	}
	r := newReplay(recordings, 0, trackerSettings(), nil)
	if err := r.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	return served(t, r.pipelines...)
}

// TestNoIncidentsNamesTheClusterAndTheService checks that an all-clear of the wrong cluster can be noticed.
func TestNoIncidentsNamesTheClusterAndTheService(t *testing.T) {
	const empty = `{"as_of":"2026-03-01T12:00:00Z","coverage":{"not_watched":[]},"incidents":[]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/proxy"+api.Path) {
			fmt.Fprint(w, empty)
			return
		}
		fmt.Fprint(w, `{"kind": "ServiceList", "apiVersion": "v1", "items": [{"metadata": {"namespace": "monitoring", "name": "flaps"}, "spec": {"ports": [{"name": "http", "port": 9969}]}}]}`)
	}))
	t.Cleanup(server.Close)
	text := strings.NewReplacer("http://127.0.0.1:1", server.URL, "current-context: c", "current-context: prod", "name: c, context", "name: prod, context").Replace(validKubeconfig)
	kubeconfig := write(t, filepath.Join(t.TempDir(), "kubeconfig"), text)
	for want, args := range map[string][]string{
		"No incidents. Read from context prod, Service monitoring/flaps.\n":                                                                                       {},
		"No incidents (namespace shop). Read from context prod, Service a/b:80.\n":                                                                                {"-n", "shop", "--service=a/b:80"},
		"kubeflap: context prod, Service monitoring/flaps: no incident has an ID that begins with ffff; kubeflap drops the oldest incidents (--incidents.size)\n": {"ffff"},
	} {
		_, out, errOut := kubeflap(t, append([]string{"incidents", "--kubeconfig", kubeconfig}, args...)...)
		if out != "" || errOut != want {
			t.Errorf("%q prints %q, want %q", args, errOut, want)
		}
	}
}

// TestIncidentsOfARunningKubeflap reads from a URL. The lab runs the same commands through the API server of a cluster
// with kubeflap.
func TestIncidentsOfARunningKubeflap(t *testing.T) {
	one := serveIncidents(t, incidentsDir+"1-heartbeat-loss.jsonl.gz")
	all := serveIncidents(t, recorded(t)...)
	id := regexp.MustCompile(`[0-9a-f]{16}`).FindString(must(t, "incidents", "--url", one, "-o", "wide"))
	for name, args := range map[string][]string{
		"one": {"--url", one}, "full": {"--url", one + "/", id[:8]}, "wide": {"--url", one, "--output=wide"},
		"all": {"--url", all}, "stall": {"--url", all, "--url.cluster=2-control-plane-stall", "--output=wide"},
	} {
		golden(t, "testdata/incidents/"+name+".txt", must(t, append([]string{"incidents"}, args...)...))
	}
}

// must runs a command, which must succeed without writing to standard error.
func must(t *testing.T, args ...string) string {
	t.Helper()
	status, out, errOut := kubeflap(t, args...)
	if status != 0 || errOut != "" {
		t.Fatalf("%q: status %d: %s", args, status, errOut)
	}
	return out
}

func TestNoIncidentIsToldFromNotWatching(t *testing.T) {
	url := serveIncidents(t, incidentsDir+"1-heartbeat-loss.jsonl.gz")
	status, out, errOut := kubeflap(t, "incidents", "--url", url, "-n", "other")
	if status != 0 || out != "" || errOut != "No incidents (namespace other). Read from "+url+".\n" {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
	blind := answering(t, `{"as_of":"2026-03-01T12:00:00Z","coverage":{"not_watched":[{"resource":"leases","since":"2026-03-01T11:59:00Z","reason":"\u001b[31mforbidden"}]},"incidents":[]}`)
	status, out, errOut = kubeflap(t, "incidents", "--url", blind)
	want := "Warning: kubeflap does not watch leases since 2026-03-01 11:59:00 UTC (\\x1b[31mforbidden), so incidents may be missing.\nNo incidents. Read from " + blind + ".\n"
	if status != 0 || out != "" || errOut != want {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
}

// TestTheListSaysSinceWhenItIsKnown checks that a period before the coverage is no all-clear.
func TestTheListSaysSinceWhenItIsKnown(t *testing.T) {
	url, dir := serveIncidents(t, lostNode), recordedIn(t, lostNode)
	for from, warning := range map[string]string{"12:12:42": "", "12:00:00": "Warning: Not everything was watched before 2026-11-23 12:11:57 UTC, so incidents may be missing.\n"} {
		for name, args := range map[string][]string{"url": {"--url", url}, "dir": {dir}} {
			status, _, errOut := kubeflap(t, append([]string{"incidents", "-o=json", "--from=2026-11-23T" + from + "Z"}, args...)...)
			if status != 0 || errOut != warning {
				t.Errorf("%s from %s: status %d, %q, want %q", name, from, status, errOut, warning)
			}
		}
	}
}

// TestTheListSaysThatOlderIncidentsWereDropped checks that a list that lacks incidents is no all-clear. An incident in
// full lacks nothing.
func TestTheListSaysThatOlderIncidentsWereDropped(t *testing.T) {
	url := answering(t, `{"as_of":"2026-03-01T12:00:00Z","coverage":{"not_watched":[],"incidents_dropped":412,"incidents_dropped_until":"2026-03-01T11:00:00Z"},"incidents":[{"id":"0123456789abcdef"}]}`)
	const warning = "Warning: kubeflap has dropped 412 older incidents (--incidents.size). All incidents that were ongoing after 2026-03-01 11:00:00 UTC are kept.\n"
	for want, args := range map[string][]string{warning: {}, "": {"0123"}} {
		status, _, errOut := kubeflap(t, append([]string{"incidents", "--url", url}, args...)...)
		if status != 0 || errOut != want {
			t.Errorf("%q: status %d, %q, want %q", args, status, errOut, want)
		}
	}
}

// TestTheListSaysThatIncidentsWereLost checks that a list without incidents is no all-clear if their file was damaged.
func TestTheListSaysThatIncidentsWereLost(t *testing.T) {
	url := answering(t, `{"as_of":"2026-03-01T12:00:00Z","coverage":{"not_watched":[],"incidents_lost_until":"2026-03-01T11:00:00Z"},"incidents":[]}`)
	want := "Warning: Incidents until 2026-03-01 11:00:00 UTC may be missing, because kubeflap's file incidents.jsonl was damaged, deleted or unreadable. " +
		"To see what was recorded, run kubeflap incidents with its --data.dir directory.\nNo incidents. Read from " + url + ".\n"
	if status, _, errOut := kubeflap(t, "incidents", "--url", url); status != 0 || errOut != want {
		t.Errorf("status %d, %q, want %q", status, errOut, want)
	}
}

// TestIncidentsWithHostileNames uses names with characters that could control the terminal.
func TestIncidentsWithHostileNames(t *testing.T) {
	answer := api.Answer{Incidents: []incident.Incident{{
		ID: "0123456789abcdef", State: "resolved", Scope: "service", Namespace: "shop", Subject: "a\x1b[2J\u009b\u202eb\nc", Summary: "a\tb\x00\U000e0041", Remedy: "x\ry",
		Considered: []verdict.Considered{{Because: "\a"}}, Nodes: []string{"n\x7f"},
		Services: []incident.Service{{Namespace: "shop", Name: "web\u2028"}}, Evidence: []incident.Evidence{{Text: "e\x1b"}},
	}}}
	answer.AsOf = answer.Incidents[0].Start.AddDate(2000, 0, 0)
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	url := answering(t, string(text))
	for _, args := range [][]string{{}, {"-o=wide"}, {"-o=json"}, {"-o=markdown"}, {"0123"}, {"0123", "-o=json"}} {
		out := must(t, append([]string{"incidents", "--url", url}, args...)...)
		if at := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 {
			t.Errorf("%q prints %q", args, out[at:])
		}
		if slices.Contains(args, "-o=json") && !json.Valid([]byte(out)) {
			t.Errorf("%q is no JSON: %s", args, out)
		}
	}
}
