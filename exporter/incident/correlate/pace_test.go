package correlate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// askedAt returns the incidents as reported one hour after the last event. If r is not nil, askedAt also queries the
// log at random times before that.
func askedAt(events []event.Event, r *rand.Rand) string {
	log, tracker := New(1000), track.New(track.Settings{})
	next := events[0].Seen
	for _, e := range events {
		for ; r != nil && next.Before(e.Seen); next = next.Add(seconds(r.ExpFloat64())) {
			log.Observe(tracker.Advance(next)...)
			log.Standings(next, ledger.Standings{})
		}
		log.Observe(tracker.Apply(e)...)
	}
	end := events[len(events)-1].Seen.Add(time.Hour)
	log.Observe(tracker.Advance(end)...)
	return reportsOf(log, end)
}

// reportsOf returns all of a log's reports, one per line.
func reportsOf(log *Log, now time.Time) string {
	var b strings.Builder
	for _, x := range log.Incidents(now) {
		entries, spans := x.Evidence, x.Timeline
		x.Evidence, x.Timeline = nil, nil
		fmt.Fprintf(&b, "%+v\n", x)
		for _, e := range entries {
			fmt.Fprintf(&b, "  %+v\n", e)
		}
		for _, s := range spans {
			fmt.Fprintf(&b, "  %+v\n", s)
		}
	}
	standings := log.Standings(now, ledger.Standings{})
	fmt.Fprintf(&b, "%+v\n%v\n%v\n", standings.Incidents, standings.Nodes, standings.Resolved)
	return b.String()
}

// sameAtAnyPace checks that the times of queries do not affect the incidents.
func sameAtAnyPace(t *testing.T, events []event.Event, seed uint64) {
	t.Helper()
	want := strings.Split(askedAt(events, nil), "\n")
	got := strings.Split(askedAt(events, rand.New(rand.NewPCG(seed, 0))), "\n")
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("seed %d: asked at random moments:\n%s\nasked in the end only:\n%s", seed, got[i], want[i])
		}
	}
	if len(want) != len(got) {
		t.Fatalf("seed %d: %d lines, want %d", seed, len(got), len(want))
	}
}

func TestQuestionsDoNotChangeTheRecordedIncidents(t *testing.T) {
	for _, events := range recorded(t) {
		for seed := range uint64(3) {
			sameAtAnyPace(t, events, seed)
		}
	}
}

// TestQuestionsDoNotChangeRandomIncidents checks that changes that only depend on time do not depend on queries. A loss
// may wait 15 s for its cause.
func TestQuestionsDoNotChangeRandomIncidents(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		sameAtAnyPace(t, randomEvents(rand.New(rand.NewPCG(seed, 1))), seed)
	}
}

// randomEvents returns random events: a Service with changing selector, pods and addresses, and nodes that miss
// heartbeats.
func randomEvents(r *rand.Rand) []event.Event {
	x := newTracked(grace40)
	names := []string{"a", "b", "c"}
	slice := func() event.Object {
		var all []string
		for _, name := range names {
			switch r.IntN(4) {
			case 0:
				all = append(all, "-"+name)
			case 1:
			default:
				all = append(all, name)
			}
		}
		return aSlice("s1", all...)
	}
	x.starts(aService("web", "s1", true), aPod("a", event.StatusTrue, ""), aPod("b", event.StatusTrue, ""), aPod("c", event.StatusTrue, ""),
		aSlice("s1", names...), aNodeOf("node-1", event.StatusTrue, ""), aNodeOf("node-2", event.StatusTrue, ""), aLease("node-1", 0), aLease("node-2", 0))
	for range 20 + r.IntN(60) {
		x.now = x.now.Add(seconds([]float64{0.05, 0.3, 0.7, 3, 9, 30, 70}[r.IntN(7)]))
		switch name := names[r.IntN(3)]; r.IntN(6) {
		case 0:
			s := aService("web", "s1", true)
			s.Selector["version"] = fmt.Sprint(r.IntN(2))
			x.is(event.Modified, s)
		case 1:
			x.is(event.Modified, aPod(name, event.StatusTrue, ""))
		case 2:
			x.is(event.Modified, aPod(name, event.StatusFalse, []string{"ContainersNotReady", "ReadinessGatesNotReady"}[r.IntN(2)]))
		case 3:
			node := fmt.Sprintf("node-%d", 1+r.IntN(2))
			x.is(event.Modified, aLease(node, x.now.Sub(zero).Seconds()))
		default:
			x.is(event.Modified, slice())
		}
	}
	return x.events
}
