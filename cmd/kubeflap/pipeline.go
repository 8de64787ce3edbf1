package main

import (
	"context"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/web"
)

// pipeline is the way through: what comes in at apply can be read from collector and incidents.
type pipeline struct {
	// mu keeps the transitions in the order in which the tracker found them.
	mu        sync.Mutex
	tracker   *track.Tracker
	collector *metrics.Collector
	incidents *incident.Log
	now       func() time.Time
	// started is when the pipeline was made; zero in a replay, whose time has not begun then.
	started  time.Time
	listener listener
}

// listener hears of each transition, and of incidents that begin, change and end.
type listener struct {
	transition func(transition.Transition)
	incident   func(incident.Notice)
}

// settings are those of a pipeline.
type settings struct {
	tracker   track.Settings
	incidents int
}

// deaf listens to nothing.
func deaf(string) listener {
	return listener{func(transition.Transition) {}, func(incident.Notice) {}}
}

// newPipeline makes a pipeline whose answers are as of now().
func newPipeline(settings settings, now func() time.Time, listener listener) *pipeline {
	h := &pipeline{collector: metrics.NewCollector(), incidents: incident.New(settings.incidents), now: now, started: now(), listener: listener}
	h.tracker = track.New(settings.tracker)
	h.collector.Read(h.tracker, h.asOfNow)
	return h
}

// apply takes in one event.
func (p *pipeline) apply(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.distribute(p.tracker.Apply(e))
}

// asOfNow lets the time pass until now, and returns it.
func (p *pipeline) asOfNow() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.now()
	p.distribute(p.tracker.Advance(t))
	return t
}

// distribute hands transitions to the histograms, the incidents and the listener, in their order.
func (p *pipeline) distribute(found []transition.Transition) {
	for _, x := range found {
		p.collector.Observe(x)
		p.incidents.Observe(x)
		p.listener.transition(x)
		// Most transitions are heartbeats, and no heartbeat begins an incident.
		if _, ok := x.(transition.HeartbeatSeen); !ok {
			p.notifyAt(x.When())
		}
	}
}

func (p *pipeline) notifyAt(t time.Time) {
	for _, notice := range p.incidents.News(t) {
		p.listener.incident(notice)
	}
}

// finish tells what was still waited for, and of the incidents that have not ended, when nothing more will come.
func (p *pipeline) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.distribute(p.tracker.Settle())
	for _, notice := range p.incidents.Rest(p.now()) {
		p.listener.incident(notice)
	}
}

// letTimePass lets the pipeline find what becomes late, or is over, by the mere passing of time.
func (p *pipeline) letTimePass(ctx context.Context) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			p.notify()
		}
	}
}

// notify reports what became due by now.
func (p *pipeline) notify() {
	t := p.asOfNow()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notifyAt(t)
}

// cluster is what the pages read of the pipeline.
func (p *pipeline) cluster(name string) web.Cluster {
	return web.Cluster{Name: name, Unwatched: p.unwatched, Incidents: func() ([]incident.Incident, time.Time) {
		t := p.asOfNow()
		return p.incidents.Incidents(t), t
	}}
}

// unwatched is what is not watched now. Of a recording that has not begun there is nothing to say.
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

// unready is what makes the pipeline unfit to be asked now.
func (p *pipeline) unready() []watches.Watch { return p.tracker.Unready(p.now()) }

// pipelineFlags are the flags of a pipeline's settings.
type pipelineFlags struct {
	tracker   *trackerFlags
	incidents int
}

func addPipelineFlags(cmd *kingpin.CmdClause) *pipelineFlags {
	h := &pipelineFlags{tracker: addTrackerFlags(cmd)}
	cmd.Flag("incidents.size", "How many incidents are kept, the newest.").
		Default("500").SetValue(named{(*positiveInt)(&h.incidents), "incidents.size"})
	return h
}

func (h *pipelineFlags) parsed() settings { return settings{h.tracker.parsed(), h.incidents} }

// trackerFlags are the flags of the tracker's settings.
type trackerFlags struct {
	settings track.Settings
	source   string
}

const (
	sourceAuto           = "auto"
	sourceEndpointSlices = "endpointslices"
	sourceEndpoints      = "endpoints"
)

func addTrackerFlags(cmd *kingpin.CmdClause) *trackerFlags {
	f := &trackerFlags{}
	cmd.Flag("node-monitor-grace-period",
		"The kube-controller-manager's flag of this name. 0s finds it out: from its pod, from what is seen, or by the server's version.").
		Default("0s").SetValue(named{(*positiveDuration)(&f.settings.GracePeriod), "node-monitor-grace-period"})
	cmd.Flag("bounce-window", "How soon an address must be back in rotation to count as a bounce.").
		Default("2m").SetValue(named{(*positiveDuration)(&f.settings.BounceWindow), "bounce-window"})
	cmd.Flag("endpoints.source", "Where the states of addresses are read from: auto takes EndpointSlices where the cluster has them, else Endpoints.").
		Default(sourceAuto).SetValue(named{choice{&f.source, []string{sourceAuto, sourceEndpointSlices, sourceEndpoints}}, "endpoints.source"})
	return f
}

func (f *trackerFlags) parsed() track.Settings {
	settings := f.settings
	switch f.source {
	case sourceEndpointSlices:
		settings.AddressSource = event.KindEndpointSlice
	case sourceEndpoints:
		settings.AddressSource = event.KindEndpoints
	}
	return settings
}
