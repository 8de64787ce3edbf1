package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/watch"
	"github.com/kubeflap/kubeflap/exporter/web"
)

// pipeline passes events to the tracker. It passes the resulting transitions to the histograms, the incidents and
// the reporter, in this order.
type pipeline struct {
	tracker   *track.Tracker
	collector *metrics.Collector
	incidents *correlate.Log
	reporter  reporter

	settings settings
	// name is the value of the label "cluster". It is empty if there is only one cluster.
	name string
	// scope is what the pipeline's events show.
	scope scope

	// `record` receives each event before the tracker receives it. `record` is nil if nothing is recorded.
	record func(event.Event)
	// `journal` keeps the resolved incidents of this process and of earlier ones. It is nil if no incidents are kept.
	journal *flightrecorder.Journal
	// recorderStatus returns the state of the flight recorder. It is nil if nothing is recorded.
	recorderStatus func() flightrecorder.Status
	now            func() time.Time
	// `started` is the creation time of the pipeline. It is zero in a replay, whose time starts with the first event.
	started time.Time
	// mu ensures that transitions are distributed in the order in which the tracker returns them.
	mu sync.Mutex
}

// reporter prints or logs transitions and incidents. The pipeline never calls it concurrently.
type reporter interface {
	transition(x transition.Transition)
	// incident prints or logs a notice about an incident. `at` is the current time.
	incident(at time.Time, n incident.Notice)
}

// settings holds the settings of a pipeline.
type settings struct {
	tracker track.Settings
	// incidents is the maximum number of incidents to keep.
	incidents int
}

// newPipeline returns a pipeline that calls `now` for the current time.
func newPipeline(settings settings, now func() time.Time, to reporter) *pipeline {
	p := &pipeline{settings: settings, reporter: to, now: now}
	p.begin(now())
	return p
}

// begin makes the pipeline start with an empty state. `started` is zero in a replay.
func (p *pipeline) begin(started time.Time) {
	p.started = started
	p.tracker, p.incidents = track.New(p.settings.tracker), correlate.New(p.settings.incidents)
	p.tracker.Advance(started) // from now on, resources are not watched until they are listed
	p.collector = metrics.NewCollector(p.tracker, p.incidents, p.advance)
}

// apply passes an event to the tracker and distributes the resulting transitions.
func (p *pipeline) apply(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.record != nil {
		// Recordings have no nanoseconds, and their replay must give the same. Truncate would remove the monotonic reading.
		e.Seen = e.Seen.Add(-time.Duration(e.Seen.Nanosecond()) % time.Microsecond)
		p.record(e)
	}
	p.distribute(p.tracker.Apply(e))
	p.report(e.Seen, p.incidents.Notices(e.Seen)) // some notices are due a while after their transition
}

// advance advances the tracker to the current time and distributes the resulting transitions. It returns the current
// time.
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
			p.report(x.FoundAt(), p.incidents.Notices(x.When()))
		}
	}
}

func (p *pipeline) report(at time.Time, notices []incident.Notice) {
	for _, n := range notices {
		isNew := true
		if p.journal != nil && (n.Kind == incident.Ended || n.Kind == incident.Revised) {
			isNew = p.journal.Add(n.Incident) // otherwise, an earlier process has reported the end
		}
		if isNew && n.Kind != incident.Revised {
			p.reporter.incident(at, n)
		}
	}
}

// follow passes the events of a live cluster to the pipeline until ctx is canceled.
//
// It reads Leases directly from the API server when the Lease watch may be late. With a late watch, nodes seem to have
// stopped renewing their Leases. The tracker receives each Lease as an event. follow reopens a Lease watch that lags
// behind.
func (p *pipeline) follow(ctx context.Context, watcher *watch.Watcher) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return watcher.Run(ctx) })
	var reads errgroup.Group
	reads.SetLimit(1) // while a read is running, no other begins
	group.Go(func() error {
		p.runTicker(ctx, func(t time.Time) {
			if p.tracker.LeasesBehind(t) {
				watcher.ReopenLeases()
			}
			if names := p.tracker.LeasesToRead(t); len(names) > 0 {
				reads.TryGo(func() error {
					watcher.ReadLeases(ctx, names)
					return nil
				})
			}
		})
		return reads.Wait()
	})
	return group.Wait()
}

