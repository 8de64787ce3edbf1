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

// process records the lists of a cluster, and stops. Its cluster has the same objects as that of every other process.
func process(t *testing.T, s flightrecorder.Settings) (log string) {
	t.Helper()
	r, stop, text := run(t, s)
	c := newCluster(11, r)
	for _, kind := range kinds {
		for n := range 3 {
			c.objects[uidOf(kind, n)] = c.write(kind, uidOf(kind, n))
		}
	}
	c.list()
	time.Sleep(5 * time.Second)
	stop()
	time.Sleep(time.Minute)
	return text.String()
}

// listedNames returns the names in each list of nodes.
func listedNames(all []event.Event) (lists [][]string) {
	for _, ev := range all {
		switch {
		case ev.Kind == event.KindNode && ev.Type == event.Listing:
			lists = append(lists, nil)
		case ev.Kind == event.KindNode && ev.Type == event.Listed:
			lists[len(lists)-1] = append(lists[len(lists)-1], ev.Object.Metadata().Name)
		}
	}
	return lists
}

// TestPseudonymsSurviveARestart checks that a node has the same pseudonym before and after.
func TestPseudonymsSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begin := settings(t), now()
		s.Anonymise = true
		process(t, s)
		process(t, s)
		lists := listedNames(read(t, s.Dir, begin, now()))
		if len(lists) != 2 || len(lists[0]) != 3 || !slices.Equal(lists[0], lists[1]) || !strings.HasPrefix(lists[0][0], "node-") {
			t.Errorf("the nodes before and after the restart are %q", lists)
		}
		if info, err := os.Stat(filepath.Join(s.Dir, "pseudonyms.key")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key: %v, %v", info, err)
		}
	})
}

// TestOtherNamesAreNotJoined checks that a reading ends with an error if the same object has another name before and
// after a restart, and that both parts can be read.
func TestOtherNamesAreNotJoined(t *testing.T) {
	damaged := func(change func([]byte) []byte) func(*testing.T, *flightrecorder.Settings) {
		return func(t *testing.T, s *flightrecorder.Settings) {
			t.Helper()
			path := filepath.Join(s.Dir, "pseudonyms.key")
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, change(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*testing.T, *flightrecorder.Settings)
		log    string
	}{
		"the key is deleted":   {func(_ *testing.T, s *flightrecorder.Settings) { _ = os.Remove(filepath.Join(s.Dir, "pseudonyms.key")) }, ""},
		"the key is cut short": {damaged(func(text []byte) []byte { return text[:len(text)/2] }), "was damaged and has been replaced"},
		"the key is empty":     {damaged(func([]byte) []byte { return nil }), "was damaged and has been replaced"},
		"the key is zeros":     {damaged(func(text []byte) []byte { return make([]byte, len(text)) }), "was damaged and has been replaced"},
		"a digit of the key is changed": {damaged(func(text []byte) []byte {
			if text[0]++; text[0] > '9' {
				text[0] = '0' // a bit flip could make it another character, which is damage
			}
			return text
		}), ""},
		"--data.anonymise is off": {func(_ *testing.T, s *flightrecorder.Settings) { s.Anonymise = false }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, begin := settings(t), now()
				s.Anonymise = true
				process(t, s)
				test.change(t, &s)
				second := now()
				if log := process(t, s); !strings.Contains(log, test.log) || test.log == "" && log != "" {
					t.Errorf("log %q, want %q", log, test.log)
				}
				_, _, err := flightrecorder.Read(t.Context(), s.Dir, begin, now())
				var renamed *flightrecorder.RenamedError
				if !errors.As(err, &renamed) || !renamed.At.Equal(second) {
					t.Fatalf("error %v, want that the names change at %v", err, second)
				}
				before, after := listedNames(read(t, s.Dir, begin, renamed.At.Add(-1))), listedNames(read(t, s.Dir, renamed.At, now()))
				if len(before) != 1 || len(after) != 1 || len(before[0]) != 3 || reflect.DeepEqual(before, after) {
					t.Errorf("names before %q, after %q", before, after)
				}
			})
		})
	}
}

// files returns the paths of the recordings in a directory in the order of their names.
func files(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil || len(all) == 0 {
		t.Fatalf("recordings %q, %v", all, err)
	}
	return all
}
