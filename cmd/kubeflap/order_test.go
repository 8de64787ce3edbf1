package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Two replicas receive the same events of each resource, but their watches differ in speed. They must report the same
// causes.

// delivered returns the events as another replica receives them. The watch of each resource is late by at most `behind`.
// The delay changes every few seconds, unless constant is set. The first lists are not delayed, and neither are direct
// reads.
func delivered(events []event.Event, behind time.Duration, constant bool, random *rand.Rand) []event.Event {
	type stream struct {
		delay       time.Duration
		until, last time.Time
		synced      bool
	}
	all := slices.Clone(events)
	var streams [event.NumKinds]stream
	for i := range all {
		e := &all[i]
		s := &streams[e.Kind]
		if !s.synced || e.Type > event.Unavailable {
			s.synced = s.synced || e.Type == event.Synced
			continue
		}
		if e.Seen.After(s.until) {
			s.delay, s.until = 0, e.Seen.Add(time.Duration(random.Float64()*5*float64(time.Second)))
			if constant {
				s.until = e.Seen.Add(time.Hour)
			}
			if random.IntN(4) > 0 {
				s.delay = time.Duration(random.Float64() * float64(behind))
			}
		}
		if at := e.Seen.Add(s.delay); at.After(s.last) {
			s.last = at
		}
		e.Seen = s.last
	}
	slices.SortStableFunc(all, func(a, b event.Event) int { return a.Seen.Compare(b.Seen) })
	return all
}

// causesIn returns the cause of each lost address, and of each pod that stopped being Ready, as a replica reports them
// that receives these events. It ignores losses by the writes in the map ignored.
func causesIn(events []event.Event, ignored map[uint64]bool) map[string]string {
	tracker, causes, serial := track.New(trackerSettings().tracker), map[string]string{}, map[string]int{}
	observe := func(found []transition.Transition) {
		for _, x := range found {
			var object, why string
			switch x := x.(type) {
			case transition.AddressLost:
				if ignored[x.Trigger] {
					continue
				}
				object, why = fmt.Sprintf("address %s/%s %s", x.Namespace, x.Name, x.ID), x.Cause.String()
				if len(ignored) > 0 {
					object += fmt.Sprint(" ", x.Trigger) // the number of losses by ignored writes can differ
				}
			case transition.PodReadyChanged:
				if x.From != event.StatusTrue {
					continue
				}
				object, why = "pod "+x.Namespace+"/"+x.Pod.Name, x.Cause.String()
			default:
				continue
			}
			serial[object]++
			causes[fmt.Sprintf("%s #%d", object, serial[object])] = why
		}
	}
	for _, e := range events {
		observe(tracker.Apply(e))
	}
	observe(tracker.Advance(events[len(events)-1].Seen.Add(time.Minute)))
	return causes
}

// lastWrites returns the writes of addresses shortly before the deletion of their Service. kubeflap reports a loss only
// if it finds the cause before it sees the deletion.
func lastWrites(events []event.Event) map[uint64]bool {
	last := map[uint64]bool{}
	for _, e := range events {
		o, ok := e.Object.(*event.Service)
		if !ok || e.Type != event.Deleted {
			continue
		}
		for _, x := range events {
			before := e.Seen.Sub(x.Seen)
			if (x.Kind == event.KindEndpointSlice || x.Kind == event.KindEndpoints) && x.Object != nil && before < 17*time.Second && before > -2*time.Second {
				last[transition.Trigger(o.UID, x.Object.Metadata().ResourceVersion)] = true
			}
		}
	}
	return last
}

// differing returns a line for each key whose values differ.
func differing(a, b map[string]string) (lines []string) {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for key := range keys {
		if a[key] != b[key] {
			lines = append(lines, fmt.Sprintf("%s: %q and %q", key, a[key], b[key]))
		}
	}
	return lines
}

// recordedEvents returns the events of the lab's recordings by name.
func recordedEvents(t *testing.T) map[string][]event.Event {
	t.Helper()
	all := map[string][]event.Event{}
	for _, file := range labFiles(t, factsSuffix) {
		all[strings.TrimSuffix(filepath.Base(file), factsSuffix)] = eventsOf(t, strings.TrimSuffix(file, factsSuffix)+recordingSuffix)
	}
	return all
}

// tolerated is the share of causes that may differ if the watches are late by at most `behind`. kubeflap waits one second
// for watches that are not known to lag. In the recording random, Services and their Endpoints are edited, deleted and
// created again many times a second, and kubeflap keeps only the last change of each Service. It does not count what a
// Service loses before kubeflap sees the Service.
func tolerated(name string, behind time.Duration) float64 {
	switch {
	case strings.HasPrefix(name, "random@"):
		return 0.025 * behind.Seconds()
	case behind > time.Second:
		return 0.005
	}
	return 0
}

func TestReplicasReportTheSameCausesInWhateverOrderTheirWatchesAre(t *testing.T) {
	stories := recordedEvents(t)
	for _, behind := range []time.Duration{time.Second, 2 * time.Second} {
		for name, events := range stories {
			t.Run(fmt.Sprint(behind, "/", name), func(t *testing.T) {
				t.Parallel()
				ignored := lastWrites(events)
				first := causesIn(events, ignored)
				var lines []string
				n := few(20, 6)
				for seed := range n {
					other := delivered(events, behind, seed%2 == 0, rand.New(rand.NewPCG(uint64(seed/2), 1)))
					lines = append(lines, differing(first, causesIn(other, ignored))...)
				}
				if share := float64(len(lines)) / float64(max(1, n*len(first))); share > tolerated(name, behind) {
					t.Errorf("%.2f%% of the causes differ:\n%s", 100*share, strings.Join(lines[:min(len(lines), 20)], "\n"))
				} else if len(lines) > 0 {
					t.Logf("%.2f%% of the causes differ", 100*share)
				}
			})
		}
	}
}
