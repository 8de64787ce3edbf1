package flightrecorder

import (
	"context"
	"fmt"
	"math"
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

// unlisted stands for the resourceVersion of a list that the recorder could not make after a gap, because the watch did not
// work. It makes the list as soon as the watch works, unless the watch itself lists the resource.
const unlisted = math.MaxUint64

// resume begins a new segment after a gap. The recorder lists the resources whose watches work, because it has no objects
// in memory. Meanwhile, new events wait in the queue. All events of the lists have the same time, which is earlier than
// the lists, so that the segment is ordered by time.
func (w *writer) resume(ctx context.Context, after gap) error {
	if err := w.close(); err != nil {
		return err
	}
	at := time.Now().Round(0)
	return w.begin(at, 0, func() (err error) {
		if cluster := after.cluster; cluster.Object != nil {
			cluster.Seen = at
			err = w.add(cluster)
		}
		for kind, watch := range after.watches {
			switch {
			case err != nil: // the disk still fails, so the API server need not send the other lists
				return err
			case watch.works():
				err = w.list(ctx, event.Kind(kind), at)
			case watch.known():
				w.versions[kind] = unlisted
				if down := watch.down; down.Type != 0 {
					down.Seen = at
					err = w.add(down)
				}
			}
		}
		return err
	})
}

// list writes the list of a resource, which it requests from the API server. It writes none if the process ends.
func (w *writer) list(ctx context.Context, kind event.Kind, seen time.Time) error {
	if ctx.Err() != nil {
		return nil
	}
	err := w.add(event.Event{Seen: seen, Kind: kind, Type: event.Listing})
	if err != nil {
		return err
	}
	version, listErr := w.recorder.settings.List(ctx, kind, func(object event.Object) {
		if err == nil {
			err = w.add(event.Event{Seen: seen, Kind: kind, Type: event.Listed, Object: object})
		}
	})
	switch {
	case err != nil:
		return err
	case listErr != nil:
		return fmt.Errorf("list %v after a gap in the recording: %w", kind, listErr)
	}
	w.versions[kind], _ = strconv.ParseUint(version, 10, 64) // 0 omits no event
	return w.add(event.Event{Seen: seen, Kind: kind, Type: event.Synced})
}

// isOutdated reports whether an event is older than the list of its resource after a gap. Such events must be omitted. A
// resource that is not listed yet has unlisted as its version: what arrives is the end of a list whose beginning was lost.
func isOutdated(ev event.Event, version uint64) bool {
	switch ev.Type {
	case event.Added, event.Modified, event.Deleted, event.Listed:
		own, err := strconv.ParseUint(ev.Object.Metadata().ResourceVersion, 10, 64)
		return err == nil && own <= version
	}
	return false
}
