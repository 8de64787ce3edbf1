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
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Two replicas receive the same events of each resource, but their watches differ in speed. They must report the same
// causes, and the IDs that one of them shows must lead to the same incidents in the other one.

// maxBehind is the longest delay of a watch.
const maxBehind = 2 * time.Second

// delivered returns the events as another replica receives them. The watch of each resource is up to maxBehind late. The
// delay changes every few seconds, unless constant is set. The first lists are not delayed, and neither are direct
// reads.
func delivered(events []event.Event, constant bool, random *rand.Rand) []event.Event {
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
				s.delay = time.Duration(random.Float64() * float64(maxBehind))
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

// replica is what a replica reports about a cluster.
type replica struct {
	// losses holds the cause of each lost address and pods that of each pod that stopped being Ready.
	losses, pods map[string]string
	incidents    []incident.Incident
	serial       map[string]int
}

func (r *replica) note(in map[string]string, object, cause string) {
	r.serial[object]++
	in[fmt.Sprintf("%s #%d", object, r.serial[object])] = cause
}

// replicaOf returns the report of a replica that receives these events. It ignores losses by the writes in the map
// ignored. Without causes of nodes, a loss is identified by its write, and otherwise by its number.
func replicaOf(events []event.Event, ignored map[uint64]bool) *replica {
	r := &replica{losses: map[string]string{}, pods: map[string]string{}, serial: map[string]int{}}
	tracker, log := track.New(trackerSettings().tracker), correlate.New(1000)
	observe := func(found []transition.Transition) {
		log.Observe(found...)
		for _, x := range found {
			switch x := x.(type) {
			case transition.AddressLost:
				object := fmt.Sprintf("address %s/%s %s", x.Namespace, x.Name, x.ID)
				if len(ignored) > 0 {
					object += fmt.Sprint(" ", x.Trigger)
				}
				if !ignored[x.Trigger] {
					r.note(r.losses, object, x.Cause.String())
				}
			case transition.PodReadyChanged:
				if x.From == event.StatusTrue {
					r.note(r.pods, "pod "+x.Namespace+"/"+x.Pod.Name, x.Cause.String())
				}
			}
		}
	}
	for _, e := range events {
		observe(tracker.Apply(e))
	}
	end := events[len(events)-1].Seen.Add(time.Minute)
	observe(tracker.Advance(end))
	r.incidents = log.Incidents(end)
	return r
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
			if (x.Kind == event.KindEndpointSlice || x.Kind == event.KindEndpoints) && x.Object != nil && before < 17*time.Second && before > -maxBehind {
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

// answering returns the incident with the given ID, which can be a former one, or nil.
func (r *replica) answering(id string) *incident.Incident {
	for i := range r.incidents {
		if x := &r.incidents[i]; x.ID == id || slices.Contains(x.Also, id) {
			return x
		}
	}
	return nil
}

// disagreement counts what two replicas report differently.
type disagreement struct {
	losses, pods, ids, verdicts, of, incidents int
	lines                                      []string
}

func (d *disagreement) compare(a, b *replica) {
	losses, pods := differing(a.losses, b.losses), differing(a.pods, b.pods)
	d.losses, d.pods = d.losses+len(losses), d.pods+len(pods)
	d.lines = append(append(d.lines, losses...), pods...)
	for _, pair := range [][2]*replica{{a, b}, {b, a}} {
		for i := range pair[0].incidents {
			x := &pair[0].incidents[i]
			y := pair[1].answering(x.ID)
			switch {
			case y == nil:
				d.ids++
				d.lines = append(d.lines, fmt.Sprintf("incident %s: %s %s of %s in one replica only", x.ID, x.Verdict, x.Cause, x.Subject))
			case x.Verdict != y.Verdict || x.Cause != y.Cause:
				d.verdicts++
				d.lines = append(d.lines, fmt.Sprintf("incident %s: %s %s and %s %s", x.ID, x.Verdict, x.Cause, y.Verdict, y.Cause))
			}
		}
	}
	d.of, d.incidents = d.of+len(a.losses), d.incidents+len(a.incidents)+len(b.incidents)
}

// recordedEvents returns the events of the lab's recordings by name.
func recordedEvents(t *testing.T) map[string][]event.Event {
	t.Helper()
	all := map[string][]event.Event{}
	for _, file := range labFiles(t, factsSuffix) {
		recorded, err := recording.Open(strings.TrimSuffix(file, factsSuffix) + recordingSuffix)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), factsSuffix)
		for e, err := range recorded.Events() {
			if err != nil {
				t.Fatal(err)
			}
			all[name] = append(all[name], e)
		}
		recorded.Close()
	}
	return all
}

// tolerated is the share of incident IDs that may be unknown to the other replica. A failure two minutes after the last
// one belongs to the same incident or not, depending on when the events were seen. So does a silence that lasts as long as
// the grace period. In the recording random, all objects change many times a second. In the recording relist, changes are
// only seen in lists, which do not show when they were made.
func tolerated(name string) float64 {
	switch {
	case strings.HasPrefix(name, "random@"):
		return 0.1
	case strings.HasPrefix(name, "relist@"):
		return 0.2
	case strings.HasPrefix(name, "churn-"):
		return 0.02
	}
	return 0.15
}

func TestReplicasAgreeInWhateverOrderTheirWatchesAre(t *testing.T) {
	stories := recordedEvents(t)
	for seed := range few(10, 3) {
		stories[fmt.Sprint("churn-", seed)] = churnEvents(uint64(seed))
	}
	for name, events := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ignored := lastWrites(events)
			first := replicaOf(events, ignored)
			var d disagreement
			for seed := range few(40, 10) {
				other := delivered(events, seed%2 == 0, rand.New(rand.NewPCG(uint64(seed/2), 1)))
				d.compare(first, replicaOf(other, ignored))
			}
			t.Logf("of %d losses, %d differ; of the pods' changes, %d; of %d incidents, %d IDs are unknown and %d verdicts differ", d.of, d.losses, d.pods, d.incidents, d.ids, d.verdicts)
			if d.losses > 0 || d.pods > 0 || float64(d.ids) > tolerated(name)*float64(d.incidents) {
				t.Errorf("replicas disagree:\n%s", strings.Join(d.lines[:min(len(d.lines), 20)], "\n"))
			}
		})
	}
}
