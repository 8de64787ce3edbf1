package watch

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// health follows whether the watch of a resource works. It emits each change as an event, and logs each unusual reason once.
// The reflector calls it sequentially.
type health struct {
	kind event.Kind
	log  *slog.Logger
	sink func(event.Event)
	// recovered is called with the time for which the watch was down.
	recovered func(time.Duration)

	// downSince is when the watch went down, zero while it works.
	downSince time.Time
	// suspect is why the watch is not trusted, empty while it is: it was silent, or it ended whenever it was opened. A suspect
	// watch stays down, even if it is open and was listed again, until an event or a bookmark has come.
	suspect event.Reason
	// listed is when the resource was listed last, zero if it never was.
	listed time.Time
	// logged are the reasons that were logged since the watch went down.
	logged []event.Reason
	// reminders are those of all resources.
	reminders *reminders
	// refusedSince is since when every request has been refused, zero if that is not so. withdraw ends the reflector after
	// withdrawnAfter.
	refusedSince time.Time
	withdraw     context.CancelFunc
}

// withdrawnAfter is how long a refusal must last before the permission counts as withdrawn. A server that has just started
// refuses users whom it accepts later.
const withdrawnAfter = time.Minute

// down is called when a list or the opening of a watch failed, and when a watch ended: in good order if there is no error.
// Servers end each watch after 5 to 10 minutes, as the reflector asks.
func (h *health) down(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // kubeflap stopped the watch
	}
	now := time.Now()
	if h.downSince.IsZero() {
		h.downSince = now
	}
	h.sink(event.Event{Seen: now, Kind: h.kind, Type: event.Down, Reason: reasonOf(err)})
	h.warn(err)
	h.noteRefusal(err, now)
}

// warn logs each reason once, and each minute that the API server still cannot be reached.
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

// unreachable reports whether nothing answered.
func unreachable(reason event.Reason) bool {
	return reason == event.ReasonRefused || reason == event.ReasonUnreachable || reason == event.ReasonTimeout
}

// remindAfter is how often it is logged that the API server still cannot be reached.
const remindAfter = time.Minute

// reminders lets only one of the watches log that, since all of them fail at the same time.
type reminders struct {
	mu   sync.Mutex
	last time.Time
}

// due reports whether it is time to log it again. The caller then does.
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
	// If a listed resource becomes absent, the server or a proxy is at fault. Then it is retried as after any other fault.
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

// staleFor is how old the last known state of the resource is.
func (h *health) staleFor() time.Duration { return min(h.downFor(), time.Since(h.listed)) }

// up is called when a watch continues where the last one was.
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

// markSuspect stops trusting the watch because of err.
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

// trust is called when a suspect watch has turned out to work although nothing came.
func (h *health) trust(ctx context.Context) {
	h.suspect = ""
	h.up(ctx)
}

// synced is called after a list. Readers of the events take a complete list for a watch that works. If the watch is suspect,
// another Down corrects that.
func (h *health) synced() {
	h.listed = time.Now()
	if !h.isSuspect() {
		h.works()
		return
	}
	h.refusedSince = time.Time{}
	h.sink(event.Event{Seen: h.listed, Kind: h.kind, Type: event.Down, Reason: h.suspect})
}

// works is called when the watch works, after a list or because it continues.
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
