package main

import (
	"context"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/watch"
)

// checkLeases reads Leases from the API server when it is unclear whether nodes stopped renewing them or the Lease
// watch is late. It reopens a Lease watch that lags behind. The watcher passes each Lease to the tracker as an event.
func checkLeases(ctx context.Context, tracker *track.Tracker, watcher *watch.Watcher) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	var reads sync.WaitGroup
	defer reads.Wait()
	free := make(chan struct{}, 1)
	for {
		select {
		case <-ctx.Done():
			return nil
		case t := <-ticker.C:
			if tracker.LeasesBehind(t) {
				watcher.Reopen(event.KindLease)
			}
			names := tracker.LeasesToRead(t)
			if len(names) == 0 {
				continue
			}
			select {
			case free <- struct{}{}:
				reads.Go(func() {
					defer func() { <-free }()
					watcher.ReadLeases(ctx, names)
				})
			default: // the previous read is still running
			}
		}
	}
}
