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
// once. The reflector never calls it concurrently.
type health struct {
	kind event.Kind
	log  *slog.Logger
	sink func(event.Event)
	// recovered is called with the length of each downtime.
	recovered func(time.Duration)

	// downSince is the time at which the watch went down. It is zero while the watch works.
	downSince time.Time
	// suspect is the reason why the watch is not trusted, or empty. A watch becomes suspect if it was silent, or if it
	// repeatedly ended right after it was opened. It then counts as down until an event or a bookmark arrives. A
	// successful list is not enough.
	suspect event.Reason
	// listed is the time of the last list, or zero.
	listed time.Time
	// logged holds the reasons that were logged since the watch went down.
	logged []event.Reason
	// reminders is shared by all resources.
	reminders *reminders
	// refusedSince is the start of the current series of denied requests. It is zero if the last request was not
	// denied. withdraw stops the reflector when the series has lasted for withdrawnAfter.
	refusedSince time.Time
	withdraw     context.CancelFunc
}

// withdrawnAfter is the time for which requests must be denied before the permission counts as withdrawn. A server that
// has just started denies all requests until it has read the RBAC rules.
const withdrawnAfter = time.Minute

// down is called when a list failed, a watch could not be opened, or a watch ended. The error is nil if the server
// ended the watch normally. The reflector asks servers to end each watch after 5 to 10 minutes.
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

// warn logs each reason once. While the API server is unreachable, it logs a reminder every minute.
func (h *health) warn(err error) {
	reason := reasonOf(err)
	switch {
	case err == nil:
	case !slices.Contains(h.logged, reason):
		h.logged = append(h.logged, reason)
		h.log.Warn("the watch fails, trying again", "cause", reason, "err", err)
	case unreachable(reason) && h.downFor() >= remindAfter && h.reminders.due():
		h.log.Warn("the API server still cannot be reached, trying again", "for", h.downFor().Round(time.Second), "cause", reason, "err", err)
	}
}

// unreachable reports whether a request failed because there was no response.
func unreachable(reason event.Reason) bool {
	return reason == event.ReasonRefused || reason == event.ReasonUnreachable || reason == event.ReasonTimeout
}

// remindAfter is the interval between reminders that the API server is still unreachable.
const remindAfter = time.Minute

// reminders makes sure that only one watch logs a reminder when all watches fail.
type reminders struct {
	mu   sync.Mutex
	last time.Time
}

// due reports whether a reminder is due. The caller must then log it.
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
	// If the server now responds with 404 for a resource that was listed before, the server or a proxy is at fault.
	// This is not a refusal.
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

// up is called when a watch resumes where the previous watch ended.
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

// alive is called before an event or a bookmark of the watch is passed on.
func (h *health) alive() {
	if !h.isSuspect() {
		return
	}
	h.suspect = ""
	h.emitUp()
}

// trust marks a suspect watch as working. It is called when the server turns out to send no bookmarks.
func (h *health) trust(ctx context.Context) {
	h.suspect = ""
	h.up(ctx)
}

// synced is called after a list. Receivers of events assume after a complete list that the watch works. If the watch is
// still suspect, synced therefore emits another Down event.
func (h *health) synced() {
	h.listed = time.Now()
	if !h.isSuspect() {
		h.works()
		return
	}
	h.refusedSince = time.Time{}
	h.sink(event.Event{Seen: h.listed, Kind: h.kind, Type: event.Down, Reason: h.suspect})
}

// works resets the state after a list or after a resumed watch.
func (h *health) works() {
	took := h.downFor()
	if len(h.logged) > 0 {
		h.log.Info("the watch works again", "down", took.Round(time.Millisecond))
	}
	if h.isDown() {
		h.recovered(took)
	}
	h.downSince, h.refusedSince, h.logged = time.Time{}, time.Time{}, nil
}
