package main

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestAPipelineWithoutEventsWatchesNothing checks that a kubeflap that has never reached the API server reports all
// resources as unwatched since its start.
func TestAPipelineWithoutEventsWatchesNothing(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := start
	p := newPipeline(trackerSettings(), func() time.Time { return now }, silent)
	now = start.Add(time.Minute)
	all := p.cluster().Read().Coverage.NotWatched
	if len(all) != len(event.Kinds()) || !all[0].Since.Equal(start) {
		t.Errorf("not watched: %v", all)
	}
	if len(p.unready()) != len(event.Kinds()) {
		t.Errorf("only %v are not ready", p.unready())
	}
	p.apply(event.Event{Seen: now, Kind: event.KindNode, Type: event.Down, Reason: event.ReasonRefused})
	if x := p.cluster().Read().Coverage.NotWatched[0]; !x.Since.Equal(start) || x.Reason != event.ReasonRefused {
		t.Errorf("after a failure: %+v, want that it is not watched since the start, because the connection was refused", x)
	}
}

// TestAFreshStartHasNoGap checks that the coverage begins with the first lists, which arrive a moment after the start.
func TestAFreshStartHasNoGap(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := start
	p := newPipeline(trackerSettings(), func() time.Time { return now }, silent)
	now = start.Add(30 * time.Millisecond)
	for _, what := range []event.Type{event.Listing, event.Synced} {
		for _, kind := range event.Kinds() {
			p.apply(event.Event{Seen: now, Kind: kind, Type: what})
			now = now.Add(time.Millisecond)
		}
	}
	listed := now.Add(-time.Millisecond)
	now = start.Add(time.Hour)
	p.advance()
	if c := p.cluster().Read().Coverage; len(c.Gaps) > 0 || !c.Since.Equal(listed) {
		t.Errorf("gaps %v since %v, want none since %v", c.Gaps, c.Since, listed)
	}
}

func TestAReplayReportsTheWatchesOfItsRecording(t *testing.T) {
	recordings, err := openIncidents()
	if err != nil {
		t.Fatal(err)
	}
	r := newReplay(recordings[:2], 0, trackerSettings(), nil)
	if got := r.pipelines[0].cluster().Read().Coverage.NotWatched; len(got) != 0 {
		t.Errorf("before it begins: %v", got)
	}
	if len(r.unready()) == 0 {
		t.Error("ready before it begins")
	}
	if err := r.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := r.pipelines[0].now()
	r.pipelines[0].apply(event.Event{Seen: last, Kind: event.KindLease, Type: event.Down, Reason: "timeout"})
	r.pipelines[0].tracker.Advance(last.Add(time.Hour))
	if got := r.pipelines[0].cluster().Read().Coverage.NotWatched; len(got) != 1 || got[0].Reason != "timeout" {
		t.Errorf("not watched: %v", got)
	}
	if got := r.unready(); len(got) != 0 {
		t.Errorf("the replay is not ready: %v", got)
	}
}
