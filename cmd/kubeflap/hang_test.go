package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// failing returns a cluster in which a number of Services lose their only address at once, and get it back later.
func failing(services int) *clustertest.Cluster {
	lines := []string{"start 9"}
	for i := range services {
		lines = append(lines, fmt.Sprintf("0 service solo-%d %d", i, 1+i%9), fmt.Sprintf("300 unready solo-%d/1 until 340", i))
	}
	return clustertest.Told(strings.Join(lines, "; "))
}

// hanging makes the disk and the terminal of a pipeline hang: incidents are saved to a pipe that nobody reads, and the
// log is written to a pipe that nobody reads.
func hanging(t *testing.T, p *pipeline) {
	t.Helper()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "incidents.jsonl")
	p.journal = flightrecorder.OpenJournal(dir, 500, p.started, slog.New(slog.DiscardHandler))
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	over := make(chan error)
	go func() { over <- p.journal.Run(t.Context()) }()
	unread, terminal := io.Pipe()
	queue := newLogQueue(terminal, func(int) {})
	p.reporter = logReporter{slog.New(slog.NewTextHandler(queue, nil))}
	t.Cleanup(func() {
		go func() { _, _ = io.Copy(io.Discard, unread) }()
		queue.close()
		reader, err := os.OpenFile(fifo, os.O_RDWR, 0) // ends the write
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, reader) }()
		if err := errors.Join(<-over, reader.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestNothingWaitsForTheDiskOrTheTerminal lets 200 Services fail at once while neither can be written. If a lock were
// held across a write, this test would not end.
func TestNothingWaitsForTheDiskOrTheTerminal(t *testing.T) {
	c := failing(200)
	p := newPipeline(defaultSettings(), func() time.Time { return c.Now }, silent)
	hanging(t, p)
	c.Watchers[0].Sink = p.apply
	c.Start()
	for c.Second() < 700 {
		c.RunUntil(c.Second() + 0.5)
		p.tick()
		if int(c.Second())%20 == 0 {
			gather(t, p)
		}
	}
	if all := p.cluster().Read().Incidents; len(all) != 200 || all[0].State != "resolved" {
		t.Errorf("%d incidents, the first is %s; want 200 that have ended", len(all), all[0].State)
	}
}

// TestADroppedIncidentIsCountedOnce lets five incidents end. Three are kept, in memory and in the file.
func TestADroppedIncidentIsCountedOnce(t *testing.T) {
	for _, stored := range []bool{false, true} {
		c, s := failing(5), defaultSettings()
		s.incidents = 3
		p := newPipeline(s, func() time.Time { return c.Now }, silent)
		if stored {
			p.journal = flightrecorder.OpenJournal(t.TempDir(), s.incidents, p.started, slog.New(slog.DiscardHandler))
		}
		c.Watchers[0].Sink = p.apply
		c.Start()
		for c.Second() < 700 {
			c.RunUntil(c.Second() + 1)
			p.tick()
		}
		if is := p.cluster().Read(); len(is.Incidents) != 3 || is.Displaced.Dropped != 2 {
			t.Errorf("stored %v: %d incidents, %d dropped; want 3 and 2", stored, len(is.Incidents), is.Displaced.Dropped)
		}
	}
}
