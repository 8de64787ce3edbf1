package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLostIncidentsAreNotTakenForNoIncidents damages the file with the incidents between two processes. The next
// process must say so once, and later ones must still know it.
func TestLostIncidentsAreNotTakenForNoIncidents(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(path string) error
		want   string
		// logged is set if the first process after the damage must report it. lasts is set if later ones must know it.
		logged, lasts bool
	}{
		"intact":  {func(string) error { return nil }, "", false, false},
		"deleted": {os.Remove, "the file does not exist", true, true},
		"empty":   {func(path string) error { return os.Truncate(path, 0) }, "the file is empty", true, true},
		"garbage": {func(path string) error { return os.WriteFile(path, []byte("?\n?\n"), 0o600) }, "2 of 2 lines cannot be read", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRestarted(t, newFakeCluster(9).silence(300, 450, 5))
			r.runUntil(700)
			r.stops = true
			r.kill()
			path := filepath.Join(r.dir, incidentsFile)
			if err := test.damage(path); err != nil {
				t.Fatal(err)
			}
			stopped := r.cluster.now
			r.cluster.runUntil(800)
			var log bytes.Buffer
			r.log = slog.New(slog.NewTextHandler(&log, nil))
			r.begin()
			r.cluster.watch()
			r.runUntil(900)
			text := log.String()
			if strings.Count(text, "incidents from previous runs may be missing") != map[bool]int{true: 1}[test.logged] || !strings.Contains(text, test.want) || test.logged && !strings.Contains(text, path) {
				t.Errorf("logged %s, want %q", text, test.want)
			}
			r.checkLost(stopped, test.lasts)
			r.stops = true
			log.Reset()
			r.restart(1000)
			r.runUntil(1100)
			if strings.Contains(log.String(), "may be missing") {
				t.Errorf("the second process logged %s", log.String())
			}
			r.checkLost(stopped, test.lasts)
		})
	}
}

// checkLost checks until which time incidents are missing.
func (r *restarted) checkLost(stopped time.Time, want bool) {
	r.t.Helper()
	if lost := r.pipeline.cluster("").LostUntil(); lost.IsZero() == want || want && lost.Sub(stopped).Abs() > time.Second {
		r.t.Errorf("incidents until %v are lost, want %t: until %v", lost, want, stopped)
	}
}

// TestIncidentsThatCannotBeReadAreMissing makes the file unreadable. The incidents are missing in this process, but not
// in the next one that can read the file.
func TestIncidentsThatCannotBeReadAreMissing(t *testing.T) {
	r := newRestarted(t, newFakeCluster(9).silence(300, 450, 5))
	r.runUntil(700)
	r.stops = true
	r.kill()
	path := filepath.Join(r.dir, incidentsFile)
	if err := os.Rename(path, path+".kept"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	stopped := r.cluster.now
	r.cluster.runUntil(800)
	r.begin()
	r.cluster.watch()
	r.runUntil(900)
	r.checkLost(stopped, true)
	r.stops = true
	r.kill()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".kept", path); err != nil {
		t.Fatal(err)
	}
	r.cluster.runUntil(1000)
	r.begin()
	r.cluster.watch()
	r.runUntil(1100)
	r.checkLost(stopped, false)
	if len(r.incidents()) != 1 {
		t.Errorf("%d incidents, want one", len(r.incidents()))
	}
}
