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
// "~" is a pause of two hours, after which a segment begins, too. ";" is a restart.
//
// "!" and "?" are the begin and the end of a gap, "%" cuts the current segment, and "." is a pause in which the recorder
// retries. The recorder's own lists contain all nodes that were ever mentioned, except "d", which was deleted in the gap.
// Its first list fails.
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
		"(abc)!?B!-?A+C":    "-(abc)C", // the recorder lists when the watch works
		"(abc)!?B!(a?bc)C":  "(abc)C",  // the list of the watch is torn
		"(abc)!?B!-?~+C":    "-(abc)C",
		"(abc)!-?+.B":       "-(partial(abc)B",
		"(abc)!-?(ab).B":    "-(ab)B",
		"(abc)-!?+.B":       "-(partial(abc)B",
		"(abc)!?-+B-(ab)":   "(abc)-+B-(ab)",
		"(ab!c?a).B":        "(partial-(abc)B",
		"(ab!c)?B":          "(abc)B",
		"(abc)!(a?bc).A":    "(partial-(abc)A",
		"(abc)!(a?b-(ac).A": "-(ac)A",
		"(a!-?(ab).A":       "-(ab)A",
		"(abc)!?(ab)A":      "(abc)(ab)A",
		"(abc)!x?.(ab)A":    "x(ab)A",
		"!?(ab)A":           "(ab)A",
		"(abd)!?A":          "(ab)A",
		"(abc)%~A.B":        "(abc)B", // the next segment needs the state
	} {
		t.Run(story, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := narrate(t, story)
				if strings.ContainsAny(story, "?%") {
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

// TestAWatchWorksAgainAtTheEnd stops a recorder that is about to list nodes. This must not lose the events in the queue.
func TestAWatchWorksAgainAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &narrator{t: t, s: settings(t), names: map[string]int{}, version: 100, from: now(), listed: true}
		n.s.List = func(ctx context.Context, kind event.Kind, each func(event.Object)) (string, error) {
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			return n.list(ctx, kind, each)
		}
		var stop func()
		n.to, stop = run(t, n.s)
		for _, sign := range "(abc)!-?" {
			synctest.Wait()
			n.tell(string(sign))
		}
		time.Sleep(time.Millisecond) // between two writes
		n.to.Record(n.event("+"))
		n.to.Record(n.event("v"))
		stop()
		if got := letters(read(t, n.s.Dir, n.from, now())); got != "(abc)--v" {
			t.Errorf("read %s", got)
		}
	})
}

// narrate tells a whole story.
func narrate(t *testing.T, story string) *narrator {
	t.Helper()
	n := &narrator{t: t, s: settings(t), names: map[string]int{}, version: 100, from: now()}
	n.s.List = n.list
	n.run(story)
	return n
}

func (n *narrator) run(story string) {
	n.t.Helper()
	for process := range strings.SplitSeq(story, ";") {
		var stop func()
		n.to, stop = run(n.t, n.s)
		for _, sign := range process {
			synctest.Wait()
			n.tell(string(sign))
		}
		stop()
		time.Sleep(time.Minute)
	}
}

// narrator sends the events of a story.
type narrator struct {
	t  *testing.T
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
func (n *narrator) tell(sign string) {
	n.t.Helper()
	var err error
	switch sign {
	case "|":
		n.from = n.now()
	case "<":
		n.back = time.Minute
	case "~":
		time.Sleep(2 * time.Hour)
	case ".":
		time.Sleep(2 * time.Minute)
	case "%":
		all := files(n.t, n.s.Dir)
		var text []byte
		text, err = os.ReadFile(all[len(all)-1])
		n.from, err = now(), errors.Join(err, os.Truncate(all[len(all)-1], int64(len(text)/2)))
	case "!":
		err = errors.Join(os.MkdirAll(n.s.Dir, 0o700), os.Rename(n.s.Dir, n.s.Dir+".away"), os.WriteFile(n.s.Dir, nil, 0o600))
		n.to.Record(event.Event{Seen: now(), Kind: event.KindCluster, Type: event.Bookmark}) // creates a segment, if there is none
		time.Sleep(15 * time.Second)
	case "?":
		n.from, err = now(), errors.Join(os.Remove(n.s.Dir), os.Rename(n.s.Dir+".away", n.s.Dir))
		time.Sleep(2 * time.Minute) // at least two retries
	default:
		n.to.Record(n.event(sign))
		time.Sleep(2 * time.Second)
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *narrator) event(sign string) event.Event {
	ev := event.Event{Seen: n.now(), Kind: event.KindNode, Type: signs[sign]}
	name := strings.ToLower(sign)
	switch {
	case sign == "v":
		ev.Kind, ev.Type, ev.Object = event.KindCluster, event.Listed, &event.Cluster{Version: "v1.37.2"}
	case sign == "0":
		old := n.node("a")
		old.ResourceVersion = "1"
		ev.Type, ev.Object = event.Modified, old
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
	return ev
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
