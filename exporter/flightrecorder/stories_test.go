package flightrecorder_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// TestStories records nodes. Lower-case letters are listed nodes, "(" and ")" begin and end a list, "-" breaks the
// watch, "+" means that it works again, "x" means that it is forbidden, "v" is the API server's version, and upper-case
// letters are changes. "0" is an old change of "a". At "<", the clock is set back by a minute, so that a segment begins.
//
// "!" and "?" are the begin and the end of a gap, and "." is a pause in which the recorder retries. The recorder's own
// lists contain all nodes that were ever mentioned, except "d", which was deleted in the gap. Its first list fails.
//
// The reading begins at "|", or else with the segment after the gap.
func TestStories(t *testing.T) {
	for story, want := range map[string]string{
		"(abc)A|B":       "(bca)B",
		"(a|bc)B":        "(abc)B",
		"|(abc)B":        "(abc)B",
		"(abc)-(a|c)C":   "(a-c)C", // b was deleted
		"(abc)-|(ac)C":   "(abc)-(ac)C",
		"(abc)-(ac|)C":   "(ac-)C",
		"(abc)-(a-|(ac)": "(bca)-(ac)", // the second list failed
		"(abc)-(a<c)C|C": "(ac)C",      // the state of the new segment is not complete either
		"(a<bc)B|C":      "(acb)C",

		"(abc)A!B?C":        "(abc)C",
		"v(abc)!?B":         "v(abc)B", // older files may be deleted
		"(abc)!?0B":         "(abc)B",  // the watch lags behind the recorder's list
		"(abc)!?(ab)0":      "(abc)(ab)A",
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
				n := &narrator{s: settings(t), names: map[string]int{}, version: 100}
				n.s.List = n.list
				r, stop, _ := run(t, n.s)
				n.to = r
				for _, sign := range story {
					synctest.Wait()
					if err := n.tell(string(sign)); err != nil {
						t.Fatal(err)
					}
				}
				stop()
				if strings.Contains(story, "?") {
					segments, err := flightrecorder.Segments(n.s.Dir)
					if err != nil {
						t.Fatal(err)
					}
					at := slices.IndexFunc(segments, func(x flightrecorder.Segment) bool { return !x.Begins.Before(n.from) })
					n.from = segments[at].Begins
				}
				if got := letters(read(t, n.s.Dir, n.from, n.now())); got != want {
					t.Errorf("read %s, want %s", got, want)
				}
			})
		})
	}
}

// narrator sends the events of a story.
type narrator struct {
	s  flightrecorder.Settings
	to *flightrecorder.Recorder
	// names has the version of each node.
	names   map[string]int
	version int
	// listed is set after the first list of the recorder, which fails.
	listed bool
	// from is when the reading begins, and back is how far the clock was set back.
	from time.Time
	back time.Duration
}

func (n *narrator) now() time.Time { return now().Add(-n.back) }

func (n *narrator) node(name string) *event.Node {
	return &event.Node{Meta: event.Meta{UID: uidOf(event.KindNode, int(name[0])), Name: name, ResourceVersion: fmt.Sprint(n.names[name])}}
}

func (n *narrator) list(_ context.Context, _ event.Kind, each func(event.Object)) (string, error) {
	if !n.listed {
		n.listed = true
		each(n.node("partial"))
		return "", errors.New("too many requests")
	}
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		if name != "d" {
			each(n.node(name))
		}
	}
	return fmt.Sprint(n.version), nil
}

var signs = map[string]event.Type{
	"(": event.Listing, ")": event.Synced, "-": event.Down, "+": event.Up, "x": event.Unavailable,
}

// tell tells one sign of the story.
func (n *narrator) tell(sign string) error {
	ev := event.Event{Seen: n.now(), Kind: event.KindNode, Type: signs[sign]}
	name := strings.ToLower(sign)
	switch {
	case sign == "|":
		n.from = n.now()
		return nil
	case sign == "<":
		n.back = time.Minute
		return nil
	case sign == ".":
		time.Sleep(2 * time.Minute)
		return nil
	case sign == "!":
		if err := errors.Join(os.MkdirAll(n.s.Dir, 0o700), os.Rename(n.s.Dir, n.s.Dir+".away"), os.WriteFile(n.s.Dir, nil, 0o600)); err != nil {
			return err
		}
		n.to.Record(event.Event{Seen: now(), Kind: event.KindCluster, Type: event.Bookmark}) // creates a segment, if there is none
		time.Sleep(15 * time.Second)
		return nil
	case sign == "?":
		err := errors.Join(os.Remove(n.s.Dir), os.Rename(n.s.Dir+".away", n.s.Dir))
		n.from = now()
		time.Sleep(2 * time.Minute) // at least two retries
		return err
	case sign == "v":
		ev.Kind, ev.Type, ev.Object = event.KindCluster, event.Listed, &event.Cluster{Version: "v1.37.2"}
	case sign == "0":
		ev.Type, ev.Object = event.Modified, withVersion(n.node("a"), "1")
	case ev.Type == 0:
		if ev.Type = event.Listed; name != sign {
			ev.Type = event.Modified
		}
		n.version++
		n.names[name] = n.version
		ev.Object = n.node(name)
	case ev.Type == event.Down, ev.Type == event.Unavailable:
		ev.Reason = event.ReasonTimeout
	}
	n.to.Record(ev)
	time.Sleep(2 * time.Second)
	return nil
}

// letters writes events like a story.
func letters(events []event.Event) string {
	var all strings.Builder
	for _, ev := range events {
		switch {
		case ev.Kind == event.KindCluster && ev.Object != nil:
			all.WriteString("v")
		case ev.Type == event.Listed:
			all.WriteString(ev.Object.Metadata().Name)
		case ev.Type == event.Modified:
			all.WriteString(strings.ToUpper(ev.Object.Metadata().Name))
		default:
			for sign, what := range signs {
				if what == ev.Type {
					all.WriteString(sign)
				}
			}
		}
	}
	return all.String()
}
