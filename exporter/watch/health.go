package watch

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// health tracks whether the watch of a resource works. It emits Down and Up events, and logs each reason for a failure
// once. The reflector never calls the methods of health concurrently.
type health struct {
	kind event.Kind
	log  *slog.Logger
	sink func(event.Event)
	// recovered is called with the length of a downtime when the downtime ends.
	recovered func(time.Duration)

	// downSince is the time at which the watch went down. It is zero while the watch works.
	downSince time.Time
	// suspect is the reason why the watch is suspect: it was silent, or it repeatedly ended right after it was opened.
	// A suspect watch counts as down until an event or a bookmark arrives, even if a list succeeds. If the watch is not
	// suspect, the reason is empty.
	suspect event.Reason
	// listed is the time of the last list, or zero.
	listed time.Time
	// logged is the list of reasons that have been logged since the watch went down.
	logged []event.Reason
	// All resources share reminders.
	reminders *reminders
	// refusedSince is the time at which the current series of denied requests began. It is zero if the last request was
	// not denied. withdraw stops the reflector when all requests have been denied for withdrawnAfter.
	refusedSince time.Time
	withdraw     context.CancelFunc
}

// The permission counts as withdrawn if all requests are denied for withdrawnAfter. A shorter time proves nothing,
// because a server denies all requests at startup until it has read the RBAC rules.
const withdrawnAfter = time.Minute

// down emits a Down event after a failed list, a failed attempt to open a watch, or the end of a watch. err is nil if
// the server ended the watch normally. The reflector requests a timeout of 5 to 10 minutes for each watch.
func (h *health) down(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // kubeflap itself stopped the watch
	}
	now := time.Now()
	if h.downSince.IsZero() {
		h.downSince = now
	}
	h.sink(event.Event{Seen: now, Kind: h.kind, Type: event.Down, Reason: reasonOf(err)})
	h.warn(err)
	h.noteRefusal(err, now)
}

// warn logs an error if its reason is new. While the API server is unreachable, warn also logs a reminder every minute.
func (h *health) warn(err error) {
	reason := reasonOf(err)
	switch {
	case err == nil:
	case !slices.Contains(h.logged, reason):
		h.logged = append(h.logged, reason)
		h.log.Warn("the watch failed, retrying", "cause", reason, "err", err)
	case unreachable(reason) && h.downFor() >= remindAfter && h.reminders.due():
		h.log.Warn("the API server is still unreachable, retrying", "for", h.downFor().Round(time.Second), "cause", reason, "err", err)
	}
}

// unreachable reports whether a request failed because there was no response.
func unreachable(reason event.Reason) bool {
	return reason == event.ReasonRefused || reason == event.ReasonUnreachable || reason == event.ReasonTimeout
}

// remindAfter is the interval between log lines while the API server stays unreachable.
const remindAfter = time.Minute

// The type reminders allows all watches together to log at most one reminder per minute.
type reminders struct {
	mu   sync.Mutex
	last time.Time
}

// due reports whether the caller should log a reminder now.
func (r *reminders) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.last) < remindAfter {
		return false
	}
	r.last = time.Now()
	return true
}

func (h *health) noteRefusal(err error, now time.Time) {
	reason := reasonOf(err)
	// A 404 for a resource that was listed before is a fault of the server or a proxy, not a refusal.
	refusal := reason == event.ReasonForbidden || reason == event.ReasonAbsent && h.listed.IsZero()
	switch {
	case !refusal:
		h.refusedSince = time.Time{}
	case h.refusedSince.IsZero():
		h.refusedSince = now
	case now.Sub(h.refusedSince) > withdrawnAfter:
		h.withdraw()
	}
}

func (h *health) isDown() bool { return !h.downSince.IsZero() }

func (h *health) downFor() time.Duration {
	if h.downSince.IsZero() {
		return 0
	}
	return time.Since(h.downSince)
}

// staleFor returns the age of the last known state of the resource.
func (h *health) staleFor() time.Duration { return min(h.downFor(), time.Since(h.listed)) }

// up emits an Up event when a watch resumes where the previous watch ended.
func (h *health) up(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	h.emitUp()
}

func (h *health) emitUp() {
	h.sink(event.Event{Seen: time.Now(), Kind: h.kind, Type: event.Up})
	h.works()
}

func (h *health) markSuspect(err error) { h.suspect = reasonOf(err) }

func (h *health) isSuspect() bool { return h.suspect != "" }

// alive is called when an event or a bookmark arrives. It marks a suspect watch as working.
func (h *health) alive() {
	if !h.isSuspect() {
		return
	}
	h.suspect = ""
	h.emitUp()
}

// trust is called if the server sends no bookmarks. It marks a suspect watch as working.
func (h *health) trust(ctx context.Context) {
	h.suspect = ""
	h.up(ctx)
}

// synced is called after a complete list. To receivers of events, a complete list means that the watch works. For a
// suspect watch, synced therefore emits another Down event.
func (h *health) synced() {
	h.listed = time.Now()
	if !h.isSuspect() {
		h.works()
		return
	}
	h.refusedSince = time.Time{}
	h.sink(event.Event{Seen: h.listed, Kind: h.kind, Type: event.Down, Reason: h.suspect})
}

// works is called when the watch is known to work. It ends the downtime if there was one.
func (h *health) works() {
	took := h.downFor()
	if len(h.logged) > 0 {
		h.log.Info("the watch is working again", "down", took.Round(time.Millisecond))
	}
	if h.isDown() {
		h.recovered(took)
	}
	h.downSince, h.refusedSince, h.logged = time.Time{}, time.Time{}, nil
}
