package main

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// TestAKilledRecordLosesASecond checks that events are in the file after a second, even if no other event follows.
func TestAKilledRecordLosesASecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording.jsonl.gz")
	synctest.Test(t, func(t *testing.T) {
		to, err := recording.Create(path, recording.Header{Recorded: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		r := recorder{writer: to}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = r.run(ctx) }()
		for i := range 3 {
			for range 2 {
				r.record(event.Event{Seen: time.Now(), Kind: event.KindCluster, Type: event.Bookmark})
			}
			time.Sleep(time.Second)
			synctest.Wait()
			from, err := recording.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range from.Events() {
				if err == nil {
					n++
				}
			}
			from.Close()
			if n != 2*(i+1) {
				t.Errorf("%d events are in the file, want %d", n, 2*(i+1))
			}
		}
	})
}
