package flightrecorder

import (
	"context"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// afterGap completes the lists of a segment that begins after events were lost.
type afterGap struct {
	// watches is the state of the watches after the last event that was written.
	watches watches
	// awaits is set for a resource without a complete list. Such a resource must be listed as soon as its watch works.
	// Until then, its events are omitted, because the list will contain their objects.
	awaits [event.NumKinds]bool
	// versions holds the resourceVersions of the lists. Older events are omitted.
	versions [event.NumKinds]uint64
}

// omits reports whether an event must not be written.
func (a *afterGap) omits(ev event.Event) bool {
	a.watches.note(ev, 1)
	switch ev.Type {
	case event.Listing: // the watch itself lists the resource
		a.awaits[ev.Kind], a.versions[ev.Kind] = false, 0
	case event.Listed, event.Synced, event.Up:
		return a.awaits[ev.Kind]
	case event.Added, event.Modified, event.Deleted:
		version, err := strconv.ParseUint(ev.Object.Metadata().ResourceVersion, 10, 64)
		return a.awaits[ev.Kind] || err == nil && version <= a.versions[ev.Kind]
	}
	return false
}

// resume begins a new segment after events were lost. The recorder lists the resources itself, because it has no objects
// in memory. Meanwhile, new events wait in the queue.
func (w *writer) resume(ctx context.Context) error {
	if err := w.close(); err != nil {
		return err
	}
	watches, cluster := w.recorder.resume()
	w.after = afterGap{watches: watches}
	now := time.Now().Round(0)
	return w.begin(now, 0, func() error {
		if cluster.Object != nil {
			cluster.Seen = now
			if err := w.add(cluster); err != nil {
				return err
			}
		}
		for kind, watch := range watches {
			w.after.awaits[kind] = watch.known()
			if down := watch.down; down.Type != 0 {
				down.Seen = now
				if err := w.add(down); err != nil {
					return err
				}
			}
		}
		return w.listAwaited(ctx, now)
	})
}

// listAwaited lists the awaited resources whose watches work. The parameter at specifies the time of all events in the
// lists. It is earlier than the lists, so that the recording's events are ordered by time.
func (w *writer) listAwaited(ctx context.Context, at time.Time) error {
	for kind, awaits := range w.after.awaits {
		if awaits && w.after.watches[kind].works() {
			if err := w.list(ctx, event.Kind(kind), at); err != nil {
				return err
			}
		}
	}
	return nil
}

// list lists a resource. If the API server does not answer, the resource remains awaited.
func (w *writer) list(ctx context.Context, kind event.Kind, at time.Time) error {
	err := w.add(event.Event{Seen: at, Kind: kind, Type: event.Listing})
	version, listErr := w.recorder.settings.List(ctx, kind, func(object event.Object) {
		if err == nil {
			err = w.add(event.Event{Seen: at, Kind: kind, Type: event.Listed, Object: object})
		}
	})
	if err != nil {
		return err
	}
	if listErr != nil {
		w.recorder.log.Warn("cannot list "+kind.String()+" after a gap in the recording, retrying", "err", listErr)
		return nil
	}
	w.after.awaits[kind] = false
	w.after.versions[kind], _ = strconv.ParseUint(version, 10, 64) // 0 omits no event
	return w.add(event.Event{Seen: at, Kind: kind, Type: event.Synced})
}
