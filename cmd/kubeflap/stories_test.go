package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/advice/observed"
	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/web"
)

// scenario is what happens to a cluster, and what kubeflap must say about it.
type scenario struct {
	name    string
	cluster func() *fakeCluster
	// harm is the second of the first harm: 2 minutes later it is on the page. A story without harm has 0.
	harm float64
	// asked is what the page says at some seconds; the last one ends the story.
	asked []asked
	// never are verdicts that are not named at any time, separated by spaces.
	never string
	// open is why nobody could decide from these sources until the second decided, or ever if that is 0. Without it, no moment is undecided.
	open    string
	decided float64
	// evidence are texts that the page has in the end, lacks texts that it does not have then. over: no incident is ongoing then.
	evidence, lacks []string
	over            bool
	// advice are the kinds of findings of `kubeflap advise` in the end, notes aside.
	advice string
}

// asked is what the page says at a second: for each incident its verdict and its nodes, or the subject if it is not about nodes.
type asked struct {
	at   float64
	want string
}

// tally counts in how many places the verdict was right.
type tally struct {
	mu           sync.Mutex
	right, asked map[string]int
}

func (x *tally) count(place string, right bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked[place]++
	if right {
		x.right[place]++
	}
}

// storyWatcher is a kubeflap that watches a fake cluster, and records what it sees.
type storyWatcher struct {
	t        *testing.T
	cluster  *fakeCluster
	pipeline *pipeline
	page     http.Handler
	file     string
	writer   *recording.Writer
}

