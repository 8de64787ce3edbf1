package flightrecorder_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// TestAfterAGapTheResourcesAreListedAgain removes the directory for a while. The recorder must then list again. Watch
// events that arrive during a list must be kept, and outdated events must not replace listed objects. The API server's
// version must be written again, because older files may be deleted.
func TestAfterAGapTheResourcesAreListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		var c *cluster
		s.List = func(ctx context.Context, kind event.Kind, each func(event.Object)) (string, error) {
			var old []event.Object
			version, err := c.api(ctx, kind, func(object event.Object) {
				old = append(old, object)
				each(object)
			})
			time.Sleep(2 * time.Second)
			if len(old) > 0 {
				late := event.Event{Seen: now(), Kind: kind, Type: event.Modified, Object: stale(old[0])}
				c.to.Record(late) // the watch lags behind the list
			}
			return version, err
		}
		r, stop, log := run(t, s)
		c = newCluster(6, r)
		c.send(event.KindCluster, event.Listed, &event.Cluster{Version: "v1.37.2"}, "")
		c.list()
		for range 50 {
			time.Sleep(time.Second)
			c.change()
		}
		synctest.Wait()
		if err := errors.Join(os.Rename(s.Dir, s.Dir+".away"), os.WriteFile(s.Dir, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		for range 2 * 3600 { // the recorder notices at the next file
			time.Sleep(time.Second)
			c.change()
		}
		synctest.Wait()
		if status := r.Status(); status.Recording || status.Lost == 0 {
			t.Errorf("status %+v, want that it does not record", status)
		}
		if err := errors.Join(os.Remove(s.Dir), os.Rename(s.Dir+".away", s.Dir)); err != nil {
			t.Fatal(err)
		}
		for range 60 { // at least one retry
			time.Sleep(time.Second)
			c.change()
		}
		time.Sleep(time.Second)
		at, objects, sent := now(), maps.Clone(c.objects), len(c.sent)
		for range 50 {
			time.Sleep(time.Second)
			c.change()
		}
		stop()
		if !r.Status().Recording || !strings.Contains(log.String(), "resumed recording") {
			t.Errorf("status %+v, want that it records again; log:\n%s", r.Status(), log)
		}
		got := read(t, s.Dir, at, now())
		isVersion := func(ev event.Event) bool {
			o, ok := ev.Object.(*event.Cluster)
			return ok && o.Version == "v1.37.2"
		}
		if !slices.ContainsFunc(got, isVersion) {
			t.Error("the API server's version is missing")
		}
		rest := checkState(t, slices.DeleteFunc(got, isVersion), objects)
		if !reflect.DeepEqual(rest, c.sent[sent:]) {
			t.Errorf("%d events after the state, want %d", len(rest), len(c.sent)-sent)
		}
	})
}

// stale returns an older version of the object.
func stale(object event.Object) event.Object {
	switch o := object.(type) {
	case *event.Node:
		old := *o
		old.ResourceVersion, old.BootID = "1", "old"
		return &old
	case *event.Pod:
		old := *o
		old.ResourceVersion, old.Phase = "1", "Pending"
		return &old
	case *event.Lease:
		old := *o
		old.ResourceVersion, old.DurationSeconds = "1", 1
		return &old
	}
	return object
}

// TestWatchesDuringAGap records nodes: lower-case letters are listed nodes, "(" and ")" begin and end a list, "-" breaks
// the watch, "+" means that it works again, "x" means that it is forbidden, and other upper-case letters are changes. "!"
// and "?" are the begin and the end of a gap, and "." is a pause in which the recorder retries. The segment after the gap
// must show the same cluster as the watch. The recorder's own lists contain all nodes that were ever mentioned, except
// "d", which was deleted in the gap. Its first list fails.
func TestWatchesDuringAGap(t *testing.T) {
	for story, want := range map[string]string{
		"(abc)A!B?C":        "(abc)C",
		"(abc)!-?+.B":       "(abc)B", // the recorder waits for the watch
		"(abc)!-?(ab).B":    "(abc)B",
		"(abc)-!?+.B":       "(abc)B",
		"(abc)!?-+B-(ab)":   "(abc)-+B-(ab)",
		"(ab!c?a).B":        "(abc)B", // the list of the watch is torn
		"(ab!c)?B":          "(abc)B",
		"(abc)!(a?bc).A":    "(abc)A",
		"(abc)!(a?b-(ac).A": "(abc)A",
		"(a!-?(ab).A":       "(ab)A",
		"(abc)!?(ab)A":      "(abc)(ab)A",
		"(abc)!x?.(ab)A":    "x(ab)A",
		"!?(ab)A":           "(ab)A",
		"(abd)!?A":          "(ab)A",
	} {
		t.Run(story, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, version, refused := settings(t), 100, false
				names := map[string]int{}
				node := func(name string) *event.Node {
					return &event.Node{Meta: event.Meta{UID: uidOf(event.KindNode, int(name[0])), Name: name, ResourceVersion: fmt.Sprint(names[name])}}
				}
				s.List = func(_ context.Context, _ event.Kind, each func(event.Object)) (string, error) {
					if !refused {
						refused = true
						each(node("partial"))
						return "", errors.New("too many requests")
					}
					for _, name := range slices.Sorted(maps.Keys(names)) {
						if name != "d" {
							each(node(name))
						}
					}
					return fmt.Sprint(version), nil
				}
				r, stop, _ := run(t, s)
				after := now()
				for _, what := range story {
					synctest.Wait()
					ev := event.Event{Seen: now(), Kind: event.KindNode}
					name := strings.ToLower(string(what))
					switch what {
					case '!':
						synctest.Wait()
						if err := errors.Join(os.MkdirAll(s.Dir, 0o700), os.Rename(s.Dir, s.Dir+".away"), os.WriteFile(s.Dir, nil, 0o600)); err != nil {
							t.Fatal(err)
						}
						r.Record(event.Event{Seen: now(), Kind: event.KindCluster, Type: event.Bookmark}) // creates a segment, if there is none
						time.Sleep(15 * time.Second)
						continue
					case '?':
						if err := errors.Join(os.Remove(s.Dir), os.Rename(s.Dir+".away", s.Dir)); err != nil {
							t.Fatal(err)
						}
						after = now()
						time.Sleep(2 * time.Minute) // at least two retries
						continue
					case '(':
						ev.Type = event.Listing
					case ')':
						ev.Type = event.Synced
					case '-':
						ev.Type, ev.Reason = event.Down, event.ReasonTimeout
					case '+':
						ev.Type = event.Up
					case 'x':
						ev.Type, ev.Reason = event.Unavailable, event.ReasonForbidden
					case '.':
						time.Sleep(2 * time.Minute)
						continue
					default:
						ev.Type = event.Listed
						if name != string(what) {
							ev.Type = event.Modified
						}
						version++
						names[name] = version
						ev.Object = node(name)
					}
					r.Record(ev)
					time.Sleep(2 * time.Second)
				}
				stop()
				segments, err := flightrecorder.Segments(s.Dir)
				if err != nil {
					t.Fatal(err)
				}
				segments = slices.DeleteFunc(segments, func(x flightrecorder.Segment) bool { return x.Begins.Before(after) })
				if got := letters(read(t, s.Dir, segments[0].Begins, now())); got != want {
					t.Errorf("read %s, want %s", got, want)
				}
			})
		})
	}
}
