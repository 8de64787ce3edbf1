package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// scenario is a sequence of events in a cluster, with kubeflap's expected output.
type scenario struct {
	// Story has the page's expected content at several times. For each incident, it is the verdict and the nodes, or the
	// subject if the incident is not about nodes. The story ends with the last one. In between, the page must show no other
	// verdicts than before and after.
	clustertest.Story
	// open is the reason why a verdict may be undecided while the page changes. If it is empty, the verdict must not be.
	open string
	// evidence lists texts that the page must contain at the end, and lacks lists texts that it must not contain. over
	// is set if all incidents must have ended.
	evidence, lacks []string
	over            bool
	// advice lists the expected findings of `kubeflap advise` at the end, without notes.
	advice string
	// recommends is the grace period in seconds that every place recommends at the end, if there is one number.
	recommends []float64
	// unclear is what kubeflap cannot know after a restart at some moments of the story.
	unclear string
	restartStory
}

// storyWatcher is a kubeflap that watches a fake cluster and records its events.
type storyWatcher struct {
	t        *testing.T
	cluster  *clustertest.Cluster
	pipeline *pipeline
	page     http.Handler
	file     string
	writer   *recording.Writer
}

func newStoryWatcher(t *testing.T, c *clustertest.Cluster) *storyWatcher {
	w := &storyWatcher{t: t, cluster: c, file: filepath.Join(t.TempDir(), "story.jsonl")}
	w.pipeline = newPipeline(trackerSettings(), func() time.Time { return c.Now }, silent)
	w.page = handlerOf(t, w.pipeline)
	var err error
	if w.writer, err = recording.Create(w.file, recording.Header{Recorded: c.Now}); err != nil {
		t.Fatal(err)
	}
	c.Watchers[0].Sink = func(e event.Event) {
		if err := w.writer.Write(e); err != nil {
			t.Fatal(err)
		}
		w.pipeline.apply(e)
	}
	c.Start()
	return w
}

// runUntil runs the cluster up to a second. It reads Leases directly whenever kubeflap would.
func (w *storyWatcher) runUntil(second float64) {
	for until := storyBegin.Add(seconds(second)); w.cluster.Now.Before(until); {
		w.cluster.RunUntil(min(second, w.cluster.Second()+0.5))
		if w.pipeline.tracker.LeasesBehind(w.cluster.Now) {
			w.cluster.Watchers[0].Reopen()
		}
		if names := w.pipeline.tracker.LeasesToRead(w.cluster.Now); len(names) > 0 {
			w.cluster.Watchers[0].ReadLeases(names)
		}
	}
}

// pageIncident is an incident of the API.
type pageIncident struct{ incident.Incident }

// incidents returns the incidents from the API.
func (w *storyWatcher) incidents() []pageIncident {
	r := httptest.NewRecorder()
	w.page.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/api/v1/incidents", http.NoBody))
	var answer struct{ Incidents []pageIncident }
	if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil {
		w.t.Fatalf("%v: %s", err, r.Body)
	}
	return answer.Incidents
}

// shownBy returns the same for a pipeline. It takes a tenth of the time, because it writes and reads no JSON.
func shownBy(p *pipeline) (all []pageIncident) {
	for _, x := range web.Answer([]web.Cluster{p.cluster()}, &api.Query{}).Incidents {
		all = append(all, pageIncident{x})
	}
	return all
}

// String formats the incident as in a story.
func (x *pageIncident) String() string {
	if x.Withdrawn != "" {
		return "withdrawn"
	}
	if x.Scope == "control_plane" || x.Scope == "node" {
		return x.Verdict.String() + " " + strings.ReplaceAll(strings.Join(x.Nodes, ","), "node-", "")
	}
	return x.Verdict.String() + " " + x.Namespace + "/" + x.Subject
}

func textOf(all []pageIncident) string {
	var texts []string
	for i := range all {
		texts = append(texts, all[i].String())
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "; ")
}

// verdictMetrics returns the verdicts in the metrics, and the page's verdicts for the same nodes and Services.
func (w *storyWatcher) verdictMetrics(all []pageIncident) (got, want string) {
	families := gather(w.t, w.pipeline)
	var have, should []string
	for _, f := range families {
		if name := f.GetName(); name == "kubeflap_node_verdict" || name == "kubeflap_service_verdict" {
			for _, m := range f.Metric {
				have = append(have, seriesText(m))
			}
		}
	}
	for i := range all {
		x := &all[i]
		if x.Withdrawn != "" || x.State == "resolved" && w.cluster.Now.Sub(x.End.Time) > 10*time.Minute {
			continue
		}
		if x.Scope == "control_plane" || x.Scope == "node" {
			for _, n := range x.Nodes {
				should = append(should, n+"="+x.Verdict.String())
			}
		}
		for _, v := range x.Services {
			should = append(should, v.String()+"="+x.Verdict.String())
		}
	}
	slices.Sort(have)
	slices.Sort(should)
	return strings.Join(have, " "), strings.Join(slices.Compact(should), " ")
}

func seriesText(m *dto.Metric) string {
	labels := map[string]string{}
	for _, l := range m.Label {
		labels[l.GetName()] = l.GetValue()
	}
	if labels["node"] != "" {
		return labels["node"] + "=" + labels["verdict"]
	}
	return labels["namespace"] + "/" + labels["service"] + "=" + labels["verdict"]
}

