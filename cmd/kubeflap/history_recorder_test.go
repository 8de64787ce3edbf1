package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/journal"
)

// recordedRun is a kubeflap with a real flight recorder. It runs in a bubble of package synctest, at the pace of the clock.
type recordedRun struct {
	*restarted
	recordings string
	size       int64
}

func newRecordedRun(t *testing.T, c *fakeCluster, size int64) *recordedRun {
	r := &recordedRun{&restarted{t: t, cluster: c, dir: memoryDir(t), size: 500, log: slog.New(slog.DiscardHandler)}, memoryDir(t), size}
	r.begin()
	c.start()
	return r
}

func (r *recordedRun) begin() {
	r.t.Helper()
	settings := trackerSettings()
	settings.incidents = r.restarted.size
	p := newPipeline(settings, func() time.Time { return r.cluster.now }, r)
	recorder, err := flightrecorder.New(flightrecorder.Settings{Dir: r.recordings, Size: r.size, Age: 1000 * time.Hour, Head: p.head}, r.log)
	if err != nil {
		r.t.Fatal(err)
	}
	found, err := findEarlier(r.t.Context(), r.recordings, p.scope)
	if err != nil {
		r.t.Error(err)
	}
	p.journal = journal.Open(r.dir, r.restarted.size, r.cluster.now, r.log)
	if found != nil {
		p.resume(found, r.cluster.now, r.log)
	}
	p.record, r.pipeline = recorder.Record, p
	r.cluster.sink = p.apply
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 2)
	go func() { ended <- p.journal.Run(ctx) }()
	go func() { ended <- recorder.Run(ctx) }()
	r.kill = func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				r.t.Error(err)
			}
		}
	}
}

func (r *recordedRun) runUntil(second float64) {
	for r.cluster.second() < second {
		r.restarted.runUntil(min(second, r.cluster.second()+0.5))
		time.Sleep(time.Second / 2)
	}
}

func (r *recordedRun) restart(second float64) {
	r.kill()
	r.cluster.sink = func(event.Event) {}
	r.cluster.runUntil(second)
	r.begin()
	r.cluster.watch()
}
