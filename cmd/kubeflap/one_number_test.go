package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// recommendations returns each source's recommended grace period in seconds. 0 means no recommendation.
func (w *storyWatcher) recommendations() map[string]float64 {
	r := httptest.NewRecorder()
	w.page.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/api/v1/incidents", http.NoBody))
	var answer struct {
		Incidents []struct {
			Remedy  string
			Numbers struct {
				Recommended float64 `json:"recommended_grace_period_seconds"`
			}
		}
	}
	if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil {
		w.t.Fatal(err)
	}
	all := map[string]float64{}
	for i, x := range answer.Incidents {
		all[fmt.Sprintf("API %d", i)] = x.Numbers.Recommended
		if x.Numbers.Recommended > 0 && !strings.Contains(x.Remedy, fmt.Sprintf(" to %gs", x.Numbers.Recommended)) {
			w.t.Errorf("the remedy does not repeat %g: %s", x.Numbers.Recommended, x.Remedy)
		}
	}
	live, err := w.pipeline.advice("")
	if err != nil {
		w.t.Fatal(err)
	}
	all["advise, live"] = live.Heartbeats.Recommended
	families, err := w.pipeline.collector.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	all["metric"] = 0
	for _, f := range families {
		if f.GetName() == "kubeflap_node_monitor_grace_period_recommended_seconds" {
			all["metric"] = f.Metric[0].GetGauge().GetValue()
		}
	}
	w.pipeline.finish()
	if err := w.writer.Close(); err != nil {
		w.t.Fatal(err)
	}
	url := serveIncidents(w.t, w.file)
	for _, args := range [][]string{{"--recording", w.file}, {"--url", url}} {
		_, out, errOut := kubeflap(w.t, append([]string{"advise", "--output=json"}, args...)...)
		var given report.Report
		if err := json.Unmarshal([]byte(out), &given); err != nil {
			w.t.Fatalf("%v: %s", err, errOut)
		}
		all["advise "+args[0]] = given.Heartbeats.Recommended
		set := 0.0
		for _, x := range given.Recommendations {
			set = max(set, x.Recommended)
		}
		all["a finding of advise "+args[0]] = set
	}
	return all
}

// checkGraceTable checks that the comparison of grace periods repeats the recommendation, and that no slow node turns
// Unknown with the recommended grace period. If there is no recommendation, this applies to the current grace period.
func (w *storyWatcher) checkGraceTable(recommended time.Duration) {
	w.t.Helper()
	p := w.pipeline
	table, facts := p.gracePeriods(""), p.incidents.GracePeriod(p.now())
	if len(table.Rows) == 0 {
		return
	}
	want := "kubeflap recommends no other grace period. "
	if recommended > 0 {
		want = "Recommended grace period: " + phrase.Duration(recommended) + " "
	}
	if !slices.ContainsFunc(table.Notes, func(note string) bool { return strings.HasPrefix(note, want) }) {
		w.t.Errorf("no note begins with %q: %q", want, table.Notes)
	}
	if facts.Period == 0 || facts.Managed {
		return // nothing can be recommended
	}
	// The other silences are those with another cause, of deleted nodes, and those that are ongoing.
	others := w.cluster.deleted
	for _, x := range p.incidents.Silences(p.now()) {
		if x.Verdict != verdict.Node || x.Reason != verdict.Slow && x.Reason != verdict.Late || x.Last.Equal(p.now()) {
			others += int(x.Count)
		}
	}
	for _, row := range table.Rows {
		if row.GracePeriod >= cmp.Or(recommended, facts.Period).Seconds() && row.Silences.AtLeast > others {
			w.t.Errorf("%s silences turn a node Unknown with %g s, although at most %d were not the silence of a slow node that returned", row.Silences, row.GracePeriod, others)
		}
	}
}

// shows lets kubeflap see the controller manager's pod with its grace period.
func (s *fakeCluster) shows(version string, grace float64) {
	s.version, s.grace = version, seconds(grace)
	s.others = append(s.others, &event.Pod{
		Meta: metaOf("pod", "kube-system", "kube-controller-manager-master-1"), Phase: "Running", Ready: &event.Condition{Status: event.StatusTrue},
		ControllerManager: &event.ControllerManager{GracePeriod: s.grace, Version: version, Flags: &event.ControllerManagerFlags{}},
	})
}

func TestEveryPlaceRecommendsTheSameGracePeriod(t *testing.T) {
	withoutRaceDetector(t)
	firstPost := func() *fakeCluster { return newFakeCluster(9).slow(2, 300, 20, 35, 49, 28, 46, 22, 50) }
	cases := []struct {
		name    string
		cluster func(*fakeCluster)
		of      func() *fakeCluster
		until   float64
		want    float64
	}{
		{"the first post: a kubelet reports every 20 to 50 s, and the grace period is 40 s", nil, firstPost, 700, 100},
		{"an hour later", nil, firstPost, 4300, 100},
		{"on a managed control plane nobody can set it", func(s *fakeCluster) { s.version = "v1.31.4-eks-2d5f260" }, firstPost, 700, 0},
		{"the fifth post: a grace period of 10 s in v1.11", func(s *fakeCluster) { s.shows("v1.11.1", 10) }, nil, 300, 40},
		{"a grace period of 10 s in v1.32", func(s *fakeCluster) { s.shows("v1.32.0", 10) }, nil, 300, 50},
		{"a grace period of 10 minutes", func(s *fakeCluster) { s.shows("v1.32.0", 600) }, nil, 300, 120},
		{"a grace period of 10 minutes, and a slow kubelet, which the default would make Unknown", func(s *fakeCluster) {
			s.slow(2, 300, 20, 35, 58, 28).shows("v1.32.0", 600)
		}, nil, 700, 120},
		{"16 s are safe if heartbeats come every 4 s", func(s *fakeCluster) { s.interval = seconds(4); s.shows("v1.31.4", 16) }, nil, 300, 0},
		{"8 s are not if they come every 5 s", func(s *fakeCluster) { s.interval = seconds(5); s.shows("v1.31.4", 8) }, nil, 300, 40},
		{"a third of the nodes is silent together", nil, func() *fakeCluster { return newFakeCluster(9).silence(300, 350, 1, 4, 7) }, 500, 0},
		{"a reboot", nil, func() *fakeCluster { return newFakeCluster(9).reboots(300, 380, 3) }, 600, 0},
		{"a reboot, and a minute later the kubelet hangs", nil, func() *fakeCluster { return newFakeCluster(9).reboots(300, 394, 1).silence(460, 500, 1) }, 700, 90},
		{"a healthy cluster", nil, nil, 300, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newFakeCluster(9)
			if c.of != nil {
				s = c.of()
			}
			if c.cluster != nil {
				c.cluster(s)
			}
			w := newStoryWatcher(t, s)
			w.runUntil(c.until)
			all := w.recommendations()
			for place, got := range all {
				isOfNode := !strings.HasPrefix(place, "API") || c.want > 0
				if isOfNode && got != c.want {
					t.Errorf("%s: %s, want %s", place, time.Duration(got*1e9), time.Duration(c.want*1e9))
				}
			}
			if _, ok := all["API 0"]; !ok && c.of != nil {
				t.Error("there is no incident")
			}
			w.checkGraceTable(time.Duration(c.want * 1e9))
		})
	}
}
