package main

import (
	"context"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/watch"
)

// asker has Leases read directly when the tracker cannot tell whether nodes are silent or the watch of their Leases is, and has that
// watch opened anew when it is behind. The answers are events like all others.
type asker struct {
	tracker *track.Tracker
	watcher *watch.Watcher
}

// run asks until ctx ends.
func (a asker) run(ctx context.Context) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	var reading sync.WaitGroup
	defer reading.Wait()
	free := make(chan struct{}, 1)
	for {
		select {
		case <-ctx.Done():
			return nil
		case t := <-ticker.C:
			if a.tracker.LeasesBehind(t) {
				a.watcher.Reopen(event.KindLease)
			}
			names := a.tracker.LeasesToRead(t)
			if len(names) == 0 {
				continue
			}
			select {
			case free <- struct{}{}:
				reading.Go(func() {
					defer func() { <-free }()
					a.watcher.ReadLeases(ctx, names)
				})
			default: // they are being read
			}
		}
	}
}
