package flightrecorder_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestADirectoryWhoseNameIsAPattern checks that the name is used literally.
func TestADirectoryWhoseNameIsAPattern(t *testing.T) {
	for _, name := range []string{"[x", "[ab]", "a?", "*", `\a`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent := t.TempDir()
				s := settings(t)
				s.Dir = filepath.Join(parent, name)
				const other = "20000101T000000.000000Z-000001.jsonl.gz"
				kept := []string{filepath.Join(parent, "a", other), filepath.Join(parent, "ab", other), filepath.Join(s.Dir, "incidents.jsonl")}
				for _, path := range kept {
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				process(t, s)
				for _, path := range kept {
					if _, err := os.Stat(path); err != nil {
						t.Errorf("%v", err)
					}
				}
				names, err := os.ReadDir(s.Dir)
				if err != nil || len(names) != 3 {
					t.Errorf("files %v, %v, want a segment, the lock and a file of another part of kubeflap", names, err)
				}
			})
		})
	}
}

// TestStoppingAFailingRecorder checks that the end of a recorder is no failure.
func TestStoppingAFailingRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.Dir = filepath.Join(file, "data")
		r, stop, log := run(t, s)
		time.Sleep(time.Minute)
		if status := r.Status(); status.Recording || status.Err == nil || status.Gaps != 1 {
			t.Errorf("%+v, want a failure", status)
		}
		stop() // it checks that there is no error
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines logged, want one:\n%s", n, log)
		}
	})
}

// TestASegmentThatCannotBeContinued damages or deletes the current segment. The next one must then begin with new lists,
// because the state cannot be computed.
func TestASegmentThatCannotBeContinued(t *testing.T) {
	withoutRaceDetector(t)
	for name, lose := range map[string]func(path string) error{
		"it is deleted": os.Remove,
		"a bit flips": func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, flipped(text), 0o600))
		},
		"it is cut short": func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, half(text), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := settings(t)
				var c *cluster
				s.List = func(ctx context.Context, kind event.Kind, each func(event.Object)) (string, error) {
					return c.api(ctx, kind, each)
				}
				r, stop, log := run(t, s)
				c = newCluster(7, r)
				c.list()
				changes := func(n int) {
					for range n {
						time.Sleep(10 * time.Second)
						c.change()
						time.Sleep(time.Millisecond)
					}
				}
				changes(500)
				if err := lose(files(t, s.Dir)[0]); err != nil {
					t.Fatal(err)
				}
				changes(300)
				at, objects, sent := now(), maps.Clone(c.objects), len(c.sent)
				changes(1500)
				stop()
				if rest := checkState(t, read(t, s.Dir, at, now()), objects); !reflect.DeepEqual(rest, c.sent[sent:]) {
					t.Errorf("%d events after the state, want %d", len(rest), len(c.sent)-sent)
				}
				if status := r.Status(); !status.Recording || status.Gaps != 1 || strings.Count(log.String(), "\n") != 2 {
					t.Errorf("%+v, %s", status, log)
				}
			})
		})
	}
}
