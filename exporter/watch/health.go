package watch

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// health says when the watch of one resource is down and up again, as events and, for
// what is out of the ordinary, as one line in the log each. All calls come one after
// the other, from the reflector.
type health struct {
	kind event.Kind
	log  *slog.Logger
	sink func(event.Event)
	// revived is told how long the watch was down.
	revived func(time.Duration)

	// since is when the watch went down, zero while it is not.
	since time.Time
	// doubt is why the watch is not believed, empty while it is: it was silent, or ended as soon as it was open. That it
	// is open again then says nothing, nor does a list: it is down until an event or a bookmark has come on it.
	doubt event.Reason
	// listed is when the resource was listed last, zero if it never was.
	listed time.Time
	// said are the causes that the log has told since it went down.
	said []event.Reason
	// refused is since when it is refused and nothing else, zero while it is not;
	// withdraw ends the watch when that has lasted.
	refused  time.Time
	withdraw context.CancelFunc
}

// withdrawnAfter is how long a refusal has to last until a right is taken to be
// withdrawn: servers that start refuse for a while what they will grant.
const withdrawnAfter = time.Minute

// down: a list or the opening of a watch failed, or a watch's stream ended; in good order if
// there is no error. Servers end each watch after 5 to 10 minutes, as the reflector asks them to.
func (h *health) down(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // it was stopped, which is no fault
	}
	now := time.Now()
	if h.since.IsZero() {
		h.since = now
	}
	h.sink(event.Event{Seen: now, Kind: h.kind, Type: event.Down, Reason: causeOf(err)})
	h.warn(err)
	h.noteRefusal(err, now)
}

// warn says each cause once.
func (h *health) warn(err error) {
	cause := causeOf(err)
	if err == nil || slices.Contains(h.said, cause) {
		return
	}
	h.said = append(h.said, cause)
	h.log.Warn("the watch fails, trying again", "cause", cause, "err", err)
}

func (h *health) noteRefusal(err error, now time.Time) {
	cause := causeOf(err)
	// What was there once and is absent is a fault of the server's, or of a proxy: it is tried as often as any other.
	refusal := cause == event.ReasonForbidden || cause == event.ReasonAbsent && h.listed.IsZero()
	switch {
	case !refusal:
		h.refused = time.Time{}
	case h.refused.IsZero():
		h.refused = now
	case now.Sub(h.refused) > withdrawnAfter:
		h.withdraw()
	}
}

func (h *health) isDown() bool { return !h.since.IsZero() }

func (h *health) downFor() time.Duration {
	if h.since.IsZero() {
		return 0
	}
	return time.Since(h.since)
}

// behindFor is how long what is known of the resource has been getting old.
func (h *health) behindFor() time.Duration { return min(h.downFor(), time.Since(h.listed)) }

// up: the watch goes on from where it was.
func (h *health) up(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	h.sink(event.Event{Seen: time.Now(), Kind: h.kind, Type: event.Up})
	h.works()
}

// doubted: the watch is not to be believed any more, because of err.
func (h *health) doubted(err error) { h.doubt = causeOf(err) }

func (h *health) isDoubted() bool { return h.doubt != "" }

// sign: an event or a bookmark has come on the watch, and is about to go on.
func (h *health) sign() {
	if !h.isDoubted() {
		return
	}
	h.doubt = ""
	h.sink(event.Event{Seen: time.Now(), Kind: h.kind, Type: event.Up})
	h.works()
}

// believe: the watch has proved itself otherwise.
func (h *health) believe(ctx context.Context) {
	h.doubt = ""
	h.up(ctx)
}

// synced: a list is complete, and what listens takes that for a watch that works. If it is not believed, that is taken
// back: the list was a sign of life of that moment.
func (h *health) synced() {
	h.listed = time.Now()
	if !h.isDoubted() {
		h.works()
		return
	}
	h.refused = time.Time{}
	h.sink(event.Event{Seen: h.listed, Kind: h.kind, Type: event.Down, Reason: h.doubt})
}

// works: the watch works, after a list or because it goes on.
func (h *health) works() {
	took := h.downFor()
	if len(h.said) > 0 {
		h.log.Info("the watch works again", "down", took.Round(time.Millisecond))
	}
	if h.isDown() {
		h.revived(took)
	}
	h.since, h.refused, h.said = time.Time{}, time.Time{}, nil
}
