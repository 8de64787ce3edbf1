package flightrecorder

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// When events are lost, the recorder lists all resources again, because it keeps no objects in memory.

// errTooMany means that more than queueSize events arrived while a resource was being listed.
var errTooMany = errors.New("too many events arrived while the resources were listed again after a gap")

// watches is the state of the watches. It is kept up to date even while the recorder cannot write.
type watches struct {
	// listed is set after the first complete list. listing is set during a list. torn is set if events of the current
	// list were lost.
	listed, listing, torn [event.NumKinds]bool
	// down is the Down or Unavailable event of a broken watch. It is empty while the watch works.
	down [event.NumKinds]event.Event
	// cluster is the latest event of KindCluster.
	cluster event.Event
}

// note updates the state. It returns true if a list has ended and events of this list were lost.
func (w *watches) note(ev event.Event) (tornList bool) {
	if ev.Kind == event.KindCluster && ev.Object != nil {
		w.cluster = ev
	}
	switch ev.Type {
	case event.Listing:
		w.listing[ev.Kind], w.torn[ev.Kind] = true, false
	case event.Synced:
		tornList = w.torn[ev.Kind]
		w.listing[ev.Kind], w.torn[ev.Kind] = false, false
		w.listed[ev.Kind], w.down[ev.Kind] = true, event.Event{}
	case event.Up:
		w.down[ev.Kind] = event.Event{}
	case event.Down:
		w.down[ev.Kind] = ev
	case event.Unavailable:
		w.listed[ev.Kind], w.down[ev.Kind] = false, ev
	}
	return tornList
}

// markTorn marks each list in progress as torn, because events were lost.
func (w *watches) markTorn() {
	for kind, listing := range w.listing {
		w.torn[kind] = w.torn[kind] || listing
	}
}

// mustBeListed reports whether the recorder must list a resource itself. If the watch is already listing the resource,
// the recorder uses that list.
func (w *watches) mustBeListed(kind int) bool { return w.listed[kind] && !w.listing[kind] }

// The type lists tracks the resources that the recorder lists after a gap.
type lists struct {
	// waiting is set while the list of a resource is incomplete. buffered is the list of events that have arrived for
	// such resources.
	waiting  [event.NumKinds]bool
	buffered []event.Event
	// watches is the state of the watches when the lists began.
	watches watches
}

func (l *lists) pending() bool { return slices.Contains(l.waiting[:], true) }

// bufferEvent stores an event if the list of its resource is incomplete. It returns false if the event can be written
// now.
func (l *lists) bufferEvent(ev event.Event) (bool, error) {
	if !l.waiting[ev.Kind] {
		return false, nil
	}
	if len(l.buffered) >= queueSize {
		return false, errTooMany
	}
	l.buffered = append(l.buffered, ev)
	return true, nil
}

// release is called when the list of a resource is complete. It returns those buffered events of the resource that are
// newer than the list.
func (l *lists) release(kind event.Kind, version string) (after []event.Event) {
	l.waiting[kind] = false
	var others []event.Event
	listed := false // set if the watch itself has listed the resource again
	for _, ev := range l.buffered {
		listed = listed || ev.Kind == kind && ev.Type == event.Listing
		switch {
		case ev.Kind != kind:
			others = append(others, ev)
		case listed || ev.Object == nil || newer(ev.Object, version):
			after = append(after, ev)
		}
	}
	l.buffered = others
	return after
}

// newer reports whether an object was written after the list with the given resourceVersion. It also returns true if
// one of the versions is not a number.
func newer(object event.Object, list string) bool {
	written, err := strconv.ParseUint(object.Metadata().ResourceVersion, 10, 64)
	listed, listErr := strconv.ParseUint(list, 10, 64)
	return err != nil || listErr != nil || written > listed
}

// listPart is the start of a list, one of its objects, or its end. Only the end has a version.
type listPart struct {
	kind    event.Kind
	what    event.Type
	object  event.Object
	version string
}

// restart begins a new generation with new lists, because events were lost.
func (w *writer) restart(ctx context.Context, watches watches) error {
	w.next = roleStart
	if err := w.close(); err != nil {
		return err
	}
	w.lists = lists{watches: watches}
	now := time.Now()
	if watches.cluster.Object != nil {
		watches.cluster.Seen = now
		if err := w.add(watches.cluster); err != nil {
			return err
		}
	}
	for kind := range watches.listed {
		k := event.Kind(kind)
		switch {
		case watches.mustBeListed(kind):
			w.lists.waiting[kind] = true
		case watches.down[kind].Type == event.Unavailable:
			if err := w.add(event.Event{Seen: now, Kind: k, Type: event.Unavailable, Reason: watches.down[kind].Reason}); err != nil {
				return err
			}
		}
	}
	w.background.Go(func() { w.recorder.list(ctx, watches, w.listParts) })
	return nil
}

// list lists the resources one after another. It retries each list until it succeeds.
func (r *Recorder) list(ctx context.Context, watches watches, parts chan<- listPart) {
	send := func(part listPart) {
		select {
		case parts <- part:
		case <-ctx.Done():
		}
	}
	for kind := range watches.listed {
		k := event.Kind(kind)
		for watches.mustBeListed(kind) && ctx.Err() == nil {
			send(listPart{kind: k, what: event.Listing})
			version, err := r.settings.List(ctx, k, func(object event.Object) { send(listPart{k, event.Listed, object, ""}) })
			if err == nil {
				send(listPart{kind: k, what: event.Synced, version: version})
				break
			}
			r.log.Warn("cannot list "+k.String()+" after a gap in the recording, retrying", "err", err)
			select {
			case <-time.After(retryAfter):
			case <-ctx.Done():
			}
		}
	}
}

// list writes a part of a list. After the last part it also writes the events that arrived during the list.
func (w *writer) list(part listPart) error {
	now := time.Now()
	err := w.add(event.Event{Seen: now, Kind: part.kind, Type: part.what, Object: part.object})
	if err != nil || part.what != event.Synced {
		return err
	}
	if down := w.lists.watches.down[part.kind]; down.Type != 0 {
		if err := w.add(event.Event{Seen: now, Kind: part.kind, Type: down.Type, Reason: down.Reason}); err != nil {
			return err
		}
	}
	for _, ev := range w.lists.release(part.kind, part.version) {
		ev.Seen = now // a recording's events are ordered by time
		if err := w.add(ev); err != nil {
			return err
		}
	}
	return nil
}
