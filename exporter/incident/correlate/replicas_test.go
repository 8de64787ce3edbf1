package correlate

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Replicas see the same events in different order, because their watches differ in speed. They must report the same
// incidents.

// behind is the delay of a slow watch.
const behind = 1500 * time.Millisecond

// delayed returns the events as seen by a replica with slow watches of some kinds. It does not delay the first lists.
func delayed(events []event.Event, kinds ...event.Kind) []event.Event {
	all := slices.Clone(events)
	for i := range all {
		if e := &all[i]; slices.Contains(kinds, e.Kind) && (e.Type == event.Modified || e.Type == event.Added || e.Type == event.Deleted) {
			e.Seen = e.Seen.Add(behind)
		}
	}
	slices.SortStableFunc(all, func(a, b event.Event) int { return a.Seen.Compare(b.Seen) })
	return all
}

// numbered returns a recording's events. It adds the resourceVersions that the recording lacks.
func numbered(t *testing.T, path string) []event.Event {
	t.Helper()
	recording, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer recording.Close()
	var all []event.Event
	for e, err := range recording.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Object != nil && e.Object.Metadata().ResourceVersion == "" {
			e.Object.Metadata().ResourceVersion = fmt.Sprint(len(all) + 1)
		}
		all = append(all, e)
	}
	return all
}

// reportedBy returns a replica's report: one line per object, consumer count and incident.
func reportedBy(t *testing.T, events []event.Event) string {
	t.Helper()
	log := New(100)
	f := track.New(track.Settings{BounceWindow: 2 * time.Minute})
	var found []transition.Transition
	for _, e := range events {
		found = append(found, f.Apply(e)...)
	}
	end := events[len(events)-1].Seen.Add(time.Minute)
	found = append(found, f.Advance(end)...)
	lossesComeFirst(t, found)
	log.Observe(found...)
	var lines []string
	for _, s := range f.Services(end, nil) {
		s.Created, s.OutageTime, s.LastLoss = time.Time{}, 0, time.Time{}
		lines = append(lines, fmt.Sprintf("service %+v", s))
	}
	for _, n := range f.Namespaces(end, nil) {
		lines = append(lines, fmt.Sprintf("namespace %+v", n))
	}
	for _, n := range f.Nodes(end, nil) {
		// A status update is also a heartbeat, so the number of late heartbeats depends on the time at which the update
		// is seen.
		lines = append(lines, fmt.Sprintf("node %s: %d %v %d", n.Name, n.Heartbeats, n.Ready, n.Turned))
	}
	for _, x := range f.Consumers(end, nil) {
		lines = append(lines, fmt.Sprintf("consumers %+v", x))
	}
	for _, x := range log.Incidents(end) {
		lines = append(lines, fmt.Sprintf("incident %s %s %s %s/%s lost %d outages %d nodes %v", x.ID, x.Cause, x.Scope, x.Namespace, x.Subject, x.Lost, x.Outages, x.Nodes))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestReplicasWithSlowerWatchesReportTheSame(t *testing.T) {
	recordings, err := filepath.Glob("../../recording/incidents/*.jsonl.gz")
	if err != nil || len(recordings) == 0 {
		t.Fatalf("recordings: %v, %v", recordings, err)
	}
	for _, path := range recordings {
		events := numbered(t, path)
		first := reportedBy(t, events)
		for name, kinds := range map[string][]event.Kind{
			"pods": {event.KindPod}, "slices": {event.KindEndpointSlice, event.KindEndpoints}, "nodes": {event.KindNode},
			"services": {event.KindService},
		} {
			t.Run(filepath.Base(path)+", "+name+" late", func(t *testing.T) {
				other := reportedBy(t, delayed(events, kinds...))
				for _, line := range difference(first, other) {
					t.Error(line)
				}
			})
		}
	}
}

func difference(a, b string) (lines []string) {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for _, line := range left {
		if !slices.Contains(right, line) {
			lines = append(lines, "only the first: "+line)
		}
	}
	for _, line := range right {
		if !slices.Contains(left, line) {
			lines = append(lines, "only the late:  "+line)
		}
	}
	return lines
}

func TestConsumerBouncesMatchTheMetric(t *testing.T) {
	events := numbered(t, "testdata/in-place-bounces.jsonl.gz")
	log := New(100)
	f := track.New(track.Settings{BounceWindow: 2 * time.Minute})
	for _, e := range events {
		log.Observe(f.Apply(e)...)
	}
	end := events[len(events)-1].Seen.Add(time.Minute)
	counted, reported := map[time.Duration]int{}, map[time.Duration]int{}
	for _, x := range f.Consumers(end, nil) {
		for i, window := range transition.Windows() {
			counted[window] += int(x.Bounces[i])
		}
	}
	for _, x := range log.Incidents(end) {
		for _, w := range x.Numbers.Windows {
			reported[w.Length] += w.Bounces
		}
	}
	if !maps.Equal(counted, reported) || counted[0] == 0 {
		t.Errorf("counted %v, reported %v", counted, reported)
	}
}
