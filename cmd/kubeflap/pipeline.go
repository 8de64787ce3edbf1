package main

import (
	"context"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/web"
)

// pipeline feeds events to the tracker, and the transitions that the tracker returns to the histograms, the incidents and the
// reporter, in this order.
type pipeline struct {
	tracker   *track.Tracker
	collector *metrics.Collector
	incidents *correlate.Log
	reporter  reporter

	now func() time.Time
	// started is when the pipeline was made. It is zero in a replay, whose time begins with the first event.
	started time.Time
	// mu keeps the transitions in the tracker's order.
	mu sync.Mutex
}

// reporter writes down what happens. The pipeline never calls it twice at the same time.
type reporter interface {
	transition(x transition.Transition)
	// incident reports a notice about an incident at the given time.
	incident(at time.Time, n incident.Notice)
}

// settings configure a pipeline.
type settings struct {
	tracker track.Settings
	// incidents is how many of them are kept.
	incidents int
}

// newPipeline returns a pipeline that reads the time from now.
func newPipeline(settings settings, now func() time.Time, to reporter) *pipeline {
	p := &pipeline{tracker: track.New(settings.tracker), incidents: correlate.New(settings.incidents), reporter: to, now: now, started: now()}
	p.collector = metrics.NewCollector(p.tracker, p.incidents, p.advance)
	return p
}

// apply passes one event to the tracker and distributes the transitions.
func (p *pipeline) apply(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.distribute(p.tracker.Apply(e))
}

// advance moves the tracker to the current time, distributes the transitions, and returns that time.
func (p *pipeline) advance() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.now()
	p.distribute(p.tracker.Advance(t))
	return t
}

func (p *pipeline) distribute(found []transition.Transition) {
	for _, x := range found {
		p.collector.Observe(x)
		p.incidents.Observe(x)
		p.reporter.transition(x)
		// Most transitions are heartbeats, and no heartbeat starts an incident.
		if _, ok := x.(transition.HeartbeatSeen); !ok {
			p.report(x.Found(), p.incidents.Notices(x.When()))
		}
	}
}

func (p *pipeline) report(at time.Time, notices []incident.Notice) {
	for _, n := range notices {
		p.reporter.incident(at, n)
	}
}

// tick reports heartbeats that become late and incidents that end because time passes, until ctx ends.
func (p *pipeline) tick(ctx context.Context) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			t := p.advance()
			p.mu.Lock()
			p.report(t, p.incidents.Notices(t))
			p.mu.Unlock()
		}
	}
}

// finish reports what still waited for its cause and which incidents are ongoing. No event comes afterwards.
func (p *pipeline) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.distribute(p.tracker.Settle())
	t := p.now()
	p.report(t, p.incidents.LastNotices(t))
}

// cluster is what the pages show of the pipeline.
func (p *pipeline) cluster(name string) web.Cluster {
	return web.Cluster{
		Name: name, Unwatched: p.unwatched,
		Incidents: func() ([]incident.Incident, time.Time) {
			t := p.advance()
			return p.incidents.Incidents(t), t
		},
		Overview: func() ([]incident.Incident, time.Time) {
			t := p.advance()
			return p.incidents.Overview(t), t
		},
		Incident: func(id string) (incident.Incident, bool) { return p.incidents.Incident(p.advance(), id) },
	}
}

// unwatched returns the resources that are not watched now, none before a replay has begun.
func (p *pipeline) unwatched() []watches.Watch {
	t := p.now()
	if t.IsZero() {
		return nil
	}
	all := p.tracker.Unwatched(t)
	for i := range all {
		if all[i].Since.IsZero() {
			all[i].Since = p.started
		}
	}
	return all
}

// unready returns the resources that make /-/ready fail now.
func (p *pipeline) unready() []watches.Watch { return p.tracker.Unready(p.now()) }
