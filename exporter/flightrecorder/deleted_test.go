package flightrecorder_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// TestAFileThatIsDeletedDuringAReadingIsAGap deletes files like a recorder that needs space.
func TestAFileThatIsDeletedDuringAReadingIsAGap(t *testing.T) {
	withoutRaceDetector(t)
	for name, test := range map[string]struct {
		deleted []string
		after   int
		// want is the file that contains the begin of the hole, and the base at its end.
		want [2]string
	}{
		"a later file":             {[]string{"2-next"}, 100, [2]string{"1-start", "3-state"}},
		"a whole generation":       {[]string{"3-state", "3-next", "4-next"}, 100, [2]string{"2-next", "5-state"}},
		"the first generation":     {[]string{"1-start", "2-next"}, 0, [2]string{"1-start", "3-state"}},
		"all files of a process":   {[]string{"1-start", "2-next", "3-state", "3-next", "4-next", "5-state", "5-next", "6-next"}, 0, [2]string{"1-start", "7-start"}},
		"files that were read":     {[]string{"1-start", "2-next"}, 1000, [2]string{}},
		"the file that is read":    {[]string{"1-start"}, 100, [2]string{}},
		"a state that is not read": {[]string{"3-state"}, 100, [2]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := recordTwoProcesses(t)
				want := []hole{{r.begins(t, "6-next"), r.begins(t, "7-start")}}
				if test.want[1] == "7-start" {
					want = nil
				}
				if test.want[0] != "" {
					want = append([]hole{{r.begins(t, test.want[0]), r.begins(t, test.want[1])}}, want...)
				}
				events, _, err := flightrecorder.Read(t.Context(), r.dir, r.begin, now())
				if err != nil {
					t.Fatal(err)
				}
				remove := func() {
					for _, file := range test.deleted {
						if err := os.Remove(r.files[file]); err != nil {
							t.Fatal(err)
						}
					}
				}
				var got []event.Event
				if test.after == 0 {
					remove()
				}
				for ev, err := range events {
					if err != nil {
						t.Fatal(err)
					}
					if got = append(got, ev); len(got) == test.after {
						remove()
					}
				}
				holes := r.holes(t, got)
				for i, h := range holes {
					if i < len(want) && h.from >= want[i].from && h.from < want[i].from+61*time.Minute {
						holes[i].from = want[i].from
					}
				}
				if !slices.Equal(holes, want) {
					t.Errorf("holes %v, want %v", holes, want)
				}
			})
		})
	}
}

// TestAStateThatIsDeletedDuringAReading deletes the base of a reading after it was summarized. The lists must then have
// no end, because objects are missing.
func TestAStateThatIsDeletedDuringAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := recordTwoProcesses(t)
		from, next := r.begin.Add(r.begins(t, "3-next")+90*time.Minute), r.begin.Add(r.begins(t, "5-state"))
		events, _, err := flightrecorder.Read(t.Context(), r.dir, from, now())
		if err = errors.Join(err, os.Remove(r.files["3-state"])); err != nil {
			t.Fatal(err)
		}
		var got []event.Event
		for ev, err := range events {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ev)
		}
		down := 0
		for i, ev := range got {
			if ev.Type == event.Down && ev.Reason == event.ReasonNotRecorded && ev.Seen.Equal(from) {
				down++
			}
			if !ev.Seen.Before(next) {
				got = got[i:]
				break
			}
			if ev.Type == event.Synced || ev.Type == event.Modified {
				t.Errorf("%v of %v at %v, when the state is unknown", ev.Type, ev.Kind, ev.Seen)
			}
		}
		if down != len(kinds) {
			t.Errorf("%d watches are down, want %d", down, len(kinds))
		}
		at := slices.IndexFunc(r.sent, func(ev event.Event) bool { return !ev.Seen.Before(next) })
		checkState(t, got, stateOf(r.sent[:at]))
	})
}