func newStoryWatcher(t *testing.T, c *fakeCluster) *storyWatcher {
	w := &storyWatcher{t: t, cluster: c, file: filepath.Join(t.TempDir(), "story.jsonl")}
	w.pipeline = newPipeline(trackerSettings(), func() time.Time { return c.now }, silent(""))
	registry := prometheus.NewRegistry()
	page := metrics.NewPage(registry)
	page.Add(w.pipeline.collector, "")
	handler, err := web.Handler(web.Pages{Metrics: page, Registry: registry, Clusters: []web.Cluster{w.pipeline.cluster("")}, Unready: w.pipeline.unready}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.page = handler
	if w.writer, err = recording.Create(w.file, recording.Header{Recorded: c.now}); err != nil {
		t.Fatal(err)
	}
	c.sink = func(e event.Event) {
		if err := w.writer.Write(e); err != nil {
			t.Fatal(err)
		}
		w.pipeline.apply(e)
	}
	c.start()
	return w
}

// runUntil watches until a second, and reads Leases directly when kubeflap would.
func (w *storyWatcher) runUntil(second float64) {
	for w.cluster.second() < second {
		w.cluster.runUntil(min(second, w.cluster.second()+0.5))
		if w.pipeline.tracker.LeasesBehind(w.cluster.now) {
			w.cluster.reopen()
		}
		if names := w.pipeline.tracker.LeasesToRead(w.cluster.now); len(names) > 0 {
			w.cluster.readLeases(names)
		}
	}
}

// pageIncident is an incident of the API, as far as stories ask.
type pageIncident struct {
	Verdict, Scope, State, Namespace, Subject, Summary, Remedy, Command, Withdrawn string
	End                                                                            *time.Time
	Nodes                                                                          []string
	Services                                                                       []struct{ Namespace, Service string }
	Considered                                                                     []struct{ Verdict, Holds, Because string }
	Evidence                                                                       []struct{ Text string }
}

func (w *storyWatcher) incidents() []pageIncident {
	r := httptest.NewRecorder()
	w.page.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/api/v1/incidents", http.NoBody))
	var answer struct{ Incidents []pageIncident }
	if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil {
		w.t.Fatalf("%v: %s", err, r.Body)
	}
	return answer.Incidents
}

// String is what asked expects.
func (x *pageIncident) String() string {
	if x.Withdrawn != "" {
		return "withdrawn"
	}
	if x.Scope == "control_plane" || x.Scope == "node" {
		return x.Verdict + " " + strings.ReplaceAll(strings.Join(x.Nodes, ","), "node-", "")
	}
	return x.Verdict + " " + x.Namespace + "/" + x.Subject
}

func textOf(all []pageIncident) string {
	var texts []string
	for i := range all {
		texts = append(texts, all[i].String())
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "; ")
}

// verdictMetrics are the verdicts on /metrics, and those that the page shows about the same nodes and Services.
func (w *storyWatcher) verdictMetrics(all []pageIncident) (got, want string) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(w.pipeline.collector.Only([]string{"kubeflap_node_verdict", "kubeflap_service_verdict"}))
	families, err := registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	var have, should []string
	for _, f := range families {
		for _, m := range f.Metric {
			have = append(have, seriesText(m))
		}
	}
	for i := range all {
		x := &all[i]
		if x.Withdrawn != "" || x.State == "ended" && w.cluster.now.Sub(*x.End) > 10*time.Minute {
			continue
		}
		if x.Scope == "control_plane" || x.Scope == "node" {
			for _, n := range x.Nodes {
				should = append(should, n+"="+x.Verdict)
			}
		}
		for _, v := range x.Services {
			should = append(should, v.Namespace+"/"+v.Service+"="+x.Verdict)
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

// check plays a story, and asks.
func (x *scenario) check(t *testing.T, all *tally) {
	w := newStoryWatcher(t, x.cluster())
	next, onPage := 0, false
	for second := 5.0; next < len(x.asked); second += 5 {
		for ; next < len(x.asked) && x.asked[next].at <= second; next++ {
			w.runUntil(x.asked[next].at)
			x.ask(w, x.asked[next], all)
		}
		w.runUntil(second)
		incidents := w.incidents()
		onPage = onPage || len(incidents) > 0
		x.checkNever(w, incidents)
		if x.harm > 0 && second >= x.harm+120 && !onPage {
			t.Errorf("the harm of second %g is not on the page after 2 minutes", x.harm)
			onPage = true
		}
	}
	w.pipeline.finish()
	if err := w.writer.Close(); err != nil {
		t.Fatal(err)
	}
	x.checkEnd(w, all)
}

func (x *scenario) ask(w *storyWatcher, a asked, all *tally) {
	incidents := w.incidents()
	got := textOf(incidents)
	all.count("page", got == a.want)
	if got != a.want {
		w.t.Errorf("the page at %g: %q, want %q", a.at, got, a.want)
		for i := range incidents {
			w.t.Logf("%s %s: %v", incidents[i].State, incidents[i].Summary, incidents[i].Considered)
		}
	}
	metrics, page := w.verdictMetrics(incidents)
	all.count("metrics", metrics == page && got == a.want)
	if metrics != page {
		w.t.Errorf("the metrics at %g: %q, but the page %q", a.at, metrics, page)
	}
}

// checkNever holds what the page says at any moment against what it must not say.
func (x *scenario) checkNever(w *storyWatcher, all []pageIncident) {
	for i := range all {
		switch v := all[i].Verdict; {
		case all[i].Withdrawn != "":
		case slices.Contains(strings.Fields(x.never), v):
			w.t.Errorf("at %g: %s: %v", w.cluster.second(), &all[i], all[i].Considered)
		case v == "undecided" && (x.open == "" || x.decided > 0 && w.cluster.second() >= x.decided):
			w.t.Errorf("at %g: %s, which this story can decide: %v", w.cluster.second(), &all[i], all[i].Considered)
		case v == "undecided" && all[i].Command == "":
			w.t.Errorf("at %g: %s without a command that would decide", w.cluster.second(), &all[i])
		}
	}
}

// checkEnd asks for the evidence, and then for the advice from the recording.
func (x *scenario) checkEnd(w *storyWatcher, all *tally) {
	incidents := w.incidents()
	var page bytes.Buffer
	for i := range incidents {
		fmt.Fprintln(&page, incidents[i].Summary, incidents[i].Remedy, incidents[i].Considered, incidents[i].Evidence)
		if x.over && incidents[i].State != "ended" {
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
	families, err := readRecording(w.t.Context(), w.file, trackerSettings().tracker)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := observed.Cluster(families, "")
	if err != nil {
		w.t.Fatal(err)
	}
	got := findings(report.Of(c))
	all.count("advise", got == x.advice)
	if got != x.advice {
		w.t.Errorf("advise: %q, want %q", got, x.advice)
	}
}

// findings are the kinds of advice with the nodes or Services, notes aside.
func findings(r report.Report) string {
	var texts []string
	for _, x := range r.Recommendations {
		if x.Severity == report.Note {
			continue
		}
		text := string(x.Kind)
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

// TestStories tells in how many places the verdict was right.
func TestStories(t *testing.T) {
	if testing.Short() {
		t.Skip("it has one goroutine, and takes long with the race detector")
	}
	stories := slices.Concat(storiesOfHeartbeats(), storiesOfTheControlPlane(), storiesOfWatches(), storiesOfStarts(), storiesOfBreaks(), storiesOfDepartures(), storiesOfRecreatedNodes(), storiesOfMachinesGone(), storiesOfServices(), storiesOfWriters(), storiesOfConflicts(), storiesOfAdvice())
	tellStories(t, stories)
	for _, v := range verdict.All() {
		comesOut := func(a asked) bool { return strings.Contains(a.want, v.String()+" ") }
		if !slices.ContainsFunc(stories, func(x scenario) bool { return slices.ContainsFunc(x.asked, comesOut) }) {
			t.Errorf("no story ends in the verdict %s", v)
		}
	}
}

func tellStories(t *testing.T, stories []scenario) {
	total := tally{right: map[string]int{}, asked: map[string]int{}}
	t.Run("told", func(t *testing.T) {
		for i := range stories {
			x := &stories[i]
			t.Run(x.name, func(t *testing.T) {
				t.Parallel()
				x.check(t, &total)
			})
		}
	})
	right, places := 0, 0
	for _, place := range []string{"page", "metrics", "advise"} {
		t.Logf("%s: %d of %d right", place, total.right[place], total.asked[place])
		right, places = right+total.right[place], places+total.asked[place]
	}
	t.Logf("%d stories: the verdict was right in %d of %d places", len(stories), right, places)
}
