package main

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/journal"
)

// failing returns a cluster in which a number of Services lose their only address at once, and get it back later.
func failing(services int) *fakeCluster {
	c := newFakeCluster(9)
	for i := range services {
		v := c.service(fmt.Sprintf("solo-%d", i), true)
		v.start(c, c.nodes[i%9]).serve()
		v.fill()
		c.notReady(v.pods[0], 300, 340)
	}
	return c
}

// hanging makes the disk and the terminal of a pipeline hang: incidents are saved to a pipe that nobody reads, and the
// log is written to a pipe that nobody reads.
func hanging(tb testing.TB, p *pipeline) {
	tb.Helper()
	dir := tb.TempDir()
	fifo := filepath.Join(dir, "incidents.jsonl")
	p.journal = journal.Open(dir, 500, p.started, slog.New(slog.DiscardHandler))
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		tb.Skip(err)
	}
	go func() { _ = p.journal.Run(tb.Context()) }()
	unread, terminal := io.Pipe()
	queue := newLogQueue(terminal, func(int) {})
	p.reporter = logReporter{slog.New(slog.NewTextHandler(queue, nil))}
	tb.Cleanup(func() {
		go func() { _, _ = io.Copy(io.Discard, unread) }()
		queue.close()
		if end, err := syscall.Open(fifo, syscall.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			_ = syscall.Close(end) // ends the write
		}
	})
}

// TestNothingWaitsForTheDiskOrTheTerminal lets 200 Services fail at once while neither can be written. If a lock were
// held across a write, this test would not end.
func TestNothingWaitsForTheDiskOrTheTerminal(t *testing.T) {
	c := failing(200)
	p := newPipeline(defaultSettings(), func() time.Time { return c.now }, newSilentReporter(""))
	hanging(t, p)
	c.sink = p.apply
	c.start()
	registry := prometheus.NewRegistry()
	registry.MustRegister(p.collector)
	for c.second() < 700 {
		c.runUntil(c.second() + 0.5)
		p.tick()
		if int(c.second())%20 == 0 {
			if _, err := registry.Gather(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if all, _ := p.cluster("").Incidents(); len(all) != 200 || all[0].State != "ended" {
		t.Errorf("%d incidents, the first is %s; want 200 that have ended", len(all), all[0].State)
	}
}

// BenchmarkScrapeWhileTheDiskHangs measures a scrape while Services fail, with a disk and a terminal that work and with
// ones that hang.
func BenchmarkScrapeWhileTheDiskHangs(b *testing.B) {
	for _, hangs := range []bool{false, true} {
		b.Run(fmt.Sprintf("hangs=%t", hangs), func(b *testing.B) {
			c := failing(200)
			p := newPipeline(defaultSettings(), func() time.Time { return c.now }, newSilentReporter(""))
			if hangs {
				hanging(b, p)
			}
			c.sink = p.apply
			c.start()
			registry := prometheus.NewRegistry()
			registry.MustRegister(p.collector)
			c.runUntil(299)
			var took []time.Duration
			for b.Loop() {
				c.runUntil(c.second() + 0.5)
				p.tick()
				began := time.Now()
				if _, err := registry.Gather(); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
		})
	}
}
