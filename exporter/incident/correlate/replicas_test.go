package correlate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
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

// recorded returns the events of the embedded recordings. It adds the resourceVersions that they lack.
func recorded(t *testing.T) map[string][]event.Event {
	t.Helper()
	recordings := map[string][]event.Event{}
	files, err := recording.Incidents.ReadDir("incidents")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, f := range files {
		file, err := recording.Incidents.Open("incidents/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		reader, err := recording.NewReader(file, f.Name())
		if err != nil {
			t.Fatal(err)
		}
		var all []event.Event
		for e, err := range reader.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if e.Object != nil && e.Object.Metadata().ResourceVersion == "" {
				e.Object.Metadata().ResourceVersion = fmt.Sprint(len(all) + 1)
			}
			all = append(all, e)
		}
		recordings[f.Name()] = all
	}
	return recordings
}

// reportedBy returns a replica's report: one line per object, consumer count and incident.
func reportedBy(t *testing.T, events []event.Event) string {
	t.Helper()
	log := New(100)
	f := track.New(track.Settings{})
	var found []transition.Transition
	for _, e := range events {
		found = append(found, f.Apply(e)...)
	}
	end := events[len(events)-1].Seen.Add(time.Minute)
	found = append(found, f.Advance(end)...)
	found = append(found, f.Settle()...)
	lossesComeFirst(t, found)
	log.Observe(found...)
	var lines []string
	for _, s := range f.Services(end, nil) {
		s.Created, s.OutageTime, s.LastLoss = time.Time{}, [cause.NumClasses]time.Duration{}, time.Time{}
		s.ClassSince = [cause.NumClasses]time.Time{}
		s.LastReset.WithSelector, s.LastReset.Selectorless, s.StaleReadds = time.Time{}, time.Time{}, [transition.NumWindows]uint64{}
		lines = append(lines, fmt.Sprintf("service %+v", s))
	}
	for _, n := range f.Namespaces(end, nil) {
		lines = append(lines, fmt.Sprintf("namespace %+v", n))
	}
	for _, n := range f.Nodes(end, nil) {
		// A status update is also a heartbeat, so the number of late heartbeats depends on the time at which the update
		// is seen.
		lines = append(lines, fmt.Sprintf("node %s: %v %d", n.Name, n.Ready, n.Turned))
	}
	for _, x := range log.Incidents(end) {
		lines = append(lines, fmt.Sprintf("incident %s %s %s %s/%s lost %d outages %d nodes %v", x.ID, x.Cause, x.Scope, x.Namespace, x.Subject, x.Lost, x.Outages, x.Nodes))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestReplicasWithSlowerWatchesReportTheSame(t *testing.T) {
	for recording, events := range recorded(t) {
		first := reportedBy(t, events)
		for name, kinds := range map[string][]event.Kind{
			"pods": {event.KindPod}, "slices": {event.KindEndpointSlice, event.KindEndpoints}, "nodes": {event.KindNode},
			"services": {event.KindService},
		} {
			t.Run(recording+", "+name+" late", func(t *testing.T) {
				for _, line := range difference(first, reportedBy(t, delayed(events, kinds...))) {
					t.Error(line)
				}
			})
		}
	}
}

// TestTheOverviewAgreesWithTheIncidents checks that an overview equals the incidents, except for the omitted fields.
func TestTheOverviewAgreesWithTheIncidents(t *testing.T) {
	for name, events := range recorded(t) {
		log, tracker, end := New(100), track.New(grace40), events[len(events)-1].Seen
		for _, e := range events {
			log.Observe(tracker.Apply(e)...)
		}
		log.Observe(append(tracker.Advance(end), tracker.Settle()...)...)
		full, overview := log.Incidents(end), log.Overview(end)
		if len(full) == 0 || len(overview) != len(full) {
			t.Fatalf("%s: %d incidents, the overview has %d", name, len(full), len(overview))
		}
		for i, x := range full {
			if one, ok := log.Incident(end, x.ID); !ok || !reflect.DeepEqual(one, x) {
				t.Errorf("%s: by its ID it is\n%+v\nwant\n%+v", name, one, x)
			}
			x.Evidence, x.EvidenceLeftOut, x.Timeline, x.SpansLeftOut, x.Numbers = []incident.Evidence{}, 0, []incident.Span{}, 0, incident.Numbers{}
			x.Summary, x.FirstStep, x.Remedy = "", "", ""
			x.Command = overview[i].Command // a remedy can add one
			if !reflect.DeepEqual(overview[i], x) {
				t.Errorf("%s: the overview has\n%+v\nwant\n%+v", name, overview[i], x)
			}
		}
		if x, ok := log.Incident(end, "none"); ok {
			t.Errorf("%s: no ID is that of %+v", name, x)
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
