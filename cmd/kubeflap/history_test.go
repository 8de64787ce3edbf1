package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// restarted is a kubeflap that records its events, and is killed and restarted while it watches a fake cluster.
type restarted struct {
	t       *testing.T
	cluster *clustertest.Cluster
	dir     string
	// size is the maximum number of incidents to keep.
	size     int
	pipeline *pipeline
	// head is the head of the recording, which begins at headAt. recorded holds the events of all processes so far.
	head     head
	headAt   time.Time
	recorded []event.Event
	// If bytes is set, a real flight recorder keeps as much. It needs a bubble of package synctest, in which this kubeflap
	// runs at the pace of the clock.
	bytes int64
	// kill ends the process. If stops is set, the process stops by itself, so that its last events are recorded.
	kill  func()
	stops bool
	// reported holds the notices of all processes.
	reported []incident.Notice
}

// transition implements reporter.
func (*restarted) transition(transition.Transition) {}

// incident implements reporter.
func (r *restarted) incident(_ time.Time, n incident.Notice) { r.reported = append(r.reported, n) }

// newRestarted returns a kubeflap that watches the cluster that the lines tell.
func newRestarted(t *testing.T, lines string) *restarted {
	t.Helper()
	return startRestarted(&restarted{t: t, cluster: clustertest.Told(lines), size: 500})
}

func startRestarted(r *restarted) *restarted {
	if r.dir == "" {
		r.dir = memoryDir(r.t)
	}
	r.begin()
	r.cluster.Start()
	return r
}

// memoryDir returns a directory for one test. It is in memory where the system allows it.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "kubeflap-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// begin starts a process.
func (r *restarted) begin() {
	log, now := slog.New(slog.DiscardHandler), r.cluster.Now
	settings := trackerSettings()
	settings.incidents = r.size
	p := newPipeline(settings, func() time.Time { return r.cluster.Now }, r)
	p.journal = flightrecorder.OpenJournal(r.dir, r.size, now, log)
	runs := []func(context.Context) error{p.journal.Run}
	if r.bytes == 0 {
		p.resume(r.t.Context(), &earlier{r.head, r.headAt, r.replay}, now, log)
		p.record = func(e event.Event) { r.recorded = append(r.recorded, e) }
	} else {
		recorder, err := flightrecorder.New(flightrecorder.Settings{Dir: r.dir, Size: r.bytes, Age: 1000 * time.Hour, Head: p.head}, log)
		if err != nil {
			r.t.Fatal(err)
		}
		found, err := findEarlier(r.dir, p.scope)
		if err != nil {
			r.t.Error(err)
		}
		if found != nil {
			p.resume(r.t.Context(), found, now, log)
		}
		p.record, runs = recorder.Record, append(runs, recorder.Run)
	}
	r.pipeline, r.cluster.Watchers[0].Sink, r.stops = p, p.apply, false
	r.kill = r.runs(runs)
}

// runs runs the parts of a process, and returns a function that ends it.
func (r *restarted) runs(parts []func(context.Context) error) (kill func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, len(parts))
	for _, run := range parts {
		go func() { ended <- run(ctx) }()
	}
	end := sync.OnceFunc(func() {
		cancel()
		for range parts {
			if err := <-ended; err != nil {
				r.t.Error(err)
			}
		}
	})
	r.t.Cleanup(end)
	return func() {
		end()
		r.cluster.Watchers[0].Sink = func(event.Event) {}
		r.endRecording()
	}
}

// endRecording ends the recording of a process. A process that is killed loses the events of its last half second.
func (r *restarted) endRecording() {
	for n := len(r.recorded); n > 0 && !r.stops && r.cluster.Now.Sub(r.recorded[n-1].Seen) < time.Second/2; n-- {
		r.recorded = r.recorded[:n-1]
	}
	if len(r.recorded) == 0 {
		return
	}
	last := r.recorded[len(r.recorded)-1].Seen
	for _, w := range r.pipeline.tracker.Watches(last, nil) {
		if w.Synced && w.Up {
			r.recorded = append(r.recorded, event.Event{Seen: last, Kind: w.Resource, Type: event.Down, Reason: event.ReasonNotRecorded})
		}
	}
}

// replay yields the recorded events, in the way of flightrecorder.Read.
func (r *restarted) replay(yield func(event.Event, error) bool) {
	for _, e := range r.recorded {
		if !yield(e, nil) {
			return
		}
	}
}

// runUntil runs the cluster up to the given second, and ticks twice per second like pipeline.runTicker.
func (r *restarted) runUntil(second float64) {
	for until := storyBegin.Add(seconds(second)); r.cluster.Now.Before(until); {
		r.cluster.RunUntil(min(second, r.cluster.Second()+0.5))
		if names := r.pipeline.tracker.LeasesToRead(r.cluster.Now); len(names) > 0 {
			r.cluster.Watchers[0].ReadLeases(names)
		}
		r.pipeline.tick()
		if r.bytes > 0 {
			time.Sleep(time.Second / 2)
		}
	}
}

// restart kills the process and starts another one at the given second.
func (r *restarted) restart(second float64) {
	r.kill()
	r.cluster.RunUntil(second)
	r.begin()
	r.cluster.Watchers[0].Start()
}

// headOf returns the head of a segment that begins at a time.
func (r *restarted) headOf(begins time.Time) (h head) {
	r.t.Helper()
	if err := json.Unmarshal(r.pipeline.head(begins), &h); err != nil {
		r.t.Fatal(err)
	}
	return h
}

// beginSegment replaces the recording by a new segment: a head, and the lists of all objects.
func (r *restarted) beginSegment() {
	r.head, r.headAt, r.recorded = r.headOf(r.cluster.Now), r.cluster.Now, nil
	watched := r.cluster.Watchers[0].Sink
	r.cluster.Watchers[0].Sink = func(e event.Event) { r.recorded = append(r.recorded, e) }
	r.cluster.Watchers[0].Start()
	r.cluster.Watchers[0].Sink = watched
}

func (r *restarted) incidents() []incident.Incident { return allIncidents(r.pipeline) }

// allIncidents returns the current incidents and those of earlier processes, with all details.
func allIncidents(p *pipeline) []incident.Incident {
	c := p.cluster()
	all := c.Read().Incidents
	for i := range all {
		all[i], _ = c.Incident(all[i].ID)
	}
	return all
}

func (r *restarted) notices() string {
	var texts []string
	for _, n := range r.reported {
		kind := map[incident.NoticeKind]string{incident.Started: "started", incident.Ended: "ended"}[n.Kind]
		texts = append(texts, fmt.Sprintf("%s %s %v", kind, n.Incident.Subject, n.Incident.Verdict))
	}
	return strings.Join(texts, ", ")
}

// only returns the only incident.
func (r *restarted) only() incident.Incident {
	r.t.Helper()
	all := r.incidents()
	if len(all) != 1 {
		r.t.Fatalf("got %d incidents, want one: %+v", len(all), all)
	}
	return all[0]
}

// ends returns how often the end of an incident was reported.
func (r *restarted) ends(id string) (n int) {
	for _, x := range r.reported {
		if x.Kind == incident.Ended && x.Incident.ID == id {
			n++
		}
	}
	return n
}
