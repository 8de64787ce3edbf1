package flightrecorder_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// recorded is a directory with two processes: the first one recorded three segments, the second one a single segment.
type recorded struct {
	dir   string
	begin time.Time
	// sent contains the events of both processes.
	sent []event.Event
	// files are the paths of the segments.
	files []string
}

// recordTwoProcesses returns a directory that the test can change.
func recordTwoProcesses(t *testing.T) *recorded {
	t.Helper()
	s := settings(t)
	all := &recorded{dir: s.Dir, begin: now()}
	for i, changes := range []int{5*360 + 180, 20} {
		r, stop, _ := run(t, s)
		c := newCluster(uint64(20+i), r)
		c.list()
		for range changes {
			time.Sleep(10 * time.Second)
			c.change()
		}
		stop()
		time.Sleep(10 * time.Minute)
		all.sent = append(all.sent, c.sent...)
	}
	if all.files = files(t, s.Dir); len(all.files) != 4 {
		t.Fatalf("%d segments, want 4", len(all.files))
	}
	return all
}

// begins returns the beginning of a segment as a duration since the start. The first segment has the number 1.
func (r *recorded) begins(t *testing.T, segment int) time.Duration {
	t.Helper()
	stamp, _, _ := strings.Cut(filepath.Base(r.files[segment-1]), "-")
	at, err := time.Parse("20060102T150405.000000Z", stamp)
	if err != nil {
		t.Fatalf("segment %d of %q: %v", segment, r.files, err)
	}
	return at.Sub(r.begin)
}

// hole is a period without events, as durations since the start.
type hole struct{ from, to time.Duration }

// holes checks that events are those that were sent, except in holes, and that the state is listed again after each
// hole. It returns the holes. The last one has no end if no list follows.
func (r *recorded) holes(t *testing.T, got []event.Event) (all []hole) {
	t.Helper()
	sent := r.sent
	for i := 0; i < len(got); i++ {
		if len(sent) > 0 && reflect.DeepEqual(got[i], sent[0]) {
			sent = sent[1:]
			continue
		}
		from := i
		for i < len(got) && got[i].Type == event.Down && got[i].Reason == event.ReasonNotRecorded {
			i++
		}
		if i-from != len(kinds) && i > 0 {
			t.Fatalf("event %d of %d is unexpected: %+v", i, len(got), got[i])
		}
		if i == len(got) {
			return append(all, hole{from: got[from].Seen.Sub(r.begin)})
		}
		before := min(from, i-1)
		h := hole{to: got[i].Seen.Sub(r.begin)}
		if before >= 0 {
			h.from = got[before].Seen.Sub(r.begin)
		}
		all = append(all, h)
		at := slices.IndexFunc(r.sent, func(ev event.Event) bool { return !ev.Seen.Before(got[i].Seen) })
		sent = r.sent[at:]
		if reflect.DeepEqual(got[i], sent[0]) { // a process lists
			i--
			continue
		}
		rest := checkState(t, got[i:], stateOf(r.sent[:at]))
		i = len(got) - len(rest) - 1
	}
	if len(sent) > 0 {
		t.Errorf("%d events are missing at the end", len(sent))
	}
	return all
}

// expectHoles checks that the events have the hole between the processes, and another hole if segment is not 0. This
// hole begins in the segment, and ends at the next segment.
func (r *recorded) expectHoles(t *testing.T, got []event.Event, segment int) {
	t.Helper()
	stop := r.sent[slices.IndexFunc(r.sent, func(ev event.Event) bool { return ev.Seen.Sub(r.begin) >= r.begins(t, 4) })-1]
	want := []hole{{stop.Seen.Sub(r.begin), r.begins(t, 4)}}
	holes := r.holes(t, got)
	if segment > 0 {
		want = slices.Insert(want, 0, hole{r.begins(t, segment), r.begins(t, segment+1)})
		if segment == 3 {
			want = want[:1]
		}
		// If nothing of the segment is readable, the hole begins with the last event before it.
		if len(holes) > 0 && holes[0].from >= want[0].from-10*time.Second && holes[0].from < want[0].to {
			holes[0].from = want[0].from
		}
	}
	if !slices.Equal(holes, want) {
		t.Errorf("holes %v, want %v, the first one beginning in segment %d", holes, want, segment)
	}
}

// stateOf returns the objects after some events.
func stateOf(all []event.Event) map[event.UID]event.Object {
	state := map[event.UID]event.Object{}
	for _, ev := range all {
		switch {
		case ev.Object == nil:
		case ev.Type == event.Deleted:
			delete(state, ev.Object.Metadata().UID)
		default:
			state[ev.Object.Metadata().UID] = ev.Object
		}
	}
	return state
}

// damage changes the content of a file.
type damage func(text []byte) []byte

func zeros(n int) damage {
	return func(text []byte) []byte {
		n := min(n, len(text))
		return append(slices.Clone(text[:len(text)-n]), make([]byte, n)...)
	}
}

