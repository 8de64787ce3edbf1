package flightrecorder_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// twoProcesses is a story with three segments of one process, and one of another.
const twoProcesses = "(abc)AB~CA~BC;(abc)D"

// damage changes the content of a file.
type damage func(text []byte) []byte

func zeros(n int) damage {
	return func(text []byte) []byte { return append(text[:max(0, len(text)-n)], make([]byte, n)...) }
}

func flipped(text []byte) []byte {
	text[len(text)/2] ^= 0x55
	return text
}

func cut(n int) damage { return func(text []byte) []byte { return text[:len(text)-n] } }

func (d damage) apply(t *testing.T, path string) {
	t.Helper()
	if d == nil {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err = errors.Join(err, os.WriteFile(path, d(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestADamagedSegmentIsAGap checks that the rest of a directory stays readable, and that what is lost is shown like a
// period without a recorder: from within the damaged segment to the next one. A recorder that needs space may delete a
// segment during the reading.
func TestADamagedSegmentIsAGap(t *testing.T) {
	empty := func([]byte) []byte { return nil }
	half := func(text []byte) []byte { return text[:len(text)/2] }
	for name, test := range map[string]struct {
		segment int
		damage  damage // nil if the segment is deleted
		after   int    // the number of events that are read before, or -1 if it happens after Read has returned
		want    string
	}{
		"nothing":                                 {1, cut(0), 0, "(abc)ABCABC-(abc)D"},
		"zeros at the end of the first one":       {1, zeros(50), 0, "(abc)-(cab)CABC-(abc)D"},
		"the first one has only zeros":            {1, zeros(1 << 10), 0, "(cab)CABC-(abc)D"},
		"the first one is empty":                  {1, empty, 0, "(cab)CABC-(abc)D"},
		"the first one is text":                   {1, func([]byte) []byte { return []byte("no recording\n") }, 0, "(cab)CABC-(abc)D"},
		"flipped bits in a later one":             {2, flipped, 0, "(abc)AB-(bca)BC-(abc)D"},
		"a later one is cut short":                {2, half, 0, "(abc)AB-(bca)BC-(abc)D"},
		"a later one is empty":                    {2, empty, 0, "(abc)AB-(bca)BC-(abc)D"},
		"zeros in the last one before the stop":   {3, zeros(20), 0, "(abc)ABCAB-(abc)D"},
		"the last one before a kill":              {3, cut(9), 0, "(abc)ABCABC-(abc)D"},
		"a kill while the lists are written":      {3, func(text []byte) []byte { return text[:100] }, 0, "(abc)ABCA-(abc)D"},
		"the last one is cut short":               {4, cut(9), 0, "(abc)ABCABC-(abc)D"},
		"a later one was deleted":                 {2, nil, 0, "(abc)AB-(bca)BC-(abc)D"},
		"a later one is deleted":                  {2, nil, 1, "(abc)AB-(bca)BC-(abc)D"},
		"the first one is deleted":                {1, nil, -1, "(cab)CABC-(abc)D"},
		"one that was read is deleted":            {1, nil, 8, "(abc)ABCABC-(abc)D"},
		"the one that is read is deleted":         {1, nil, 2, "(abc)ABCABC-(abc)D"},
		"the last one before the stop is deleted": {3, nil, 1, "(abc)ABCA-(abc)D"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := narrate(t, twoProcesses)
				all := files(t, n.s.Dir)
				if test.after == 0 {
					test.damage.apply(t, all[test.segment-1])
				}
				events, err := flightrecorder.Read(n.s.Dir, n.from, now())
				if err != nil {
					t.Fatal(err)
				}
				if test.after < 0 {
					test.damage.apply(t, all[test.segment-1])
				}
				var got []event.Event
				for ev, err := range events {
					if err != nil {
						t.Fatal(err)
					}
					if got = append(got, ev); len(got) == test.after {
						test.damage.apply(t, all[test.segment-1])
					}
				}
				if text := letters(got); text != test.want {
					t.Errorf("read %s, want %s", text, test.want)
				}
			})
		})
	}
}

// TestAReadingThatBeginsInAHole checks that the reading begins with the next segment.
func TestAReadingThatBeginsInAHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := narrate(t, twoProcesses)
		all, err := flightrecorder.Segments(n.s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		damaged := files(t, n.s.Dir)[1]
		damage(flipped).apply(t, damaged)
		next := all[2].Begins
		got := read(t, n.s.Dir, next.Add(-time.Minute), now())
		if text := letters(got); !got[0].Seen.Equal(next) || text != "(bca)BC-(abc)D" {
			t.Errorf("the reading begins at %v, want %v: %s", got[0].Seen, next, text)
		}
		// Nothing is readable before.
		_, err = flightrecorder.Read(n.s.Dir, next.Add(-time.Minute), next.Add(-time.Second))
		if err == nil || !strings.Contains(err.Error(), filepath.Base(damaged)) {
			t.Errorf("error %v, want that %s is damaged", err, damaged)
		}
	})
}

func TestADirectoryThatCannotBeReadAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := narrate(t, "(abc)")
		zeros(1<<10).apply(t, files(t, n.s.Dir)[0])
		const want = "not a kubeflap recording"
		if _, err := flightrecorder.Read(n.s.Dir, n.from, now()); err == nil || errors.Is(err, flightrecorder.ErrNothing) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		all, err := flightrecorder.Segments(n.s.Dir)
		if err != nil || len(all) != 1 || !all[0].End().IsZero() {
			t.Fatalf("segments %v, %v, want one without an end", all, err)
		}
		if _, err := all[0].Head(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		n.run("(abc)")
		all, err = flightrecorder.Segments(n.s.Dir)
		if err != nil || len(all) != 2 || !all[0].Begins.Equal(n.from) || !all[1].End().After(n.from.Add(time.Minute)) {
			t.Errorf("segments %v, %v", all, err)
		}
	})
}
