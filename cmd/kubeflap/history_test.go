package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/journal"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// restarted is a kubeflap that records its events, and is killed and restarted while it watches a fake cluster.
type restarted struct {
	t       *testing.T
	cluster *fakeCluster
	dir     string
	// size is the maximum number of incidents to keep.
	size     int
	pipeline *pipeline
	log      *slog.Logger
	// head is the head of the recording, which begins at headAt. recorded holds the events of all processes so far.
	head     head
	headAt   time.Time
	recorded []event.Event
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

func newRestarted(t *testing.T, c *fakeCluster) *restarted { return sized(t, c, 500) }

// sized returns a kubeflap that keeps at most the given number of incidents.
func sized(t *testing.T, c *fakeCluster, size int) *restarted {
	r := &restarted{t: t, cluster: c, dir: memoryDir(t), size: size, log: slog.New(slog.DiscardHandler)}
	r.begin()
	c.start()
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
	settings := trackerSettings()
	settings.incidents = r.size
	p := newPipeline(settings, func() time.Time { return r.cluster.now }, r)
	p.journal = journal.Open(r.dir, r.size, r.cluster.now, r.log)
	p.resume(&earlier{r.head, r.headAt, r.replay}, r.cluster.now, r.log)
	p.record = func(e event.Event) { r.recorded = append(r.recorded, e) }
	r.pipeline = p
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	r.stops = false
	go func() { ended <- p.journal.Run(ctx) }()
	r.cluster.sink = p.apply
	end := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
	r.kill = func() {
		end()
		r.cluster.sink = func(event.Event) {}
		r.endRecording()
	}
	r.t.Cleanup(end)
}

// endRecording ends the recording of a process. A process that is killed loses the events of its last half second.
func (r *restarted) endRecording() {
	for n := len(r.recorded); n > 0 && !r.stops && r.cluster.now.Sub(r.recorded[n-1].Seen) < time.Second/2; n-- {
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

// tick looks after the incidents like one tick of pipeline.runTicker.
func (r *restarted) tick() { r.pipeline.tick() }

// runUntil runs the cluster up to the given second, and ticks twice per second.
func (r *restarted) runUntil(second float64) {
	for r.cluster.second() < second {
		r.cluster.runUntil(min(second, r.cluster.second()+0.5))
		if names := r.pipeline.tracker.LeasesToRead(r.cluster.now); len(names) > 0 {
			r.cluster.readLeases(names)
		}
		r.tick()
	}
}

// restart kills the process and starts another one at the given second.
func (r *restarted) restart(second float64) {
	r.kill()
	r.cluster.runUntil(second)
	r.begin()
	r.cluster.watch()
}

func (r *restarted) incidents() []incident.Incident { return allIncidents(r.pipeline) }

// allIncidents returns the current incidents and those of earlier processes, with all details.
func allIncidents(p *pipeline) []incident.Incident {
	c := p.cluster("")
	all := c.Read().Incidents
	for i := range all {
		all[i], _ = c.Incident(all[i].ID)
	}
	return all
}

func (r *restarted) notices() string {
	var texts []string
	for _, n := range r.reported {
		kind := map[incident.NoticeKind]string{incident.Started: "started", incident.Ended: "ended", incident.Continued: "continued"}[n.Kind]
		texts = append(texts, fmt.Sprintf("%s %s %v", kind, n.Incident.Subject, n.Incident.Verdict))
	}
	return strings.Join(texts, ", ")
}

// TestARestartInAnOutageIsOneIncident restarts kubeflap at 400 s while a node is silent from 300 s on. The incident
// must keep its start and its verdict.
func TestARestartInAnOutageIsOneIncident(t *testing.T) {
	for _, down := range []float64{1, 30, 300} {
		t.Run(fmt.Sprintf("down for %gs", down), func(t *testing.T) {
			t.Parallel()
			r := newRestarted(t, newFakeCluster(9).silence(300, 2000, 5))
			r.runUntil(400)
			before := r.incidents()
			if len(before) != 1 {
				t.Fatalf("before the restart: %d incidents, want one", len(before))
			}
			r.restart(400 + down)
			r.runUntil(402 + down)
			for _, until := range []float64{410 + down, 700 + down, 1900} {
				r.runUntil(until)
				all := r.incidents()
				if len(all) != 1 || all[0].ID != before[0].ID || !all[0].Start.Equal(before[0].Start) || all[0].Verdict != before[0].Verdict || all[0].State != incident.StateRunning {
					t.Fatalf("at %g s: %+v\nwant that %s goes on with its start and verdict", until, all, before[0].ID)
				}
			}
			texts := func(x incident.Incident) (all []string) {
				for _, e := range x.Evidence {
					all = append(all, e.Text)
				}
				return all
			}
			after := texts(r.incidents()[0])
			for _, text := range texts(before[0]) {
				if !slices.Contains(after, text) {
					t.Errorf("evidence %q is lost: %q", text, after)
				}
			}
			if !slices.Contains(after, "kubeflap stopped watching") {
				t.Errorf("the evidence does not say that kubeflap stopped watching: %q", after)
			}
			if x, ok := r.pipeline.cluster("").Incident(before[0].ID); !ok || x.ID != before[0].ID || x.State != incident.StateRunning {
				t.Errorf("by its ID: %v, %+v", ok, x)
			}
			blind := slices.DeleteFunc(r.incidents()[0].Timeline, func(s incident.Span) bool { return s.Track != incident.TrackBlind })
			if len(blind) != 1 || blind[0].End.Sub(blind[0].Start) < time.Duration(down)*time.Second {
				t.Errorf("the timeline has the blind intervals %+v, want one from 400 s to the first lists", blind)
			}
			covers := r.pipeline.cluster("").Read().Coverage
			if len(covers.Gaps) != 1 || covers.Gaps[0].Reason != event.ReasonNotRunning || covers.Gaps[0].To.IsZero() || !covers.Since.Before(covers.Gaps[0].From) {
				t.Errorf("covered %+v, want the restart as its only gap", covers)
			}
			r.runUntil(2300)
			if got, want := r.notices(), "started node-5 node, continued node-5 node, ended node-5 node"; got != want {
				t.Errorf("reported %s, want %s", got, want)
			}
		})
	}
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
