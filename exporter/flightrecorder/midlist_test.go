package flightrecorder_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestAReadingThatBeginsDuringAList records nodes, one event per second: lower-case letters are listed nodes, "(" and
// ")" begin and end a list, "-" breaks the watch, and upper-case letters are changes. The reading begins at "|". At
// "<", the clock is set back by a minute, so that a segment begins.
func TestAReadingThatBeginsDuringAList(t *testing.T) {
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
	} {
		t.Run(story, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, begin := settings(t), now()
				r, stop, _ := run(t, s)
				step, from, to := time.Duration(0), begin, begin
				for i, what := range story {
					ev := event.Event{Seen: begin.Add(time.Duration(i)*time.Second - step), Kind: event.KindNode}
					name := strings.ToLower(string(what))
					ev.Object = &event.Node{Meta: event.Meta{UID: uidOf(event.KindNode, int(name[0])), Name: name}, BootID: fmt.Sprint(i)}
					switch what {
					case '|':
						from = ev.Seen
						continue
					case '<':
						step = time.Minute
						continue
					case '(':
						ev.Type, ev.Object = event.Listing, nil
					case ')':
						ev.Type, ev.Object = event.Synced, nil
					case '-':
						ev.Type, ev.Object, ev.Reason = event.Down, nil, event.ReasonTimeout
					case 'a', 'b', 'c':
						ev.Type = event.Listed
					default:
						ev.Type = event.Modified
					}
					r.Record(ev)
					to = ev.Seen
					synctest.Wait()
				}
				stop()
				if got := letters(read(t, s.Dir, from, to)); got != want {
					t.Errorf("read %s, want %s", got, want)
				}
			})
		})
	}
}

// letters writes the events of nodes like the tests do.
func letters(events []event.Event) string {
	var all strings.Builder
	signs := map[event.Type]string{event.Listing: "(", event.Synced: ")", event.Down: "-", event.Unavailable: "x", event.Up: "+"}
	for _, ev := range events {
		switch ev.Type {
		case event.Listed:
			all.WriteString(ev.Object.Metadata().Name)
		case event.Modified:
			all.WriteString(strings.ToUpper(ev.Object.Metadata().Name))
		default:
			all.WriteString(signs[ev.Type])
		}
	}
	return all.String()
}
