package services

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// blindAfter is the time without a working watch of Services or their addresses after which it is unknown whether an
// outage is ongoing.
const blindAfter = 90 * time.Second

// blindness is the time for which it was unknown whether outages were ongoing. `until` is the time up to which it has been
// counted.
type blindness struct {
	time  time.Duration
	until time.Time
}

func (q *facts) blindSince() (since time.Time, blind bool) {
	for _, k := range [...]event.Kind{event.KindService, q.readFrom} {
		if t, ok := q.watches.BlindSince(k, blindAfter); ok && (!blind || t.Before(since)) {
			since, blind = t, true
		}
	}
	if q.blind.until.After(since) {
		since = q.blind.until
	}
	return since, blind
}

// IsBlind reports whether it is unknown which outages are ongoing, because a watch is broken.
func (q *facts) IsBlind() bool {
	_, blind := q.blindSince()
	return blind
}

// WatchChanges counts the time without sight. Call it before each change of a watch.
func (q *facts) WatchChanges() {
	if since, blind := q.blindSince(); blind {
		q.blind.time += q.watches.Now().Sub(since)
		q.blind.until = q.watches.Now()
	}
}

// clock returns the current time by a clock that stands still while it is unknown which outages are ongoing.
func (q *facts) clock() time.Time {
	now, hidden := q.watches.Now(), q.blind.time
	if since, blind := q.blindSince(); blind {
		hidden += now.Sub(since)
	}
	return now.Add(-hidden)
}
