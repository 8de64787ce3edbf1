package vanished

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

var (
	broke = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now   = broke.Add(time.Minute)
)

// object returns an object from a text such as "shop/web=1", where 1 is the UID.
func object(k event.Kind, text string) event.Object {
	o := event.New(k)
	named, uid, _ := strings.Cut(text, "=")
	namespace, name, _ := strings.Cut(named, "/")
	*o.Metadata() = event.Meta{UID: event.ParseUID(uid), Namespace: namespace, Name: name}
	return o
}

// apply passes events to a stage. An event is a text such as "listing" or "listed shop/web=1". The result contains all
// events in order. Inferred events have the form "-shop/web=1", with the first digits of the UID.
func apply(t *testing.T, s *Stage, k event.Kind, events ...string) string {
	t.Helper()
	var all []string
	for _, text := range events {
		what, about, hasObject := strings.Cut(text, " ")
		e := event.Event{Seen: now, Kind: k}
		if err := e.Type.UnmarshalText([]byte(what)); err != nil {
			t.Fatal(err)
		}
		if hasObject {
			e.Object = object(k, about)
		}
		for _, gone := range s.Before(e, broke) {
			m := gone.Object.Metadata()
			if gone.Type != event.Deleted || gone.Kind != k || !gone.IsInferred() || !gone.Earliest.Equal(broke) || !gone.Seen.Equal(now) {
				t.Errorf("%+v is not an inferred deletion", gone)
			}
			all = append(all, fmt.Sprintf("-%s/%s=%s", m.Namespace, m.Name, uidText(m.UID)))
		}
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
			s := New()
			if got, want := apply(t, s, k, first...), strings.Join(first, ", "); got != want {
				t.Errorf("%v: first list: %s", k, got)
			}
			got := apply(t, s, k, c.events...)
			if plain := strings.Join(c.events, ", "); c.want == "" && got != plain || !strings.Contains(got, c.want) || strings.Count(got, "-") != strings.Count(c.want, "-") {
				t.Errorf("%s of %v:\ngot  %s\nwant %s", name, k, got, c.want)
			}
		}
	}
}

// TestObjectsWithoutStoredNames checks that a recreated pod is deleted only after the list, and that the events contain
// no names.
func TestObjectsWithoutStoredNames(t *testing.T) {
	for _, k := range []event.Kind{event.KindPod, event.KindEndpointSlice, event.KindEndpoints} {
		s := New()
		apply(t, s, k, "listing", "listed shop/a=1", "listed shop/b=2", "synced")
		got := apply(t, s, k, "down", "listing", "listed shop/a=3", "listed shop/c=4", "synced")
		gone := []string{"-/=1", "-/=2"}
		slices.SortFunc(gone, func(a, b string) int {
			return strings.Compare(event.ParseUID(a[3:]).String(), event.ParseUID(b[3:]).String())
		})
		if want := "down, listing, listed shop/a=3, listed shop/c=4, " + strings.Join(gone, ", ") + ", synced"; got != want {
			t.Errorf("%v:\ngot  %s\nwant %s", k, got, want)
		}
	}
}

// TestKindsAreIndependent checks that a list of one resource deletes no objects of another.
func TestKindsAreIndependent(t *testing.T) {
	s := New()
	apply(t, s, event.KindPod, "listing", "listed shop/a=1", "synced")
	apply(t, s, event.KindService, "listing", "listed shop/a=1", "synced")
	if got := apply(t, s, event.KindService, "listing", "synced"); !strings.Contains(got, "-shop/a=1") {
		t.Error(got)
	}
	if got := apply(t, s, event.KindPod, "listing", "listed shop/a=1", "synced"); strings.Contains(got, "-") {
		t.Error(got)
	}
}

// TestMemory measures a cluster with 1,000 nodes and 30,000 pods.
func TestMemory(t *testing.T) {
	before := heapInUse()
	s := New()
	for k, n := range map[event.Kind]int{
		event.KindNode: 1000, event.KindLease: 1000, event.KindPod: 30000, event.KindService: 2000, event.KindEndpointSlice: 3000, event.KindEndpoints: 2000,
	} {
		for i := range n {
			o := object(k, fmt.Sprintf("namespace-%d/workload-%d-7d9c5b8f6-x%04d=%d", i%100, i/15, i, i))
			s.Before(event.Event{Seen: now, Kind: k, Type: event.Listed, Object: o}, broke)
		}
	}
	used := heapInUse() - before
	t.Logf("%d KiB", used>>10)
	if used > 2<<20 {
		t.Errorf("%d KiB, want at most 2 MiB", used>>10)
	}
	runtime.KeepAlive(s)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
