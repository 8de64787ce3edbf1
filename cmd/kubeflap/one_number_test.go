package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice/observed"
	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/event"
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
	families, err := gather(w.pipeline)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := observed.Cluster(families, "")
	if err != nil {
		w.t.Fatal(err)
	}
	all["metric"] = c.Recommended.Seconds()
	all["advise, live"] = report.Of(c).Heartbeats.Recommended
	w.pipeline.finish()
	if err := w.writer.Close(); err != nil {
		w.t.Fatal(err)
	}
	server := serveMetrics(w.t, w.file)
	for _, args := range [][]string{{"--recording", w.file}, {"--url", server.URL}} {
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
		})
	}
}