func flipped(text []byte) []byte {
	text[len(text)/2] ^= 0x55
	return text
}

func empty([]byte) []byte { return nil }

func cut(n int) damage { return func(text []byte) []byte { return text[:len(text)-n] } }

func half(text []byte) []byte { return text[:len(text)/2] }

func (r *recorded) damage(t *testing.T, segment int, how damage) {
	t.Helper()
	path := r.files[segment-1]
	text, err := os.ReadFile(path)
	switch {
	case how == nil:
		err = os.Remove(path)
	case err == nil:
		err = os.WriteFile(path, how(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestADamagedSegmentIsAGap checks that the rest of a directory stays readable, and that what is lost is shown like a
// period without a recorder: from within the damaged segment to the next one. A recorder that needs space may delete a
// segment during the reading.
func TestADamagedSegmentIsAGap(t *testing.T) {
	withoutRaceDetector(t)
	const opened = -1 // the segment is damaged after Read has returned
	for name, test := range map[string]struct {
		segment int
		damage  damage // nil if the segment is deleted
		after   int    // the number of events that are read before
		hole    bool
	}{
		"zeros at the end of the first one":       {1, zeros(600), 0, true},
		"the first one has only zeros":            {1, zeros(1 << 20), 0, true},
		"the first one is empty":                  {1, empty, 0, true},
		"the first one is text":                   {1, func([]byte) []byte { return []byte("no recording\n") }, 0, true},
		"flipped bits in a later one":             {2, flipped, 0, true},
		"a later one is cut short":                {2, half, 0, true},
		"a later one is empty":                    {2, empty, 0, true},
		"zeros in the last one before the stop":   {3, zeros(100), 0, true},
		"the last one before a kill":              {3, cut(9), 0, false},
		"a kill while the lists are written":      {3, func(text []byte) []byte { return text[:len(text)/20] }, 0, true},
		"the last one is cut short":               {4, cut(9), 0, false},
		"a later one is deleted":                  {2, nil, 100, true},
		"the first one is deleted":                {1, nil, opened, true},
		"one that was read is deleted":            {1, nil, 1000, false},
		"the one that is read is deleted":         {1, nil, 100, false},
		"the last one before the stop is deleted": {3, nil, 100, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := recordTwoProcesses(t)
				if test.after == 0 {
					r.damage(t, test.segment, test.damage)
				}
				events, err := flightrecorder.Read(t.Context(), r.dir, r.begin, now())
				if err != nil {
					t.Fatal(err)
				}
				if test.after == opened {
					r.damage(t, test.segment, test.damage)
				}
				var got []event.Event
				for ev, err := range events {
					if err != nil {
						t.Fatal(err)
					}
					if got = append(got, ev); len(got) == test.after {
						r.damage(t, test.segment, test.damage)
					}
				}
				hole := test.segment
				if !test.hole {
					hole = 0
				}
				r.expectHoles(t, got, hole)
			})
		})
	}
}

// TestAReadingThatBeginsInAHole checks that the reading begins with the next segment.
func TestAReadingThatBeginsInAHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := recordTwoProcesses(t)
		r.damage(t, 2, flipped)
		next := r.begin.Add(r.begins(t, 3))
		got := read(t, r.dir, next.Add(-time.Minute), now())
		at := slices.IndexFunc(r.sent, func(ev event.Event) bool { return !ev.Seen.Before(next) })
		if !got[0].Seen.Equal(next) {
			t.Errorf("the reading begins at %v, want %v", got[0].Seen, next)
		}
		checkState(t, got, stateOf(r.sent[:at]))
		// Nothing is readable before.
		_, err := flightrecorder.Read(t.Context(), r.dir, next.Add(-time.Minute), next.Add(-time.Second))
		if err == nil || !strings.Contains(err.Error(), filepath.Base(r.files[1])) {
			t.Errorf("error %v, want that %s is damaged", err, r.files[1])
		}
	})
}

func TestADirectoryThatCannotBeReadAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begin := settings(t), now()
		process(t, s)
		if err := os.WriteFile(files(t, s.Dir)[0], make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		const want = "not a kubeflap recording"
		if _, err := flightrecorder.Read(t.Context(), s.Dir, begin, now()); err == nil || errors.Is(err, flightrecorder.ErrNothing) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		all, err := flightrecorder.Segments(s.Dir)
		if err != nil || len(all) != 1 || !all[0].End().IsZero() {
			t.Fatalf("segments %v, %v, want one without an end", all, err)
		}
		if _, err := all[0].Head(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		process(t, s)
		all, err = flightrecorder.Segments(s.Dir)
		if err != nil || len(all) != 2 || !all[0].Begins.Equal(begin) || !all[1].End().After(begin.Add(time.Minute)) {
			t.Errorf("segments %v, %v", all, err)
		}
	})
}
