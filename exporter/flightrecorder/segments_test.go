package flightrecorder_test

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// replayed is the state of the cluster after events: the objects, and the watches that work.
type replayed struct {
	Objects map[event.UID]event.Object
	Works   map[event.Kind]bool
}

// replay applies events as their consumers do: an object that is missing from a complete list was deleted.
func replay(all []event.Event) replayed {
	state := replayed{map[event.UID]event.Object{}, map[event.Kind]bool{}}
	listed := map[event.Kind]map[event.UID]bool{}
	for _, ev := range all {
		switch ev.Type {
		case event.Listing:
			listed[ev.Kind] = map[event.UID]bool{}
		case event.Listed:
			listed[ev.Kind][ev.Object.Metadata().UID] = true
		case event.Synced:
			maps.DeleteFunc(state.Objects, func(uid event.UID, o event.Object) bool { return o.Kind() == ev.Kind && !listed[ev.Kind][uid] })
			state.Works[ev.Kind] = true
		case event.Up:
			state.Works[ev.Kind] = true
		case event.Down:
			delete(state.Works, ev.Kind)
		}
		switch {
		case ev.Type == event.Deleted:
			delete(state.Objects, ev.Object.Metadata().UID)
		case ev.Object != nil:
			state.Objects[ev.Object.Metadata().UID] = ev.Object
		}
	}
	return state
}

// story sends random events: changes, watches that break and return, processes that restart, and a directory that is
// gone for a while.
type story struct {
	*cluster
	t        *testing.T
	settings flightrecorder.Settings
	stop     func()
	// down holds the broken watches. torn holds those among them whose list failed: they list again when they return.
	down, torn map[event.Kind]bool
}

func (s *story) start() {
	s.to, s.stop = run(s.t, s.settings)
	clear(s.down)
	clear(s.torn)
	s.list()
}

func (s *story) step() {
	time.Sleep(time.Duration(s.IntN(60_000)) * time.Millisecond)
	kind := kinds[s.IntN(len(kinds))]
	switch n := s.IntN(400); {
	case n < 6 && s.down[kind] && !s.torn[kind]:
		s.send(kind, event.Up, nil, "")
		s.down[kind] = false
	case n < 6 && !s.torn[kind]:
		s.send(kind, event.Down, nil, event.ReasonTimeout)
		s.down[kind] = true
	case n < 12:
		s.listAgain(kind, s.IntN(3) > 0)
	case n == 12:
		s.stop()
		time.Sleep(time.Duration(s.IntN(3600)) * time.Second)
		s.start()
	case n == 13:
		s.moveAway()
	case !s.down[kind]:
		s.changeOf(kind)
	}
}

// listAgain lists a resource. If the list does not succeed, the watch breaks in the middle.
func (s *story) listAgain(kind event.Kind, succeeds bool) {
	s.send(kind, event.Listing, nil, "")
	known := s.known(kind)
	for i, object := range known {
		if !succeeds && i == len(known)/2 {
			s.send(kind, event.Down, nil, event.ReasonTimeout)
			s.down[kind], s.torn[kind] = true, true
			return
		}
		s.send(kind, event.Listed, object, "")
	}
	s.send(kind, event.Synced, nil, "")
	s.down[kind], s.torn[kind] = false, false
}

// moveAway removes the directory for a while.
func (s *story) moveAway() {
	synctest.Wait()
	if err := os.Rename(s.settings.Dir, s.settings.Dir+".away"); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.settings.Dir, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	for range 30 {
		time.Sleep(10 * time.Second)
		if kind := kinds[s.IntN(len(kinds))]; !s.down[kind] {
			s.changeOf(kind)
		}
	}
	if err := os.Remove(s.settings.Dir); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.settings.Dir+".away", s.settings.Dir); err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(time.Minute) // at least one retry
	if status := s.to.Status(); !status.Recording {
		s.t.Fatalf("%+v, want that it records again, also while a watch is broken", status)
	}
}

// TestReadingFromAnySegmentGivesTheSameState checks that each segment can be read on its own: after the events from
// there on, the cluster has the same objects as in reality, and the same watches work.
func TestReadingFromAnySegmentGivesTheSameState(t *testing.T) {
	withoutRaceDetector(t)
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &story{cluster: newCluster(seed, nil), t: t, settings: settings(t), down: map[event.Kind]bool{}, torn: map[event.Kind]bool{}}
				s.settings.List = s.api
				s.start()
				for range 2500 {
					s.step()
				}
				for _, kind := range kinds {
					if s.down[kind] {
						s.listAgain(kind, true)
					}
				}
				s.stop()
				want := replayed{s.objects, map[event.Kind]bool{}}
				for _, kind := range kinds {
					want.Works[kind] = true
				}
				segments, err := flightrecorder.Segments(s.settings.Dir)
				if err != nil || len(segments) < 5 {
					t.Fatalf("%d segments, %v", len(segments), err)
				}
				for i, segment := range segments {
					if got := replay(read(t, s.settings.Dir, segment.Begins, now())); !reflect.DeepEqual(got, want) {
						t.Errorf("from segment %d of %d: %d objects and the watches %v, want %d and %v", i, len(segments), len(got.Objects), got.Works, len(want.Objects), want.Works)
					}
				}
			})
		})
	}
}
