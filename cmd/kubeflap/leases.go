package main

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/watch"
)

// runWatches watches a cluster, and checks the Leases, until ctx is canceled.
func runWatches(ctx context.Context, watcher *watch.Watcher, tracker *track.Tracker) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return watcher.Run(ctx) })
	group.Go(func() error { return checkLeases(ctx, tracker, watcher) })
	return group.Wait()
}

// checkLeases reads Leases directly from the API server when the Lease watch may be late. With a late watch, nodes seem
// to have stopped renewing their Leases. The tracker receives each Lease as an event. checkLeases reopens a Lease watch
// that lags behind.
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
				watcher.ReopenLeases()
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
