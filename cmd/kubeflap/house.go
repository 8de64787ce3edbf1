package main

import (
	"context"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/web"
)

// house is the way through: what comes in at fold.Apply can be read from collector and incidents.
type house struct {
	fold      *track.Fold
	collector *metrics.Collector
	incidents *incident.Log
	now       func() time.Time
	// started is when the house was made; zero in a replay, whose time has not begun then.
	started  time.Time
	listener listener
}

// listener is told of each finding, and of incidents that begin, change and end.
type listener struct {
	finding  func(track.Finding)
	incident func(incident.Notice)
}

// settings are those of a house.
type settings struct {
	fold      track.Settings
	incidents int
}

// deaf listens to nothing.
func deaf(string) listener {
	return listener{func(track.Finding) {}, func(incident.Notice) {}}
}

// newHouse makes a house whose answers are as of now().
func newHouse(settings settings, now func() time.Time, listener listener) *house {
	h := &house{collector: metrics.NewCollector(), incidents: incident.New(settings.incidents), now: now, started: now(), listener: listener}
	h.fold = track.New(settings.fold, func(x track.Finding) {
		h.collector.Observe(x)
		h.incidents.Observe(x)
		listener.finding(x)
		// Most findings by far, and none that begins an incident.
		if x.Kind != track.HeartbeatSeen {
			h.tellNews(x.Time)
		}
	})
	h.collector.Read(h.fold, now)
	return h
}

func (h *house) tellNews(t time.Time) {
	for _, notice := range h.incidents.News(t) {
		h.listener.incident(notice)
	}
}

// tellRest tells what was still waited for, and of the incidents that have not ended, when nothing more will come.
func (h *house) tellRest() {
	h.fold.Settle()
	for _, notice := range h.incidents.Rest(h.now()) {
		h.listener.incident(notice)
	}
}

// letTimePass lets the house find what becomes late, or is over, by the mere passing of time.
func (h *house) letTimePass(ctx context.Context) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			t := h.now()
			h.fold.Advance(t)
			h.tellNews(t)
		}
	}
}

// cluster is what the pages read of the house.
func (h *house) cluster(name string) web.Cluster {
	return web.Cluster{Name: name, Unwatched: h.unwatched, Incidents: func() ([]incident.Incident, time.Time) {
		t := h.now()
		h.fold.Advance(t)
		return h.incidents.Incidents(t), t
	}}
}

// unwatched is what is not watched now. Of a recording that has not begun there is nothing to say.
func (h *house) unwatched() []track.Watch {
	t := h.now()
	if t.IsZero() {
		return nil
	}
	all := h.fold.Unwatched(t)
	for i := range all {
		if all[i].Since.IsZero() {
			all[i].Since = h.started
		}
	}
	return all
}

// unready is what makes the house unfit to be asked now.
func (h *house) unready() []track.Watch { return h.fold.Unready(h.now()) }

// houseFlags are the flags of a house's settings.
type houseFlags struct {
	fold      *foldFlags
	incidents int
}

func addHouseFlags(cmd *kingpin.CmdClause) *houseFlags {
	h := &houseFlags{fold: addFoldFlags(cmd)}
	cmd.Flag("incidents.size", "How many incidents are kept, the newest.").
		Default("500").SetValue(named{(*positiveInt)(&h.incidents), "incidents.size"})
	return h
}

func (h *houseFlags) parsed() settings { return settings{h.fold.parsed(), h.incidents} }

// foldFlags are the flags of the fold's settings.
type foldFlags struct {
	settings track.Settings
	source   string
}

const (
	sourceAuto           = "auto"
	sourceEndpointSlices = "endpointslices"
	sourceEndpoints      = "endpoints"
)

func addFoldFlags(cmd *kingpin.CmdClause) *foldFlags {
	f := &foldFlags{}
	cmd.Flag("node-monitor-grace-period",
		"The kube-controller-manager's flag of this name. 0s finds it out: from its pod, from what is seen, or by the server's version.").
		Default("0s").SetValue(named{(*positiveDuration)(&f.settings.GracePeriod), "node-monitor-grace-period"})
	cmd.Flag("bounce-window", "How soon an address must be back in rotation to count as a bounce.").
		Default("2m").SetValue(named{(*positiveDuration)(&f.settings.BounceWindow), "bounce-window"})
	cmd.Flag("endpoints.source", "Where the states of addresses are read from: auto takes EndpointSlices where the cluster has them, else Endpoints.").
		Default(sourceAuto).SetValue(named{choice{&f.source, []string{sourceAuto, sourceEndpointSlices, sourceEndpoints}}, "endpoints.source"})
	return f
}

func (f *foldFlags) parsed() track.Settings {
	settings := f.settings
	switch f.source {
	case sourceEndpointSlices:
		settings.AddressSource = event.KindEndpointSlice
	case sourceEndpoints:
		settings.AddressSource = event.KindEndpoints
	}
	return settings
}
