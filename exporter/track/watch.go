package track

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// tolerance is the longest break of a watch that counts as no break: a watch
// ends every 5 to 10 minutes by design (client-go, Reflector) and goes on from the
// same resource version within milliseconds.
const tolerance = time.Second

// watch is the state of the watch of one resource.
type watch struct {
	// generation numbers the lists: objects that the newest did not show are gone.
	generation uint32
	synced     bool
	up         bool
	// synchronised is when the first list was complete.
	synchronised time.Time
	missing      bool
	// downSince is when the watch broke; zero while it works and before the first list.
	// resumed is when it worked again, after its first list or a break; broke is
	// when that break began.
	downSince time.Time
	resumed   time.Time
	broke     time.Time
	blind     time.Duration
	reason    event.Reason
	lastEvent time.Time
	events    [event.Bookmark + 1]uint64
	relists   uint64
	errors    uint64
}

func (f *Fold) countEvent(e event.Event) {
	w := &f.watches[e.Kind]
	if e.Type <= event.Bookmark {
		w.events[e.Type]++
		w.lastEvent = e.Seen
	}
}

// applyWatch folds an event that speaks of the watch itself.
func (f *Fold) applyWatch(e event.Event) {
	w := &f.watches[e.Kind]
	switch e.Type {
	case event.Listing:
		w.generation++
		if e.Kind == event.KindEndpointSlice {
			f.keepPasts()
		}
	case event.Synced:
		f.synced(e, w)
	case event.Up:
		f.watchWorks(e, w)
		f.chooseSource()
	case event.Down:
		f.watchBroke(e, w)
	case event.Asking, event.Answered, event.Unanswered:
		f.applyRead(e)
	case event.Unavailable:
		w.missing, w.up, w.reason = true, false, e.Reason
		f.chooseSource()
	}
}

// chooseSource reads the addresses from EndpointSlices where they can be watched, else from Endpoints. It never changes to what
// cannot be seen now: then what was last seen stands, and the watch is said to be broken.
func (f *Fold) chooseSource() {
	slices, endpoints := &f.watches[event.KindEndpointSlice], &f.watches[event.KindEndpoints]
	switch {
	case f.settings.AddressSource != 0:
	case !slices.missing && slices.synced:
		f.switchSource(event.KindEndpointSlice)
	case slices.missing && (endpoints.up || !slices.synced):
		f.switchSource(event.KindEndpoints)
	}
}

func (f *Fold) synced(e event.Event, w *watch) {
	f.sweep(e)
	if w.synced {
		w.relists++
	} else {
		w.synchronised = e.Seen
	}
	w.synced, w.missing, w.lastEvent = true, false, e.Seen
	f.doubtAll(e.Seen)
	f.watchWorks(e, w)
	f.chooseSource()
}

func (f *Fold) watchBroke(e event.Event, w *watch) {
	if e.Reason != event.ReasonEnded {
		w.errors++
	}
	if !w.up && !w.missing {
		w.reason = e.Reason // why it is still down
	}
	if !w.up {
		return
	}
	w.up, w.reason, w.downSince = false, e.Reason, w.lastSign(e)
	if e.Kind == event.KindLease {
		f.beats.reads.ahead = nil // it is known to be behind
	}
	if e.Reason != event.ReasonEnded {
		f.report(Finding{Time: e.Seen, Kind: WatchBroke, Resource: e.Kind, Reason: e.Reason})
	}
}

func (f *Fold) watchWorks(e event.Event, w *watch) {
	if w.up {
		return
	}
	w.up, w.reason = true, ""
	if w.downSince.IsZero() {
		w.resumed = e.Seen
		return
	}
	gap := e.Seen.Sub(w.downSince)
	broke := w.downSince
	w.downSince = time.Time{}
	if gap < tolerance {
		return
	}
	w.blind += gap
	w.resumed, w.broke = e.Seen, broke
	if e.Kind == event.KindLease {
		f.beats.resume(e.Seen)
	}
	f.report(Finding{Time: e.Seen, Kind: WatchWorks, Resource: e.Kind, Duration: gap})
}

// live reports whether events arrive when they happen: a watch that was broken
// first delivers what it had missed, all at once.
func (w *watch) live(t time.Time) bool {
	return w.up && !t.Before(w.resumed.Add(catchUp))
}

// catchUp is how long the missed events of a broken watch may take to come in.
const catchUp = 2 * time.Second

// lastSign is when the watch last gave a sign of life before it broke. A connection
// that is dead without having been closed shows only after tens of seconds
// (client-go asks after 30, and waits 15): it was blind all that time.
func (w *watch) lastSign(e event.Event) time.Time {
	if e.Reason == event.ReasonSilent {
		if w.lastEvent.After(w.resumed) {
			return w.lastEvent
		}
		return w.resumed
	}
	if (e.Reason == event.ReasonConnectionLost || e.Reason == event.ReasonTimeout) && w.lastEvent.After(w.resumed) {
		return w.lastEvent
	}
	return e.Seen
}

// notBefore is the earliest time at which what an event tells can have happened.
func (w *watch) notBefore(seen time.Time) time.Time {
	switch {
	case !w.downSince.IsZero():
		return w.downSince
	case w.live(seen) || w.broke.IsZero():
		return seen
	}
	return w.broke
}

// blindAsOf is the time without a working watch, a running break included, from when on it is one: what is shown is never
// taken back.
func (w *watch) blindAsOf(t time.Time) time.Duration {
	if w.downSince.IsZero() || t.Sub(w.downSince) < tolerance {
		return w.blind
	}
	return w.blind + t.Sub(w.downSince)
}

// brokenSince is since when a watch that worked does not; zero while it does. One that was refused without a break
// before it gave its last sign of life then.
func (w *watch) brokenSince() time.Time {
	switch {
	case !w.downSince.IsZero() || !w.synced || w.up:
		return w.downSince
	case w.lastEvent.After(w.resumed):
		return w.lastEvent
	}
	return w.resumed
}

func (w *watch) brokenFor(t time.Time) time.Duration {
	if since := w.brokenSince(); !since.IsZero() {
		return t.Sub(since)
	}
	return 0
}
