package watch

import (
	"log/slog"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// The permission counts as withdrawn if all requests are denied for withdrawnAfter. A shorter time proves nothing, because
// a server denies all requests at startup until it has read the RBAC rules.
const withdrawnAfter = time.Minute

// health logs why the watch of a resource fails, once for each reason, and when it works again. It also detects a
// withdrawn permission.
type health struct {
	log *slog.Logger
	// downSince is the time at which the watch went down. It is zero while the watch works.
	downSince time.Time
	// logged is the list of reasons that have been logged since the watch went down.
	logged []event.Reason
	// listed is set if the resource was ever listed.
	listed bool
	// refusedSince is the time at which the current series of denied requests began. It is zero if the last request was
	// not denied.
	refusedSince time.Time
}

// down records a failed request or the end of a watch. err is nil if the server ended the watch normally.
func (h *health) down(err error) {
	if h.downSince.IsZero() {
		h.downSince = time.Now()
	}
	reason := reasonOf(err)
	if err != nil && !slices.Contains(h.logged, reason) {
		h.logged = append(h.logged, reason)
		h.log.Warn("the watch failed, retrying", "cause", reason, "err", err)
	}
	// A 404 for a resource that was listed before is a fault of the server or a proxy, not a refusal.
	if reason != event.ReasonForbidden && (reason != event.ReasonAbsent || h.listed) {
		h.refusedSince = time.Time{}
	} else if h.refusedSince.IsZero() {
		h.refusedSince = time.Now()
	}
}

func (h *health) isWithdrawn() bool {
	return !h.refusedSince.IsZero() && time.Since(h.refusedSince) > withdrawnAfter
}

// up records that the watch works.
func (h *health) up() {
	if len(h.logged) > 0 {
		h.log.Info("the watch is working again", "down", time.Since(h.downSince).Round(time.Millisecond))
	}
	h.downSince, h.refusedSince, h.logged = time.Time{}, time.Time{}, nil
}
