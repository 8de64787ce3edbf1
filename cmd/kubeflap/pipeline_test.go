package main

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// A kubeflap that has never reached the API server sees nothing since it was started.
func TestAHouseThatNothingCameIntoWatchesNothing(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := start
	h := newPipeline(trackerSettings(), func() time.Time { return now }, silent(""))
	now = start.Add(time.Minute)
	all := h.cluster("").Unwatched()
	if len(all) != len(event.Kinds()) || !all[0].Since.Equal(start) {
		t.Errorf("not watched: %v", all)
	}
	if len(h.unready()) != len(event.Kinds()) {
		t.Errorf("it is ready, but for %v", h.unready())
	}
}

func TestAReplayTellsTheWatchesOfItsRecording(t *testing.T) {
	recordings, err := openIncidents()
	if err != nil {
		t.Fatal(err)
	}
	r := newReplay(recordings[:2], 0, trackerSettings(), silent)
	if got := r.pipelines[0].cluster("").Unwatched(); len(got) != 0 {
		t.Errorf("before it has begun: %v", got)
	}
	if len(r.unready()) == 0 {
		t.Error("ready before it has begun")
	}
	if err := r.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := r.pipelines[0].now()
	r.pipelines[0].apply(event.Event{Seen: last, Kind: event.KindLease, Type: event.Down, Reason: "timeout"})
	r.pipelines[0].tracker.Advance(last.Add(time.Hour))
	if got := r.pipelines[0].cluster("").Unwatched(); len(got) != 1 || got[0].Reason != "timeout" {
		t.Errorf("not watched: %v", got)
	}
	if got := r.unready(); len(got) != 0 {
		t.Errorf("the replay is not ready: %v", got)
	}
}