// observe watches a live cluster. It calls `do` as soon as all resources are listed, and stops when `do` returns. The
// text says how long it waits for the lists.
func observe(p program, flags *clusterFlags, s settings, within time.Duration, text string, do func(context.Context, *pipeline) error) error {
	s.tracker.Namespaced = flags.namespace != ""
	pipeline := newPipeline(s, time.Now, silent)
	watcher, err := newWatcher(p.logger, flags, pipeline.apply)
	if err != nil {
		return err
	}
	watcher.FailFast = true
	watching, stop := context.WithCancel(context.WithoutCancel(p.ctx)) // after an interrupt, there is still something to say
	group, ctx := errgroup.WithContext(watching)
	group.Go(func() error { return pipeline.follow(ctx, watcher) })
	group.Go(func() error {
		defer stop()
		limit, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		defer context.AfterFunc(p.ctx, cancel)()
		switch synced := pipeline.waitForSync(limit, p.logger); {
		case p.ctx.Err() != nil:
			return errors.New("interrupted before the cluster was listed")
		case !synced:
			return fmt.Errorf("could not list all resources within %s", text)
		}
		return do(ctx, pipeline)
	})
	return group.Wait() //nolint:wrapcheck // both functions return errors of this package
}

// waitForSync waits until all resources are listed, and logs that it waits. It reports false if ctx is canceled before.
func (p *pipeline) waitForSync(ctx context.Context, logger *slog.Logger) bool {
	for next := time.Now().Add(progressEvery); !p.tracker.Synced(); {
		if wait(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return false
		}
		if time.Now().After(next) {
			next = next.Add(10 * progressEvery)
			logger.Info("waiting for the lists of all resources")
		}
	}
	return true
}

// wait waits for a time, or until ctx is canceled.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// runTicker advances the time at a short interval until ctx is canceled, and then calls check. This is necessary because
// no event announces a late heartbeat or the end of an incident.
func (p *pipeline) runTicker(ctx context.Context, check func(t time.Time)) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-ticker.C:
			p.tick()
			check(t)
		}
	}
}

func (p *pipeline) tick() {
	t := p.advance()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report(t, p.incidents.Notices(t))
}

// finish reports pending transitions and ongoing incidents. Do not call apply afterwards.
func (p *pipeline) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.distribute(p.tracker.Settle())
	t := p.now()
	p.report(t, p.incidents.LastNotices(t))
}

// cluster returns the pipeline's data for the web pages.
func (p *pipeline) cluster() web.Cluster {
	return web.Cluster{
		Name: p.name, Recorded: p.started.IsZero(), Read: p.read, Advice: p.advice,
		Incident: func(id string) (incident.Incident, bool) {
			t := p.advance()
			if x, ok := p.incidents.Incident(t, id); ok || p.journal == nil {
				return x, ok
			}
			return p.journal.Incident(id)
		},
	}
}

// read returns the current state for the web pages.
func (p *pipeline) read() web.State {
	t := p.advance()
	all, displaced := p.withEarlier(p.incidents.Overview(t), t)
	s := web.State{
		AsOf: t, Incidents: all, Displaced: displaced, Started: p.started, Coverage: p.tracker.Coverage(t), GracePeriods: p.gracePeriods(),
	}
	if p.journal != nil {
		s.LostUntil = p.journal.LostUntil()
	}
	if p.recorderStatus != nil {
		status := p.recorderStatus()
		s.Recorder = &status
	}
	return s
}

// advice returns the report of `kubeflap advise`.
func (p *pipeline) advice() (report.Report, error) {
	return report.Of(p.advance(), p.tracker, p.incidents, p.collector.Intervals(), p.gracePeriods())
}

// gracePeriods returns the comparison of grace periods.
func (p *pipeline) gracePeriods() controlplane.Table {
	t := p.advance()
	table := p.tracker.GraceTable(t)
	table.Cluster, table.Notes = p.name, advice.NotesOn(&table, p.incidents.GracePeriod(t))
	return table
}

// unready returns the resources that currently make /-/ready fail.
func (p *pipeline) unready() []watches.Watch { return p.tracker.Unready(p.now()) }
