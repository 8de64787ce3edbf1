package flightrecorder_test

import (
	"bytes"
	"cmp"
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

// recorded is a directory with two processes: the first one recorded three generations, the second one a single file.
type recorded struct {
	dir   string
	begin time.Time
	// sent contains the events of both processes.
	sent []event.Event
	// files are the paths of the files by their roles and numbers, such as "2-next".
	files map[string]string
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
	return &recorded{dir: dir, begin: first.begin, sent: first.sent, files: roles(files(t, dir))}
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
	all.files = roles(files(t, s.Dir))
	return all
}

// roles returns the paths by their roles and numbers.
func roles(paths []string) map[string]string {
	all := map[string]string{}
	for _, path := range paths {
		parts := strings.Split(strings.TrimSuffix(path, ".jsonl.gz"), "-")
		all[strings.TrimLeft(parts[len(parts)-2], "0")+"-"+parts[len(parts)-1]] = path
	}
	return all
}

// begins returns the time in the name of a file, as a duration since the start.
func (r *recorded) begins(t *testing.T, file string) time.Duration {
	t.Helper()
	stamp, _, _ := strings.Cut(r.files[file][len(r.dir)+1:], "-")
	at, err := time.Parse("20060102T150405.000000Z", stamp)
	if err != nil {
		t.Fatalf("file %q of %q: %v", file, r.files, err)
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

// TestADamagedFileIsAGap checks that the rest of a directory stays readable, and that what is lost is shown like a
// period without a recorder: from within the damaged file to the next base.
func TestADamagedFileIsAGap(t *testing.T) {
	withoutRaceDetector(t)
	for name, test := range map[string]struct {
		file   string
		damage damage
		// want is the file that contains the begin of the hole, and the base at its end. It is empty without a hole.
		want [2]string
	}{
		"zeros at the end of a first file":       {"1-start", zeros(600), [2]string{"1-start", "3-state"}},
		"a first file of zeros":                  {"1-start", zeros(1 << 20), [2]string{"1-start", "3-state"}},
		"an empty first file":                    {"1-start", func([]byte) []byte { return nil }, [2]string{"1-start", "3-state"}},
		"a first file that is text":              {"1-start", func([]byte) []byte { return []byte("no recording\n") }, [2]string{"1-start", "3-state"}},
		"flipped bits in a later file":           {"2-next", flipped, [2]string{"2-next", "3-state"}},
		"a later file that is cut short":         {"4-next", func(text []byte) []byte { return text[:len(text)/2] }, [2]string{"4-next", "5-state"}},
		"an empty later file":                    {"4-next", func([]byte) []byte { return nil }, [2]string{"3-next", "5-state"}},
		"flipped bits in a state":                {"3-state", flipped, [2]string{}},
		"a state of zeros":                       {"5-state", zeros(1 << 20), [2]string{}},
		"zeros in the last file before the stop": {"6-next", zeros(100), [2]string{"6-next", "7-start"}},
		"a last file that is cut short":          {"7-start", func(text []byte) []byte { return text[:len(text)-9] }, [2]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := recordTwoProcesses(t)
				restart := hole{r.begins(t, "6-next"), r.begins(t, "7-start")}
				text, err := os.ReadFile(r.files[test.file])
				if err == nil {
					err = os.WriteFile(r.files[test.file], test.damage(bytes.Clone(text)), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				got := r.holes(t, read(t, r.dir, r.begin, now()))
				want := []hole{}
				if test.want[0] != "" {
					want = append(want, hole{r.begins(t, test.want[0]), r.begins(t, test.want[1])})
				}
				if test.want[1] != "7-start" {
					want = append(want, restart)
				}
				slices.SortFunc(want, func(a, b hole) int { return cmp.Compare(a.from, b.from) })
				for i, h := range got {
					if i < len(want) && h.from >= want[i].from && h.from < want[i].from+61*time.Minute {
						got[i].from = want[i].from // it is within the file
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("holes %v, want them to begin within an hour after those in %v", got, want)
				}
			})
		})
	}
}

// TestAReadingThatBeginsInAHole checks that the watches are down then.
func TestAReadingThatBeginsInAHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := recordTwoProcesses(t)
		text, err := os.ReadFile(r.files["4-next"])
		if err = errors.Join(err, os.WriteFile(r.files["4-next"], text[:len(text)/2], 0o600)); err != nil {
			t.Fatal(err)
		}
		at := r.begin.Add(r.begins(t, "5-state") - time.Minute)
		got := read(t, r.dir, at, now())
		down, listing := 0, 0
		for _, ev := range got {
			switch {
			case ev.Type == event.Down && ev.Seen.Equal(at):
				down++
			case ev.Type == event.Listing && ev.Seen.Equal(r.begin.Add(r.begins(t, "5-state"))):
				listing++
			}
		}
		if down != len(kinds) || listing != len(kinds) {
			t.Errorf("%d watches are down at the start and %d list again, want %d", down, listing, len(kinds))
		}
		// Nothing is readable from there to the next base.
		if _, _, err := flightrecorder.Read(t.Context(), r.dir, at, at.Add(30*time.Second)); !errors.Is(err, flightrecorder.ErrNothing) {
			t.Errorf("error %v, want %v", err, flightrecorder.ErrNothing)
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
		if _, _, err := flightrecorder.Read(t.Context(), s.Dir, begin, now()); err == nil || errors.Is(err, flightrecorder.ErrNothing) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, _, err := flightrecorder.Span(s.Dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		process(t, s)
		if from, to, err := flightrecorder.Span(s.Dir); err != nil || !from.Equal(begin) || !to.After(begin.Add(time.Minute)) {
			t.Errorf("the recordings are from %v to %v, %v", from, to, err)
		}
	})
}
