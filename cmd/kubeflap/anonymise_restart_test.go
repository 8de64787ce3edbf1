package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// recorderOf starts a flight recorder of a fake cluster, and returns a function that stops it.
func recorderOf(t *testing.T, c *fakeCluster, dir string) (stop func()) {
	t.Helper()
	r, err := flightrecorder.New(flightrecorder.Settings{
		Dir: dir, Size: 1 << 30, Age: 1e6 * time.Hour,
		List: func(context.Context, event.Kind, func(event.Object)) (string, error) { return "", nil },
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	c.sink = func(e event.Event) {
		r.Record(e)
		if n++; n%2000 == 0 {
			synctest.Wait() // the queue is written
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return func() {
		synctest.Wait()
		cancel()
		c.sink = func(event.Event) {}
		if err := <-ended; err != nil || r.Status().Lost > 0 {
			t.Errorf("%v, %+v", err, r.Status())
		}
	}
}

// TestAnonymisingADirectoryOverARestart checks that pseudonyms change no verdict, although kubeflap restarts during an
// incident, and a node is deleted meanwhile.
func TestAnonymisingADirectoryOverARestart(t *testing.T) {
	names := regexp.MustCompile(`(?m)^[0-9a-f]{16}|node-\d|namespace-\d+/service-\d+|shop/(web|single)`)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := told(t, "start 9; 0 service single 5; 300 silent 5 until 700; 500 delete 1; 1200 silent 3 until 1262")
		stop := recorderOf(t, c, dir)
		c.start()
		c.runUntil(400)
		stop()
		c.runUntil(600)
		stop = recorderOf(t, c, dir)
		c.watch()
		c.runUntil(2000)
		stop()
	})
	anonymised := filepath.Join(t.TempDir(), "anonymised.jsonl.gz")
	must(t, "anonymise", dir, anonymised)
	tables := map[string]string{}
	for _, path := range []string{dir, anonymised} {
		table := names.ReplaceAllString(must(t, "incidents", path, "-o=wide"), "NAME")
		tables[path] = strings.Join(strings.Fields(table), " ") // the widths of the columns depend on the names
	}
	if tables[dir] != tables[anonymised] || strings.Count(tables[dir], " node_heartbeat_lost ") != 2 {
		t.Errorf("with real names\n%s\nwith pseudonyms\n%s", tables[dir], tables[anonymised])
	}
}