// check runs a story and checks the output at all times.
func (x *scenario) check(t *testing.T) {
	w := newStoryWatcher(t, x.Cluster(0))
	next := 0
	seen := revisions{verdicts: map[string]shownVerdict{}, entries: map[pageEvidence]bool{}}
	for second := 5.0; next < len(x.Asks); second += 5 {
		for ; next < len(x.Asks) && x.Asks[next].At <= second; next++ {
			w.runUntil(x.Asks[next].At)
			x.ask(w, x.Asks[next])
		}
		w.runUntil(second)
		incidents := shownBy(w.pipeline)
		x.checkVerdicts(w, incidents, x.between(next))
		seen.check(w, incidents)
	}
	x.checkRecommendations(w)
	x.checkEnd(w)
	x.checkCounter(w)
}

func (x *scenario) ask(w *storyWatcher, a clustertest.Ask) {
	incidents := w.incidents()
	got := textOf(incidents)
	if got != a.Want {
		w.t.Errorf("the page at %g: %q, want %q", a.At, got, a.Want)
		for i := range incidents {
			w.t.Logf("%s %s: %v", incidents[i].State, incidents[i].Summary, incidents[i].Considered)
		}
	}
	if metrics, page := w.verdictMetrics(incidents); metrics != page {
		w.t.Errorf("the metrics at %g: %q, but the page %q", a.At, metrics, page)
	}
}

// between returns the verdicts that the page may show before the clustertest.Ask with the given index.
func (x *scenario) between(next int) (allowed []string) {
	before, after := "", x.Asks[min(next, len(x.Asks)-1)].Want
	if next > 0 {
		before = x.Asks[next-1].Want
	}
	if x.open != "" && before != after {
		allowed = append(allowed, "undecided")
	}
	for text := range strings.SplitSeq(before+"; "+after, "; ") {
		v, _, _ := strings.Cut(text, " ")
		allowed = append(allowed, v)
	}
	return allowed
}

// checkVerdicts checks that the page shows only the allowed verdicts.
func (x *scenario) checkVerdicts(w *storyWatcher, all []pageIncident, allowed []string) {
	for i := range all {
		switch v := all[i].Verdict.String(); {
		case all[i].Withdrawn != "":
		case !slices.Contains(allowed, v):
			w.t.Errorf("at %g: %s, want one of %q: %v", w.cluster.Second(), &all[i], allowed, all[i].Considered)
		case v == "undecided" && all[i].Command == "":
			w.t.Errorf("at %g: %s without a command that would decide", w.cluster.Second(), &all[i])
		}
	}
}

// checkCounter checks that kubeflap_incidents_total counts all resolved incidents with their verdicts.
func (x *scenario) checkCounter(w *storyWatcher) {
	families := gather(w.t, w.pipeline)
	counted, resolved := map[string]float64{}, map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			if labels := m.GetLabel(); f.GetName() == "kubeflap_incidents_total" {
				counted[labels[0].GetValue()+" "+labels[1].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	for _, i := range w.pipeline.cluster().Read().Incidents {
		if i.State == incident.StateResolved && i.Withdrawn == "" {
			resolved[string(i.Scope)+" "+i.Verdict.String()]++
		}
	}
	for of, n := range resolved {
		if counted[of] < n {
			w.t.Errorf("kubeflap_incidents_total counts %g incidents with %s, want %g", counted[of], of, n)
		}
	}
}

// checkEnd checks the evidence at the end, and the advice from the recording.
func (x *scenario) checkEnd(w *storyWatcher) {
	incidents := w.incidents()
	var page bytes.Buffer
	endSeen := true
	for i := range incidents {
		fmt.Fprintln(&page, incidents[i].Summary, incidents[i].WaitsFor, incidents[i].Remedy, incidents[i].Considered, incidents[i].Evidence, incidents[i].Figures())
		endSeen = endSeen && !incidents[i].Numbers.LongestAtLeast
		if x.over && incidents[i].State != "resolved" {
			w.t.Errorf("%s is %s in the end", &incidents[i], incidents[i].State)
		}
	}
	for _, want := range x.evidence {
		if !strings.Contains(page.String(), want) {
			w.t.Errorf("%q is not on the page: %s", want, &page)
		}
	}
	for _, text := range x.lacks {
		if strings.Contains(page.String(), text) {
			w.t.Errorf("%q is on the page: %s", text, &page)
		}
	}
	given := adviceOn(w.t, w.file)
	if endSeen {
		w.checkGraceTable(time.Duration(given.Heartbeats.Recommended))
	}
	checkSentences(w.t, w.pipeline)
	if got := findings(given); got != x.advice {
		w.t.Errorf("advise: %q, want %q", got, x.advice)
	}
}

// findings returns each kind of advice and the nodes or Services it applies to. It omits notes.
func findings(r report.Report) string {
	var texts []string
	for _, x := range r.Recommendations {
		if x.Severity == "note" {
			continue
		}
		text := x.Kind
		var nodes []string
		for _, n := range x.Nodes {
			nodes = append(nodes, strings.TrimPrefix(n.Node, "node-"))
		}
		slices.Sort(nodes)
		text = strings.TrimSpace(text + " " + strings.Join(nodes, ","))
		if name := cmp.Or(x.Service, strings.Join(x.Services, ",")); name != "" {
			text += " " + name
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// TestStories runs all stories.
func TestStories(t *testing.T) {
	withoutRaceDetector(t)
	stories := append(watchedStories(t), readStories(t, "watches", "starts", "broken_watches", "recommendations", "blind_spots", "weak_nodes", "jury", "mirrored")...)
	for _, x := range stories {
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			x.check(t)
		})
	}
	for _, v := range verdict.All() {
		comesOut := func(a clustertest.Ask) bool { return strings.Contains(a.Want, v.String()+" ") }
		if !slices.ContainsFunc(stories, func(x scenario) bool { return slices.ContainsFunc(x.Asks, comesOut) }) {
			t.Errorf("no story ends in the verdict %s", v)
		}
	}
}
