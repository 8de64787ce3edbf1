package track

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// orders returns all orders of some kinds.
func orders(kinds ...event.Kind) (all [][]event.Kind) {
	if len(kinds) < 2 {
		return [][]event.Kind{kinds}
	}
	for i, first := range kinds {
		for _, rest := range orders(slices.Delete(slices.Clone(kinds), i, i+1)...) {
			all = append(all, append([]event.Kind{first}, rest...))
		}
	}
	return all
}

// TestPodsThatVanishInAGap checks that the addresses of pods that vanish are lost for an unknown reason, in every order
// of the lists. A pod whose deletion had begun before the gap was deleted.
func TestPodsThatVanishInAGap(t *testing.T) {
	kinds := []event.Kind{event.KindService, event.KindEndpointSlice, event.KindPod}
	for _, apart := range []float64{0, 0.5, 3} {
		for _, order := range orders(kinds...) {
			s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1", "web-2", "web-3"), aPod("web-1", ready), aPod("web-2", ready), aPod("web-3", ready))
			ending := aPod("web-2", ready)
			deleting(ending)
			s.at(19).modified(ending)
			s.at(20).breaks(event.ReasonExpired, kinds...)
			after := map[event.Kind][]event.Object{
				event.KindService: {aService("web", true)}, event.KindEndpointSlice: {slice("a", "web", "web-3")}, event.KindPod: {aPod("web-3", ready)},
			}
			for i, k := range order {
				s.at(30+float64(i)*apart).lists(k, after[k]...)
			}
			s.Advance(s.now.Add(2 * lagWait))
			v, name := s.service("web"), fmt.Sprintf("lists of %v, %v s apart", order, apart)
			equal(t, name+": unknown", v.Losses[cause.Unknown], 1)
			equal(t, name+": pod_deleted", v.Losses[cause.PodDeleted], 1)
			for _, x := range of[transition.AddressLost](s) {
				equal(t, name+": vanished", x.Vanished, x.Cause == cause.Unknown)
			}
		}
	}
}

// objectNamed returns an object from a text such as "shop/web=1", where 1 is the UID.
func objectNamed(k event.Kind, text string) event.Object {
	o := event.New(k)
	named, uid, _ := strings.Cut(text, "=")
	namespace, name, _ := strings.Cut(named, "/")
	*o.Metadata() = event.Meta{UID: event.ParseUID(uid), Namespace: namespace, Name: name}
	if slice, ok := o.(*event.EndpointSlice); ok {
		slice.Service = "web"
	}
	return o
}

// passThrough passes events to a stage. An event is a text such as "listing" or "listed shop/web=1". The result contains all
// events in order. Inferred events have the form "-shop/web=1", with the first digits of the UID.
func passThrough(t *testing.T, s *Tracker, k event.Kind, events ...string) string {
	t.Helper()
	var all []string
	for _, text := range events {
		what, about, hasObject := strings.Cut(text, " ")
		e := event.Event{Seen: clock(60), Kind: k}
		if err := e.Type.UnmarshalText([]byte(what)); err != nil {
			t.Fatal(err)
		}
		if hasObject {
			e.Object = objectNamed(k, about)
		}
		for _, gone := range s.gone(e, clock(0)) {
			m := gone.Object.Metadata()
			if gone.Type != event.Deleted || gone.Kind != k || !gone.IsInferred() || !gone.Earliest.Equal(clock(0)) || !gone.Seen.Equal(clock(60)) {
				t.Errorf("%+v is not an inferred deletion", gone)
			}
			all = append(all, fmt.Sprintf("-%s/%s=%s", m.Namespace, m.Name, uidText(m.UID)))
			s.applyObject(gone)
		}
		s.applyObject(e)
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func uidText(id event.UID) string {
	for n := range 10 {
		if text := fmt.Sprint(n); event.ParseUID(text) == id {
			return text
		}
	}
	return id.String()
}

func TestVanishedObjectsAreDeleted(t *testing.T) {
	first := []string{"listing", "listed shop/a=1", "listed shop/b=2", "listed shop/c=3", "synced"}
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"the first list":                 {nil, ""},
		"nothing vanished":               {[]string{"down", "listing", "listed shop/a=1", "listed shop/b=2", "listed shop/c=3", "synced"}, ""},
		"missing":                        {[]string{"down", "listing", "listed shop/b=2", "synced"}, "-shop/a=1, -shop/c=3, synced"},
		"an empty list":                  {[]string{"down", "listing", "synced"}, "-shop/a=1, -shop/b=2, -shop/c=3, synced"},
		"created again":                  {[]string{"down", "listing", "listed shop/b=4", "listed shop/a=1", "listed shop/c=3", "synced"}, "-shop/b=2, listed shop/b=4"},
		"created again, as an event":     {[]string{"added shop/b=4"}, "-shop/b=2, added shop/b=4"},
		"created again, and missing":     {[]string{"listing", "listed shop/b=4", "synced"}, "-shop/b=2, listed shop/b=4, -shop/a=1, -shop/c=3, synced"},
		"in another namespace":           {[]string{"added cart/b=4"}, ""},
		"deleted before":                 {[]string{"deleted shop/a=1", "listing", "listed shop/b=2", "listed shop/c=3", "synced"}, ""},
		"deleted late":                   {[]string{"added shop/a=4", "deleted shop/a=1", "listing", "listed shop/a=4", "listed shop/b=2", "listed shop/c=3", "synced"}, "-shop/a=1, added shop/a=4"},
		"added during the list":          {[]string{"listing", "listed shop/a=1", "listed shop/b=2", "modified shop/c=3", "added shop/d=4", "synced"}, ""},
		"deleted during the list":        {[]string{"listing", "listed shop/a=1", "listed shop/b=2", "deleted shop/c=3", "synced"}, ""},
		"the watch breaks in the list":   {[]string{"listing", "listed shop/a=1", "down", "synced"}, ""},
		"unavailable in the list":        {[]string{"listing", "listed shop/a=1", "unavailable", "synced"}, ""},
		"another list begins":            {[]string{"listing", "listed shop/a=1", "listing", "listed shop/b=2", "synced"}, "-shop/a=1, -shop/c=3, synced"},
		"no list":                        {[]string{"down", "up", "synced"}, ""},
		"first seen in a broken-off one": {[]string{"listing", "listed shop/d=4", "down", "listing", "listed shop/a=1", "listed shop/b=2", "listed shop/c=3", "synced"}, "-shop/d=4, synced"},
		"a direct read":                  {[]string{"read shop/a=4"}, ""},
	} {
		for _, k := range []event.Kind{event.KindService, event.KindLease, event.KindControlPlaneLease, event.KindNode} {
			s := New(grace40)
			if got, want := passThrough(t, s, k, first...), strings.Join(first, ", "); got != want {
				t.Errorf("%v: first list: %s", k, got)
			}
			got := passThrough(t, s, k, c.events...)
			if plain := strings.Join(c.events, ", "); c.want == "" && got != plain || !strings.Contains(got, c.want) || strings.Count(got, "-") != strings.Count(c.want, "-") {
				t.Errorf("%s of %v:\ngot  %s\nwant %s", name, k, got, c.want)
			}
		}
	}
}
