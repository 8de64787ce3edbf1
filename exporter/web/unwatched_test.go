package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

func brokenWatches(reason event.Reason, since float64, kinds ...event.Kind) []watches.Watch {
	var all []watches.Watch
	for _, k := range kinds {
		all = append(all, watches.Watch{Resource: k, Synced: true, Since: at(since), Reason: reason})
	}
	return all
}

func TestThePageHasNoWarningWhileAllIsWatched(t *testing.T) {
	s := serverOf(t, clusterOf("", correlate.New(1), at(60)))
	_, page := get(t, s, "/flaps", nil)
	if strings.Contains(page, `role="alert"`) || !strings.Contains(page, "<h2>No incidents</h2>") {
		t.Errorf("a warning, or not the text of a cluster without incidents:\n%s", page)
	}
	_, text := get(t, s, "/api/v1/incidents", nil)
	if !strings.Contains(text, `"not_watched": []`) {
		t.Errorf("no empty list in\n%s", text)
	}
}

func TestThePageSaysWhatIsNotWatched(t *testing.T) {
	blind := append(brokenWatches("connection refused", 10, event.KindNode, event.KindLease), brokenWatches("forbidden", 0, event.KindPod)...)
	for name, log := range map[string]*correlate.Log{"no incident": correlate.New(1), "an incident": lostNode("web")} {
		s := serverOf(t, clusterOf("", log, at(60), blind...))
		for _, query := range []string{"", "?node=nowhere", "?id=gone"} {
			_, page := get(t, s, "/flaps"+query, nil)
			mustShow(t, name+query, page, []string{
				`role="alert"`, "kubeflap does not see everything",
				"kubeflap does not watch nodes, leases since 2026-03-01 12:00:10 UTC (connection refused); pods since 2026-03-01 12:00:00 UTC (forbidden), so incidents may be missing.",
			}, []string{"<h2>No incidents</h2>", "<h2>No incident matches</h2>"})
		}
	}
}

func TestCoverageOfTheAPI(t *testing.T) {
	s := serverOf(t,
		clusterOf("one", correlate.New(1), at(60), brokenWatches("timeout", 10, event.KindLease)...),
		clusterOf("two", correlate.New(1), at(60), watches.Watch{Resource: event.KindPod, Reason: "not listed yet"}))
	for query, want := range map[string]string{
		"":                  "one leases 2026-03-01T12:00:10Z timeout, two pods null not listed yet",
		"?cluster=two":      "two pods null not listed yet",
		"?cluster=two&id=x": "two pods null not listed yet",
	} {
		_, text := get(t, s, "/api/v1/incidents"+query, nil)
		var answer struct {
			Coverage struct {
				NotWatched []struct {
					Cluster, Resource, Reason string
					Since                     *string
				} `json:"not_watched"`
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, x := range answer.Coverage.NotWatched {
			since := "null"
			if x.Since != nil {
				since = *x.Since
			}
			all = append(all, fmt.Sprint(x.Cluster, " ", x.Resource, " ", since, " ", x.Reason))
		}
		if got := strings.Join(all, ", "); got != want {
			t.Errorf("%q: got %s, want %s", query, got, want)
		}
		_, page := get(t, s, "/flaps"+query, nil)
		_, banner, _ := strings.Cut(page, "does not watch ")
		banner, _, _ = strings.Cut(banner, ", so incidents may be missing.")
		if strings.Count(banner, " in ") != len(all) || !strings.HasSuffix(banner, "pods in two (not listed yet)") {
			t.Errorf("%q: the page differs:\n%s", query, page)
		}
	}
}
