package flightrecorder_test

import (
	"bytes"
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

// twoProcesses is what the first call of recordTwoProcesses recorded. Each synctest bubble begins at the same time, so
// the later calls would record the same.
var twoProcesses struct {
	begin, end time.Time
	sent       []event.Event
	contents   map[string][]byte
}

// recordTwoProcesses returns a directory that the test can change. Time advances as if it had been recorded.
func recordTwoProcesses(t *testing.T) *recorded {
	t.Helper()
	first := &twoProcesses
	if first.contents == nil {
		first.begin, first.contents = now(), map[string][]byte{}
		r := recordAgain(t)
		first.sent, first.end = r.sent, now()
		for _, path := range r.files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			first.contents[filepath.Base(path)] = text
		}
		return r
	}
	if !now().Equal(first.begin) {
		t.Fatalf("this bubble begins at %s, and the first one at %s", now(), first.begin)
	}
	dir := settings(t).Dir
	err := os.Mkdir(dir, 0o700)
	for name, text := range first.contents {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(first.end.Sub(first.begin))
	return &recorded{dir: dir, begin: first.begin, sent: first.sent, files: files(t, dir)}
}

func recordAgain(t *testing.T) *recorded {
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
	if err == nil {
		err = os.WriteFile(path, how(bytes.Clone(text)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestADamagedSegmentIsAGap checks that the rest of a directory stays readable, and that what is lost is shown like a
// period without a recorder: from within the damaged segment to the next one.
func TestADamagedSegmentIsAGap(t *testing.T) {
	withoutRaceDetector(t)
	for name, test := range map[string]struct {
		segment int
		damage  damage
		hole    bool
	}{
		"zeros at the end of the first one":     {1, zeros(600), true},
		"the first one has only zeros":          {1, zeros(1 << 20), true},
		"the first one is empty":                {1, empty, true},
		"the first one is text":                 {1, func([]byte) []byte { return []byte("no recording\n") }, true},
		"flipped bits in a later one":           {2, flipped, true},
		"a later one is cut short":              {2, half, true},
		"a later one is empty":                  {2, empty, true},
		"zeros in the last one before the stop": {3, zeros(100), true},
		"the last one before a kill":            {3, cut(9), false},
		"a kill while the lists are written":    {3, func(text []byte) []byte { return text[:len(text)/20] }, true},
		"the last one is cut short":             {4, cut(9), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := recordTwoProcesses(t)
				r.damage(t, test.segment, test.damage)
				hole := test.segment
				if !test.hole {
					hole = 0
				}
				r.expectHoles(t, read(t, r.dir, r.begin, now()), hole)
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

// TestASegmentThatIsDeletedDuringAReadingIsAGap deletes segments like a recorder that needs space.
func TestASegmentThatIsDeletedDuringAReadingIsAGap(t *testing.T) {
	withoutRaceDetector(t)
	for name, test := range map[string]struct {
		deleted []int
		after   int
		hole    int
	}{
		"a later one":                  {[]int{2}, 100, 2},
		"the first one":                {[]int{1}, 0, 1},
		"one that was read":            {[]int{1}, 1000, 0},
		"the one that is read":         {[]int{1}, 100, 0},
		"the last one before the stop": {[]int{3}, 100, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := recordTwoProcesses(t)
				events, err := flightrecorder.Read(t.Context(), r.dir, r.begin, now())
				if err != nil {
					t.Fatal(err)
				}
				remove := func() {
					for _, segment := range test.deleted {
						if err := os.Remove(r.files[segment-1]); err != nil {
							t.Fatal(err)
						}
					}
				}
				if test.after == 0 {
					remove()
				}
				var got []event.Event
				for ev, err := range events {
					if err != nil {
						t.Fatal(err)
					}
					if got = append(got, ev); len(got) == test.after {
						remove()
					}
				}
				r.expectHoles(t, got, test.hole)
			})
		})
	}
}
