package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// BenchmarkStart measures how long a start takes that replays what a cluster of 1,000 nodes and 30,000 pods did in a bit
// more than two hours: each node renews its Lease every 10 s and reports its status every 5 minutes, and every 2 s a pod
// becomes not ready and ready again.
func BenchmarkStart(b *testing.B) {
	const nodes, pods = 1000, 30_000
	dir, begins := b.TempDir(), time.Now().Add(-4*time.Hour).Truncate(time.Second)
	recorder, err := flightrecorder.New(flightrecorder.Settings{
		Dir: dir, Size: 1 << 30, Age: 24 * time.Hour,
		List: func(context.Context, event.Kind, func(event.Object)) (string, error) {
			return "", errors.New("events were lost, and there is no API server")
		},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- recorder.Run(ctx) }()
	recorded := 0
	write := func(at time.Time, what event.Type, kind event.Kind, o event.Object) {
		recorder.Record(event.Event{Seen: at, Kind: kind, Type: what, Object: o})
		for recorded++; recorded%500 == 0 && recorder.Status().Queued > 10_000; {
			time.Sleep(time.Millisecond) // the writer must keep up
		}
	}
	f := newFlapping(pods / podsPerService)
	version := 0
	lease := func(i int, at time.Time) *event.Lease {
		version++
		m := metaOf("Lease", "kube-node-lease", nodeNamed(i))
		m.ResourceVersion = fmt.Sprint(version)
		return &event.Lease{Meta: m, RenewTime: at, DurationSeconds: 40}
	}
	node := func(i int, at time.Time) *event.Node {
		version++
		m := metaOf("Node", "", nodeNamed(i))
		m.ResourceVersion = fmt.Sprint(version)
		return &event.Node{Meta: m, Ready: &event.Condition{Status: event.StatusTrue, LastTransitionTime: begins, LastHeartbeatTime: at}}
	}
	list := func(kind event.Kind, n int, object func(i int) event.Object) {
		write(begins, event.Listing, kind, nil)
		for i := range n {
			write(begins, event.Listed, kind, object(i))
		}
		write(begins, event.Synced, kind, nil)
	}
	list(event.KindNode, nodes, func(i int) event.Object { return node(i, begins) })
	list(event.KindLease, nodes, func(i int) event.Object { return lease(i, begins) })
	list(event.KindPod, pods, func(i int) event.Object { return f.pod(i) })
	list(event.KindService, f.services, func(i int) event.Object {
		return &event.Service{Meta: f.meta("service", i), Type: "ClusterIP", Selector: map[string]string{"app": "web"}}
	})
	list(event.KindEndpointSlice, f.services, func(i int) event.Object { return f.slice(i) })
	list(event.KindEndpoints, 0, nil)
	const tick = 10 * time.Millisecond
	for i := range int(150 * time.Minute / tick) {
		at := begins.Add(time.Duration(i) * tick)
		write(at, event.Modified, event.KindLease, lease(i%nodes, at))
		if i%30 == 0 {
			write(at, event.Modified, event.KindNode, node(i/30%nodes, at))
		}
		if i%100 == 0 {
			pod := i / 200 % pods
			f.now, f.ready[pod] = at, i%200 > 0
			write(at, event.Modified, event.KindPod, f.pod(pod))
			write(at, event.Modified, event.KindEndpointSlice, f.slice(pod/podsPerService))
		}
	}
	stop()
	if err := <-ended; err != nil || recorder.Status().Lost > 0 {
		b.Fatalf("%v, %d events lost", err, recorder.Status().Lost)
	}
	segments, err := flightrecorder.Segments(dir)
	if err != nil {
		b.Fatal(err)
	}
	var size int64
	for _, s := range segments {
		size += s.Size
	}
	now := begins.Add(150 * time.Minute)
	for b.Loop() {
		began := time.Now()
		found, err := findEarlier(b.Context(), dir, scope{})
		if err != nil {
			b.Fatal(err)
		}
		searched := time.Since(began)
		p := newPipeline(trackerSettings(), func() time.Time { return now }, logReporter{slog.New(slog.DiscardHandler)})
		p.journal = flightrecorder.OpenJournal(b.TempDir(), 500, now, slog.New(slog.DiscardHandler))
		p.resume(found, now, slog.New(slog.DiscardHandler))
		took := time.Since(began)
		b.ReportMetric(searched.Seconds(), "s-search")
		b.ReportMetric(took.Seconds(), "s-start")
		b.ReportMetric(float64(size)/(1<<20)/took.Seconds(), "MiB/s")
		b.ReportMetric(float64(size)/(1<<20), "MiB")
		b.ReportMetric(float64(len(segments)), "segments")
		b.ReportMetric(float64(recorded), "events")
	}
}
