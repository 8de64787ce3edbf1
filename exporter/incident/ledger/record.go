// Package ledger holds a cluster's incidents. An incident can change until it has ended for good.
package ledger

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// stuckAfter is the time after which an incident counts as harmful because a lost address is still not ready. This
// ensures that the incident is reported within 2 minutes of the first loss.
const stuckAfter = 100 * time.Second

// Quiet is the time for which everything must stay recovered before an incident ends. A new failure within this time
// belongs to the same incident.
const Quiet = 2 * time.Minute

// Record is an incident that can still change. Package correlate writes the facts.
type Record struct {
	incident.Facts

	// The list also holds former and possible IDs of this incident (see join).
	id   string
	also []string
	// Start is the time at which the incident began.
	Start time.Time
	// Shown is set if the incident is reported. It is not set as long as the incident has caused no harm, for example
	// during a rollout. Settled is set if the incident has ended for good. Later changes belong to another incident.
	Shown, Settled bool
	// The field shownAt is when Shown was set.
	shownAt time.Time
	// The field into is the incident into which this one was merged, or nil.
	into     *Record
	reported reported
	timer    Timer
	// The flag withdrawn is set if the incident did not really happen: the heartbeats were on time, but the watch
	// delivered them late.
	withdrawn bool
	// The field touched is the time of the last change. The field latest is the decision at the last review of a node
	// incident, or nil.
	touched time.Time
	latest  *verdict.Decision
	// The flag changed is set if the incident may have changed since the last call of Reader.Notices, so that this call,
	// which follows each event, need not look at the others.
	changed bool
}

// newRecord returns an incident that begins at t, and adds it to the active ones.
func newRecord(l *Ledger, x incident.Subject, id string, t time.Time) *Record {
	r := &Record{Facts: incident.NewFacts(x), id: id, Start: t}
	r.timer = NewTimer(x.Key(), func(t time.Time) { l.handleTimer(r, t) })
	l.active[x.Key()] = r
	return r
}

// beginsHarmless reports whether incidents with a cause are reported only after they have caused harm.
func beginsHarmless(why cause.Cause) bool {
	switch why {
	case cause.Unknown, cause.PodDeleted, cause.PodEvicted, cause.PodCompleted,
		cause.InPlaceUpdate, cause.ReadinessGate, cause.ServiceChanged, cause.ManualWrite:
		return true
	}
	return false
}

// Root returns the incident into which this one was merged, or r itself.
func (r *Record) Root() *Record {
	for r.into != nil {
		r = r.into
	}
	return r
}

// MoveStartBack records that the incident had already begun at t.
func (r *Record) MoveStartBack(t time.Time) {
	if t.Before(r.Start) {
		r.Start = t
	}
}

func (r *Record) isOpen() bool { return len(r.Open) > 0 }

// recovered returns the time by which everything had recovered, or zero.
func (r *Record) recovered() time.Time {
	if r.isOpen() {
		return time.Time{}
	}
	return r.touched
}

func (r *Record) state(t time.Time) incident.State {
	switch {
	case r.Ongoing():
		return incident.StateOngoing
	case r.Pending():
		return incident.StatePending
	case r.HasEndedBy(t):
		return incident.StateResolved
	}
	return incident.StateRecovered
}

// harmfulAt returns the time at which the incident becomes harmful because a lost address is still not ready. It
// returns zero if there is no such time. There is none for the cause ServiceChanged, because the new addresses of the
// Service count, too. There is none for the cause ManualWrite, because a writer may remove addresses on purpose.
func (r *Record) harmfulAt() time.Time {
	if r.Shown || r.Settled || r.Cause == cause.ServiceChanged || r.Cause == cause.ManualWrite {
		return time.Time{}
	}
	first := r.Open.Oldest(incident.TrackAddress)
	if first.IsZero() {
		return first
	}
	return first.Add(stuckAfter)
}

// answersTo reports whether the incident has or had an ID.
func (r *Record) answersTo(id string) bool { return r.id == id || slices.Contains(r.also, id) }

// HasEndedBy reports whether the incident had ended for good by t.
func (r *Record) HasEndedBy(t time.Time) bool {
	return r.Settled || r.WasQuietUntil(t)
}

// WasQuietUntil reports whether the incident has recovered, and nothing has happened since for longer than Quiet.
func (r *Record) WasQuietUntil(t time.Time) bool {
	return !r.touched.IsZero() && !r.isOpen() && t.Sub(r.touched) > Quiet
}

// newID returns the ID of an incident that begins with the given API write. It needs no escaping in a URL. All replicas
// of kubeflap compute the same ID, because it depends only on the subject and on this write. If the write is unknown,
// the ID depends on the time.
//
// Two incidents do not begin with the same write. A node's incident ends only after a heartbeat, and the next silence
// then begins with another renewTime. Each write of addresses has another resourceVersion. One exception is possible: a
// Service whose selector is removed and set again conflicts twice with the same write of its Endpoints. The second ID is
// then hashed again. The list shown holds the reported incidents.
func newID(shown []*Record, x incident.Subject, t time.Time, trigger uint64) string {
	id := idOf(x, trigger)
	if trigger == 0 {
		id = hash(x.Key(), t.UnixMilli())
	}
	for slices.ContainsFunc(shown, func(r *Record) bool { return r.answersTo(id) }) {
		id = hash(id, 0)
	}
	return id
}

// idOf returns the ID of an incident that begins with the given API write. All incidents of nodes share the IDs of their
// nodes' losses, so that an incident keeps its ID when it grows. Grace-period incidents have IDs of their own, because a
// node whose silence lasts moves to another incident.
func idOf(s incident.Subject, trigger uint64) string {
	if s.IsAboutNodes() && s.Kind != incident.KindGracePeriod {
		return hash("node", trigger)
	}
	s.Nth = 0
	return hash(s.Key(), trigger)
}

func hash[T int64 | uint64 | int](text string, number T) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", text, number)
	return fmt.Sprintf("%016x", h.Sum64())
}

// join adds the loss of another node to the incident. The incident keeps its ID. A replica that saw this loss first
// shows the incident by the ID of this loss, so this replica answers to that ID, too.
func (r *Record) join(trigger uint64) {
	id := idOf(r.Subject, trigger)
	if r.IsAboutNodes() && trigger != 0 && id != r.id && len(r.also) < incident.MaxNodes && !slices.Contains(r.also, id) {
		r.also = append(r.also, id)
	}
}
