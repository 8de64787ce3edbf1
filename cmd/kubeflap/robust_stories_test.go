package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// robustStory is what happened in a cluster, and when somebody looks at the page.
type robustStory struct {
	events []event.Event
	looks  []time.Time
	// frozenNodes is set if the watch of nodes stands still, although no event shows it.
	frozenNodes bool
	// isLab is set for recordings of the lab. random is set if their changes were chosen at random.
	isLab, random bool
}

// robustStories returns all stories, and the recordings of public reports and of the lab. The quick run has some of them.
func robustStories(t *testing.T) map[string]func(*testing.T) robustStory {
	t.Helper()
	all := map[string]func(*testing.T) robustStory{}
	add := func(name string, read func(*testing.T) robustStory) {
		if every := uint64(few(1, 6)); event.Hash(name)%every == 0 {
			all[name] = read
		}
	}
	stories, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stories {
		for _, x := range readStories(t, strings.TrimSuffix(filepath.Base(file), ".txt")) {
			add(x.Name, x.recorded)
		}
	}
	reports, err := filepath.Glob("testdata/reports/*" + recordingSuffix)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(reports, labFiles(t, factsSuffix)...) {
		file = strings.TrimSuffix(strings.TrimSuffix(file, factsSuffix), recordingSuffix)
		add(filepath.Base(file), func(t *testing.T) robustStory { return readRobust(t, file+recordingSuffix) })
	}
	return all
}

func readRobust(t *testing.T, file string) robustStory {
	t.Helper()
	x := robustStory{events: eventsOf(t, file), isLab: strings.Contains(file, "lab/"), random: strings.Contains(file, "random@")}
	begin, end := x.events[0].Seen, x.events[len(x.events)-1].Seen
	for i := range 12 {
		x.looks = append(x.looks, begin.Add(end.Sub(begin)*time.Duration(i+1)/12))
	}
	return x
}

// recorded returns the events that a kubeflap receives in the story.
func (x *scenario) recorded(t *testing.T) robustStory {
	t.Helper()
	c, s := x.Cluster(0), robustStory{}
	w := &storyWatcher{t: t, cluster: c, pipeline: newPipeline(robustSettings(), func() time.Time { return c.Now }, silent)}
	c.Watchers[0].Sink = func(e event.Event) {
		s.events = append(s.events, e)
		w.pipeline.apply(e)
	}
	c.Start()
	for _, a := range x.Acts {
		s.frozenNodes = s.frozenNodes || a.Verb == "freeze" && a.Args[0] == "nodes"
	}
	for _, a := range x.Asks {
		s.looks = append(s.looks, storyBegin.Add(seconds(a.At)))
	}
	for _, at := range x.looks {
		s.looks = append(s.looks, storyBegin.Add(seconds(at)))
	}
	slices.SortFunc(s.looks, time.Time.Compare)
	w.runUntil(s.looks[len(s.looks)-1].Sub(storyBegin).Seconds())
	return s
}

func robustSettings() settings {
	s := trackerSettings()
	s.incidents = 5000
	return s
}

// answers replays events, and returns the incidents that the API has at each look. In between, kubeflap advances its time
// by steps, or only with the events if step is 0.
func answers(events []event.Event, looks []time.Time, step time.Duration) (all [][]pageIncident) {
	now := events[0].Seen
	next := now
	p := newPipeline(robustSettings(), func() time.Time { return now }, silent)
	until := func(t time.Time) {
		for ; step > 0 && next.Before(t); next = next.Add(step) {
			now = next
			p.tick()
		}
		now = t
	}
	for _, look := range looks {
		for len(events) > 0 && !events[0].Seen.After(look) {
			if events[0].Seen.After(now) {
				until(events[0].Seen)
			}
			p.apply(events[0])
			events = events[1:]
		}
		until(look)
		all = append(all, shownBy(p))
	}
	return all
}

// healthyNode returns a node that no incident names, and that reported at least every 15 s. It returns an empty string if
// there is none, or if the other nodes would be evidence: if nodes fall silent one after another, it depends on how many
// nodes there are, and how often they fall silent, whether this is chance.
func (x *robustStory) healthyNode(all [][]pageIncident) string {
	if x.frozenNodes {
		return ""
	}
	last, well := map[string]time.Time{}, map[string]bool{}
	for _, e := range x.events {
		if e.Kind != event.KindLease && e.Kind != event.KindNode || e.Object == nil {
			continue
		}
		name := e.Object.Metadata().Name
		if _, known := well[name]; !known {
			well[name] = true
		}
		if e.Type == event.Deleted || !last[name].IsZero() && e.Seen.Sub(last[name]) > 15*time.Second {
			well[name] = false
		}
		last[name] = e.Seen
	}
	for _, incidents := range all {
		for _, y := range incidents {
			if strings.Contains(fmt.Sprint(y.Considered), "one after another") {
				return ""
			}
			for _, n := range y.Nodes {
				well[n] = false
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(well)) {
		if well[name] {
			return name
		}
	}
	return ""
}
