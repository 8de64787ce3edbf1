package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// many returns a log with n incidents, each with the maximum of evidence.
func many(n int) *correlate.Log {
	log := correlate.New(n)
	for i := range n {
		for j := range 40 {
			t := float64(i*10) + float64(j)/20
			web := transition.Address{
				Service: transition.Service{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)},
				Pod:     transition.Pod{Namespace: "shop", Name: "web", Node: fmt.Sprintf("node-%d", j), Owner: fmt.Sprintf("StatefulSet/web%d", i)},
			}
			log.Observe(transition.AddressLost{At: transition.At{Time: at(t)}, Address: web, Cause: cause.ProbeFailed})
			log.Observe(transition.AddressReady{At: transition.At{Time: at(t + 0.02)}, Address: web})
		}
	}
	return log
}

// several returns a cluster with one running node incident and 119 ended workload incidents.
func several(recorded bool) Cluster {
	node, ended := lostNode("web").Incidents(at(6000)), many(119).Incidents(at(6000))
	c := clusterWith(append(node, ended...), at(6000))
	c.Recorded = recorded
	return c
}

func TestTheListHasTheFirstIncidents(t *testing.T) {
	_, page := get(t, serverOf(t, several(false)), "/flaps?cause=&verdict=", nil)
	if n := onPage(page); n != maxRows || !strings.Contains(page, "These are the first 100.") {
		t.Errorf("%d incidents:\n%s", n, page)
	}
}

// TestAListHasTheFirstStepOfEachIncidentAndNothingBelow also checks that code words stay out of the list.
func TestAListHasTheFirstStepOfEachIncidentAndNothingBelow(t *testing.T) {
	_, page := get(t, serverOf(t, several(false)), "/flaps", nil)
	list := regexp.MustCompile(`(?s)<tbody.*</tbody>`).FindString(page)
	if n := strings.Count(list, `class="first">Check what the readiness probe of StatefulSet shop/web`); n != maxRows-1 {
		t.Errorf("%d rows with the first step:\n%s", n, list)
	}
	if code := regexp.MustCompile(`>[^<]*\b[a-z]+_[a-z]+`).FindString(list); code != "" || strings.Contains(page, "<article") {
		t.Errorf("%q, or an article:\n%s", code, page)
	}
}

// TestIDsOfElements checks that no elements share an ID, and that each link within a page has a target. It uses two replays
// of the same recording, whose incidents have the same IDs.
func TestIDsOfElements(t *testing.T) {
	s := serverOf(t, clusterOf("one", lostNode("web"), at(60)), clusterOf("two", lostNode("web"), at(60)))
	for _, path := range []string{"/flaps", "/flaps?cluster=two", "/flaps?bad", "/flaps?id=gone"} {
		_, page := get(t, s, path, nil)
		seen := map[string]bool{}
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if seen[id[1]] {
				t.Errorf("%s: two elements have the ID %s", path, id[1])
			}
			seen[id[1]] = true
		}
		for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if !seen[link[1]] {
				t.Errorf("%s: the link to #%s leads nowhere", path, link[1])
			}
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

// FuzzQueryOfThePage checks that each query gets a page, or a single error that names the parameter.
func FuzzQueryOfThePage(f *testing.F) {
	for _, query := range []string{
		"", "namespace=shop&service=web", "id=0&subject=node-1&at=1772366440", "from=2026-03-01T12:00&to=2026-03-01T12:00:01.5%2B01:00", "state=resolved",
		"cause=unknown&verdict=undecided", "cluster=one&node=node-1", "id=%", "id=gone", "a=1;b", "from=1e300&to=NaN", "at=34359738367.999999999999", "=&&=&page", "\x00=\xff",
	} {
		f.Add(query)
	}
	handler := handlerOf(f, prometheus.NewRegistry(), clusterOf("one", lostNode("web"), at(60), watches.Watch{Resource: event.KindPod}))
	names := regexp.MustCompile(`[Pp]arameter (&#34;|[a-z]+)|alformed query: `)
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
				if !strings.Contains(text, "There is no incident with this ID") {
					t.Errorf("%s?%s is not found:\n%s", path, query, text)
				}
			case http.StatusBadRequest:
				if !names.MatchString(text) {
					t.Errorf("%s?%s: the error names nothing:\n%s", path, query, text)
				}
			default:
				t.Errorf("%s?%s is answered with %d:\n%s", path, query, answer.Code, text)
			}
		}
	})
}
