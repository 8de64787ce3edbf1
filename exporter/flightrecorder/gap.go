package flightrecorder

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// gap describes the cluster at the end of a period in which events were lost.
type gap struct {
	// watches is the state of the watches after the last event, lost or not. cluster is the latest event of KindCluster.
	watches watches
	cluster event.Event
}

// resume begins a new segment after a gap. The recorder lists the resources itself, because it has no objects in memory.
// Meanwhile, new events wait in the queue. All events of the lists have the same time, which is earlier than the lists, so
// that the segment is ordered by time. resume fails if a watch does not work.
func (w *writer) resume(ctx context.Context, after gap) error {
	if err := w.close(); err != nil {
		return err
	}
	for kind, watch := range after.watches {
		if watch.known() && !watch.works() && watch.down.Type != event.Unavailable {
			return fmt.Errorf("the recorder waits until the watch of %v works", event.Kind(kind))
		}
	}
	at := time.Now().Round(0)
	return w.begin(at, 0, func() (err error) {
		send := func(ev event.Event) {
			ev.Seen = at
			err = cmp.Or(err, w.add(ev))
		}
		if after.cluster.Object != nil {
			send(after.cluster)
		}
		for i, watch := range after.watches {
			kind := event.Kind(i)
			switch {
			case err != nil: // the disk still fails, so the API server need not send the other lists
				return err
			case watch.works():
				send(event.Event{Kind: kind, Type: event.Listing})
				version, listErr := w.recorder.settings.List(ctx, kind, func(object event.Object) {
					send(event.Event{Kind: kind, Type: event.Listed, Object: object})
				})
				if listErr != nil {
					return fmt.Errorf("list %v after a gap in the recording: %w", kind, listErr)
				}
				send(event.Event{Kind: kind, Type: event.Synced})
				w.versions[kind], _ = strconv.ParseUint(version, 10, 64) // 0 omits no event
			case watch.known():
				send(watch.down)
			}
		}
		return err
	})
}

// outdated reports whether an event is older than the list of its resource after a gap. Such events must be omitted.
func (w *writer) outdated(ev event.Event) bool {
	switch ev.Type {
	case event.Listing: // the watch itself lists the resource
		w.versions[ev.Kind] = 0
	case event.Added, event.Modified, event.Deleted:
		version, err := strconv.ParseUint(ev.Object.Metadata().ResourceVersion, 10, 64)
		return err == nil && version <= w.versions[ev.Kind]
	}
	return false
}
