package track

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// textOf describes the watches that show nothing, with their time and reason.
func textOf(unwatched []watches.Watch) string {
	var all []string
	for _, w := range unwatched {
		since := "the start"
		if !w.Since.IsZero() {
			since = fmt.Sprint(w.Since.Sub(zero).Seconds())
		}
		all = append(all, fmt.Sprintf("%s since %s: %s", w.Resource, since, w.Reason))
	}
	return strings.Join(all, ", ")
}

func (s *story) notWatched() []watches.Watch { return s.Coverage(s.now).NotWatched }

func TestWhatIsNotWatchedIsNamedSinceWhenAndWhy(t *testing.T) {
	s := newStory(t, grace40)
	equal(t, "before the first event", len(s.notWatched()), 6)
	s.starts(lease("node-1", 0))
	equal(t, "when all is watched", textOf(s.notWatched()), "")
	s.at(10).breaks("connection refused", event.KindLease)
	equal(t, "after a break that counts as none", textOf(s.at(11).notWatched()), "")
	equal(t, "after a longer one", textOf(s.at(11.5).notWatched()), "leases since 10: connection refused")
	s.at(20).breaks("timeout", event.KindLease)
	equal(t, "when it is down for another reason", textOf(s.notWatched()), "leases since 10: timeout")
	s.at(30).watch(event.Up, event.KindLease)
	equal(t, "when it works again", textOf(s.notWatched()), "")
	s.at(40).breaks("forbidden", event.KindPod)
	s.Apply(event.Event{Seen: clock(100), Kind: event.KindPod, Type: event.Unavailable, Reason: "forbidden"})
	equal(t, "after its right was withdrawn", textOf(s.at(100).notWatched()), "pods since 40: forbidden")
	equal(t, "the same among all", textOf(s.Watches(clock(100), nil)[2:3]), "pods since 40: forbidden")
}

func TestWhatWasNeverWatchedIsNamed(t *testing.T) {
	s := newStory(t, grace40)
	for _, k := range []event.Kind{event.KindNode, event.KindLease} {
		s.Apply(event.Event{Seen: s.now, Kind: k, Type: event.Unavailable, Reason: "forbidden"})
	}
	s.breaks("throttled", event.KindPod)
	for _, k := range []event.Kind{event.KindService, event.KindEndpointSlice, event.KindEndpoints} {
		s.lists(k)
	}
	want := "nodes since 0: forbidden, leases since 0: forbidden, pods since 0: throttled"
	equal(t, "not watched", textOf(s.at(5).notWatched()), want)
	equal(t, "not ready for", textOf(s.Unready(s.now)), "pods since 0: throttled")
	s.lists(event.KindPod)
	equal(t, "not ready for, without what may not be watched", textOf(s.at(1000).Unready(s.now)), "")
}

// TestTheLastFailureBeforeTheFirstListIsNamed checks a server that fails until the first list begins.
func TestTheLastFailureBeforeTheFirstListIsNamed(t *testing.T) {
	s := newStory(t, grace40)
	s.breaks("timeout", event.KindPod)
	s.at(10).breaks("connection refused", event.KindPod)
	const want = "pods since 0: connection refused"
	equal(t, "not watched", textOf(s.at(20).notWatched()[2:3]), want)
	equal(t, "not ready for", textOf(s.Unready(s.now)[2:3]), want)
	s.at(30).watch(event.Listing, event.KindPod)
	equal(t, "during the first list", textOf(s.notWatched()[2:3]), "pods since 0: not listed yet")
	s.breaks("connection lost", event.KindPod)
	equal(t, "after it failed", textOf(s.notWatched()[2:3]), "pods since 0: connection lost")
}

func TestABlindFoldIsNotReady(t *testing.T) {
	s := newStory(t, grace40)
	equal(t, "before the first lists", len(s.Unready(s.now)), 6)
	s.starts(lease("node-1", 0))
	equal(t, "after them", textOf(s.Unready(s.now)), "")
	s.at(10).breaks("connection refused", event.KindLease, event.KindPod)
	equal(t, "blind for a minute", textOf(s.at(70).Unready(s.now)), "")
	want := "leases since 10: connection refused, pods since 10: connection refused"
	equal(t, "blind for longer", textOf(s.at(70.5).Unready(s.now)), want)
	s.watch(event.Up, event.KindLease, event.KindPod)
	equal(t, "when it sees again", textOf(s.Unready(s.now)), "")
	s.Apply(event.Event{Seen: clock(80), Kind: event.KindPod, Type: event.Unavailable, Reason: "forbidden"})
	equal(t, "a right that is withdrawn without a break", textOf(s.Unready(clock(1000))), "pods since 70.5: forbidden")
}

func TestLeasesOfTheControlPlaneAreOptional(t *testing.T) {
	const k = event.KindControlPlaneLease
	s := newStory(t, grace40)
	s.starts(lease("node-1", 0))
	apply := func(e event.Event) {
		t.Helper()
		e.Seen, e.Kind = s.now, k
		if found := s.Tracker.Apply(e); len(found) > 0 {
			t.Errorf("%v of them gives %v", e.Type, found)
		}
		equal(t, "not watched", textOf(s.notWatched()), "")
		equal(t, "not ready for", textOf(s.Unready(s.now)), "")
		equal(t, "synced", s.Synced(), true)
		equal(t, "watches that are shown", len(s.Watches(s.now, nil)), 6)
	}
	apply(event.Event{Type: event.Unavailable, Reason: "forbidden"})
	s.at(5)
	apply(event.Event{Type: event.Listing})
	apply(event.Event{Type: event.Listed, Object: &event.ControlPlaneLease{Meta: event.Meta{Name: event.LeaseControllerManager}}})
	apply(event.Event{Type: event.Synced})
	apply(event.Event{Type: event.Down, Reason: "connection lost"})
	s.at(35)
	apply(event.Event{Type: event.Up})
	apply(event.Event{Type: event.Deleted, Object: &event.ControlPlaneLease{Meta: event.Meta{Name: event.LeaseControllerManager}}})
}
