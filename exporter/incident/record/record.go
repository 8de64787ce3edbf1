// Package record keeps the incidents while they grow, and reports them.
package record

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/timer"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Quiet is how long everything must stay recovered. What flaps again before that is the same incident.
const Quiet = 2 * time.Minute

// stuckAfter is how long an address stays out before that is harm: with it an incident is reported within 2 minutes of its first loss.
const stuckAfter = 100 * time.Second

// Record is an incident while it grows. The exported fields are written by the package that finds the incident, the others by the Store.
type Record struct {
	Subject
	counts
	Open     Open
	Evidence evidence.Entries
	Timeline evidence.Timeline
	// ConflictSpan lasts while Open.Conflict is true, RemovedSpan while Removed is true as well, ForeignSpan while Open.Foreign has objects.
	ConflictSpan, RemovedSpan, ForeignSpan *evidence.Span
	// Writers are who writes the addresses of a Service beside those who should; empty if that was not seen. Contested: two of them undo each
	// other's changes. Foreign: addresses were written beside the selector. Withdrawn: addresses of pods were taken out of Endpoints.
	Writers                       string
	Contested, Foreign, Withdrawn bool
	// Conflicted: the Service had a selector and manually managed addresses. Removed: these were removed and are not back. ServiceGone: the Service
	// was deleted.
	Conflicted, Removed, ServiceGone bool

	id    string
	also  []string
	start time.Time
	// recovered is when everything had recovered; zero while it has not.
	recovered time.Time
	// harmless: there is no sign of harm yet. A rollout looks like that.
	harmless, shown, settled bool
	// into is the incident that this one turned out to be part of.
	into     *Record
	reported reported
	// undecided is until when an incident of one node may turn out to be part of one of many nodes; zero if that is decided.
	undecided time.Time
	timer     timer.Timer
	// withdrawn: the incident did not happen, because the watch was late.
	withdrawn bool
	// touched is when it last changed.
	touched time.Time
	// named is the verdict at the last review, if isNamed. final is the decision about an incident of nodes that has ended for good.
	named   verdict.Verdict
	isNamed bool
	final   *verdict.Decision
}

// Open is what has not recovered.
type Open struct {
	Nodes map[string]struct{}
	// Addresses and Outages have the time of the loss.
	Addresses map[AddressKey]time.Time
	Outages   map[transition.Service]time.Time
	// Conflict: the Service has a selector and manually managed addresses, or had them when they were removed.
	Conflict bool
	// Foreign are the objects with foreign addresses beside the selector, Withdrawn those that lack addresses which somebody took out.
	Foreign, Withdrawn map[string]struct{}
}

// AddressKey identifies an address of a Service.
type AddressKey struct {
	Service transition.Service
	ID      event.UID
}

func newOpen() Open {
	return Open{Nodes: map[string]struct{}{}, Addresses: map[AddressKey]time.Time{}, Outages: map[transition.Service]time.Time{}, Foreign: map[string]struct{}{}, Withdrawn: map[string]struct{}{}}
}

func newRecord(s Subject, t time.Time, trigger uint64) *Record {
	of := s
	of.Nth = 0 // replicas may not have seen the same ones before
	r := &Record{
		Subject: s, id: idOf(of.key(), t, trigger), start: t, Open: newOpen(),
		counts: counts{ByCause: map[cause.Cause]int{}, judgement: &verdict.Judgement{}}, Evidence: evidence.NewEntries(), Timeline: evidence.NewTimeline(),
	}
	switch s.Cause {
	case cause.PodDeleted, cause.PodEvicted, cause.PodCompleted,
		cause.InPlaceUpdate, cause.ReadinessGate, cause.ServiceChanged, cause.ManualWrite:
		r.harmless = true
	}
	return r
}

// idOf makes an ID that needs no escaping in a URL, from the subject and the write in the cluster that the incident began with.
// Every replica of kubeflap makes the same. Where that write is not known, as in older recordings, the time stands for it.
func idOf(key string, t time.Time, trigger uint64) string {
	if trigger == 0 {
		trigger = uint64(t.UnixMilli())
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", key, trigger)
	return fmt.Sprintf("%016x", h.Sum64())
}

// Root is the incident that this one turned out to be part of, or itself.
func (r *Record) Root() *Record {
	for r.into != nil {
		r = r.into
	}
	return r
}

// Start is when the harm began.
func (r *Record) Start() time.Time { return r.start }

// BeganBy moves the start back: the harm had begun before it was found.
func (r *Record) BeganBy(t time.Time) {
	if t.Before(r.start) {
		r.start = t
	}
}

// Harmless reports whether there is no sign of harm yet.
func (r *Record) Harmless() bool { return r.harmless }

// Settled reports whether the incident has ended for good. Later changes belong to another incident.
func (r *Record) Settled() bool { return r.settled }

// QuietBy reports whether the incident has ended for good by t.
func (r *Record) QuietBy(t time.Time) bool {
	return r.settled || !r.recovered.IsZero() && t.Sub(r.recovered) > Quiet
}

// Ongoing reports whether some harm has not recovered.
func (r *Record) Ongoing() bool {
	return len(r.Open.Nodes) > 0 || len(r.Open.Addresses) > 0 || len(r.Open.Outages) > 0 || len(r.Open.Foreign) > 0 || len(r.Open.Withdrawn) > 0 || r.lacksAddresses()
}

// lacksAddresses reports whether the addresses that the endpoints controller removed are not back. Without a conflict, for example
// beside pods that match the selector, no incident waits for them.
func (r *Record) lacksAddresses() bool { return r.Removed && r.Open.Conflict }

// affected is what happened to a workload or a Service, for its words.
func (r *Record) affected() advice.Affected {
	a := advice.Affected{Cause: r.Cause, Namespace: r.Namespace, Name: r.fullName(), Contested: r.Contested, Withdrawn: r.Withdrawn, Pending: r.Resets == 0 && r.Lost == 0}
	a.Gone = a.Pending && r.Foreign && !r.Withdrawn && len(r.Open.Foreign) == 0
	a.Resolved, a.ServiceGone = r.Conflicted && !r.Open.Conflict, r.ServiceGone
	return a
}

func (r *Record) isOpen() bool { return r.Ongoing() || r.Open.Conflict }

func (r *Record) state(t time.Time) incident.State {
	switch {
	case r.settled && r.isOpen():
		// Newer incidents have taken its place.
		return incident.StateEnded
	case r.Ongoing():
		return incident.StateRunning
	case r.Open.Conflict:
		return incident.StatePending
	case r.QuietBy(t):
		return incident.StateEnded
	}
	return incident.StateRecovered
}

// harmfulAt is when addresses that stay out are harm. Whether a changed Service is harmed depends on its other addresses. The only
// writer of a Service without a selector may take addresses out.
func (r *Record) harmfulAt() (time.Time, bool) {
	if !r.harmless || r.settled || r.Cause == cause.ServiceChanged || r.Cause == cause.ManualWrite {
		return time.Time{}, false
	}
	var first time.Time
	for _, since := range r.Open.Addresses {
		if first.IsZero() || since.Before(first) {
			first = since
		}
	}
	return first.Add(stuckAfter), !first.IsZero()
}
