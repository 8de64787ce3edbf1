package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/watch"
)

const (
	// maxAway is the longest time between two processes after which kubeflap still compares the cluster with its earlier
	// state. After a longer time, too much has changed: the first lists are then the new initial state.
	maxAway = 10 * time.Minute
	// clockSlack is the largest step back of the clock that is ignored.
	clockSlack = 5 * time.Second
)

// enablePersistence makes the pipeline record its events and resolved incidents in --data.dir, and replays what earlier
// processes recorded there. The caller must run the flight recorder and the journal.
func (f *dataFlags) enablePersistence(ctx context.Context, logger *slog.Logger, p *pipeline, watcher *watch.Watcher) (*flightrecorder.Recorder, error) {
	recorder, err := flightrecorder.New(flightrecorder.Settings{
		Dir: f.dir, Size: f.size, Age: f.age, List: watcher.List, Head: p.head,
	}, logger)
	if err != nil {
		return nil, err
	}
	if p.scope.Cluster, err = watcher.ClusterUID(ctx); err != nil {
		logger.Debug("cannot identify the cluster", "err", err)
	}
	found, err := findEarlier(f.dir, p.scope)
	if errors.Is(err, errOtherCluster) {
		err = cmp.Or(flightrecorder.SetIncidentsAside(f.dir, p.started), err)
	}
	if err != nil {
		logger.Error("kubeflap starts without the history in --data.dir", "err", err)
	}
	p.journal = flightrecorder.OpenJournal(f.dir, p.settings.incidents, p.started, logger)
	if found != nil {
		p.resume(ctx, found, p.started, logger)
	}
	p.recorderStatus = recorder.Status
	if ctx.Err() == nil { // otherwise kubeflap stops, and may have replayed only a part
		p.record = recorder.Record
	}
	return recorder, nil
}

// resume replays the events of earlier processes, so that the pipeline continues as after a broken watch. It reports and
// counts nothing. The time `now` is when kubeflap started.
func (p *pipeline) resume(ctx context.Context, found *earlier, now time.Time, logger *slog.Logger) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scope.Cluster = cmp.Or(p.scope.Cluster, found.head.Cluster)
	p.begin(time.Time{})
	p.tracker.Restore(found.head.Tracker, found.begins)
	p.incidents.Restore(found.head.Incidents, found.begins)
	last, err := p.replayEarlier(ctx, withProgress(logger, found.events), now)
	if ctx.Err() != nil {
		return // kubeflap stops
	}
	if err != nil {
		logger.Error("cannot read all recordings of earlier processes", "err", err)
	}
	p.incidents.Forget(last, func(x incident.Incident) bool {
		_, saved := p.journal.Incident(x.ID)
		return saved && x.Start.Before(found.begins) // the journal knows the beginning
	})
	switch away := now.Sub(last); {
	case away < 0:
		logger.Warn("the recordings reach into the future, so kubeflap starts without its history", "until", last.UTC())
		fallthrough
	case last.IsZero():
		p.begin(now)
	case away > maxAway:
		logger.Info("kubeflap was not running for long, so incidents that were ongoing are shown as interrupted", "since", last.UTC())
		p.interrupt(last, now)
	default:
		p.started = now
		p.breakWatches(last)
	}
}

// replayEarlier passes the events of earlier processes to the tracker. It returns the time that the tracker has reached: that
// of the last event, unless the clock was set back before.
func (p *pipeline) replayEarlier(ctx context.Context, recorded iter.Seq2[event.Event, error], now time.Time) (last time.Time, err error) {
	var hole time.Time // the time of the last event before a hole in the recording
	for e, err := range recorded {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return last, err
		}
		if ahead := e.Seen.Sub(now); ahead > 0 && ahead <= clockSlack {
			e.Seen = now
		}
		if !hole.IsZero() && e.Seen.Sub(hole) > maxAway {
			p.interrupt(hole, e.Seen)
		}
		hole = time.Time{}
		if e.Reason == event.ReasonNotRecorded {
			hole = e.Seen
		}
		last = incident.Later(last, e.Seen)
		p.replayed(e)
	}
	return last, nil
}

// replayed passes an event of an earlier process to the tracker.
func (p *pipeline) replayed(e event.Event) {
	for _, x := range p.tracker.Apply(e) {
		p.incidents.Observe(x)
	}
}

// breakWatches tells the tracker that no watch has worked since the last event. All counters begin at zero.
func (p *pipeline) breakWatches(last time.Time) {
	for _, k := range append(event.Kinds(), event.OptionalKinds()...) {
		p.replayed(event.Event{Seen: last, Kind: k, Type: event.Down, Reason: event.ReasonNotRunning})
	}
	p.tracker.StartCounting(last)
	p.incidents.StartCounting(last)
	for _, x := range p.incidents.Incidents(last) {
		if x.State.IsFinal() {
			p.journal.Add(x)
		}
	}
}

// interrupt keeps the incidents of earlier processes, but none of their state. The ends of ongoing incidents are unknown.
func (p *pipeline) interrupt(last, now time.Time) {
	for _, x := range p.incidents.Incidents(last) {
		x.Interrupt(last)
		p.journal.Add(x)
	}
	tracked, past := p.tracker.Past(last), p.incidents.Past(last)
	tracked.Outages, past.Ongoing = nil, nil
	p.begin(now)
	p.tracker.Restore(tracked, last)
	p.incidents.Restore(past, now)
}

// withEarlier adds the incidents of the journal to the current ones, and counts those that newer ones displaced by t. With a
// journal, only the journal decides which ended incidents are kept, so that each dropped one is counted once.
func (p *pipeline) withEarlier(current []incident.Incident, t time.Time) (all []incident.Incident, displaced incident.Displaced) {
	if p.journal == nil {
		return current, p.incidents.Displaced(t)
	}
	earlier, displaced := p.journal.Incidents()
	kept, known := map[string]bool{}, map[string]bool{}
	for _, x := range earlier {
		kept[x.ID] = true
	}
	for _, x := range current {
		if x.State.IsFinal() && !kept[x.ID] && !x.End.After(displaced.DroppedUntil.Time) {
			continue
		}
		all = append(all, x)
		known[x.ID] = true
		for _, id := range x.Also {
			known[id] = true
		}
	}
	for _, x := range earlier {
		if !known[x.ID] {
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b incident.Incident) int { return incident.Compare(&a, &b) })
	return all, displaced
}
