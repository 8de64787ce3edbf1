// Package record stores incidents and reports them. An incident can change until it has ended for good.
package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/timer"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Quiet is the time for which everything must stay recovered before an incident ends. A new failure within this time
// belongs to the same incident.
const Quiet = 2 * time.Minute

// stuckAfter is the time after which an incident counts as harmful because a lost address is still not ready. This
// ensures that the incident is reported within 2 minutes of the first loss.
const stuckAfter = 100 * time.Second

// Record is an incident that can still change. Package correlate and its subpackages write the exported fields.
type Record struct {
	Subject
	counts
	Open     Open
	Evidence evidence.Entries
	Timeline evidence.Timeline
	// ConflictSpan lasts while Open.Conflict is true. RemovedSpan lasts while both Open.Conflict and Removed are true.
	// ForeignSpan lasts while Open.Foreign is not empty.
	ConflictSpan, RemovedSpan, ForeignSpan *evidence.Span
	// The field blind is the span since the last call of Store.Stopped, if the incident was ongoing at that time.
	blind *evidence.Span
	// Writers describes the unexpected writers of a Service's addresses. It is empty if there are none. Contested is
	// set if two writers keep undoing each other's changes. Foreign is set if a Service with a selector had foreign
	// addresses (see transition.ForeignAddresses). Withdrawn is set if somebody removed pod addresses from Endpoints.
	Writers                       string
	Contested, Foreign, Withdrawn bool
	// Conflicted is set if the Service had both a selector and manually managed addresses. Removed is set while these
	// addresses are missing. ServiceGone is set if the Service was deleted.
	Conflicted, Removed, ServiceGone bool

	// The list also holds former and possible IDs of this incident (see join).
	id    string
	also  []string
	start time.Time
	// The field recovered is the time by which everything had recovered, or zero.
	recovered time.Time
	// The flag harmless is set as long as the incident has caused no harm, for example during a rollout. The flag shown
	// is set if the incident is reported. The flag settled is set if the incident has ended for good.
	harmless, shown, settled bool
	// The field into is the incident into which this one was merged, or nil.
	into     *Record
	reported reported
	// mergeableUntil is the time until which the incident of a single node can still be merged into a larger one. It
	// becomes zero at that time.
	mergeableUntil time.Time
	timer          timer.Timer
	// The flag withdrawn is set if the incident did not really happen: the heartbeats were on time, but the watch
	// delivered them late.
	withdrawn bool
	// The field touched is the time of the last change of a node incident. The field change is the value of
	// notifier.changes after the last change of this record.
	touched time.Time
	change  uint64
	// lastVerdict is the verdict at the last review. It is only valid if hasLastVerdict is set. The field final is the
	// final decision about a node incident. It is nil until the incident has ended for good.
	lastVerdict    verdict.Verdict
	hasLastVerdict bool
	final          *verdict.Decision
}

// Open holds everything that has not recovered.
type Open struct {
	// Nodes maps each node to the last renewTime of its Lease, or to zero if this time is unknown.
	Nodes map[string]time.Time
	// Addresses maps each address to the time at which it was lost. Outages maps each Service to the start of its
	// outage.
	Addresses map[AddressKey]time.Time
	Outages   map[transition.Service]time.Time
	// Conflict is set if the Service has both a selector and manually managed addresses. It stays set when these
	// addresses are removed.
	Conflict bool
	// The keys of Foreign describe the EndpointSlices and Endpoints that contain foreign addresses although the Service
	// has a selector. The keys of Withdrawn describe the Endpoints from which somebody removed pod addresses.
	Foreign, Withdrawn map[string]struct{}
}

// AddressKey identifies an address of a Service.
type AddressKey struct {
	Service transition.Service
	ID      event.UID
}

func newOpen() Open {
	return Open{Nodes: map[string]time.Time{}, Addresses: map[AddressKey]time.Time{}, Outages: map[transition.Service]time.Time{}, Foreign: map[string]struct{}{}, Withdrawn: map[string]struct{}{}}
}

func newRecord(s Subject, t time.Time, id string) *Record {
	r := &Record{
		Subject: s, id: id, start: t, Open: newOpen(),
		counts: counts{ByCause: map[cause.Cause]int{}, judgement: &verdict.Judgement{}}, Evidence: evidence.NewEntries(), Timeline: evidence.NewTimeline(),
	}
	switch s.Cause {
	case cause.Unknown, cause.PodDeleted, cause.PodEvicted, cause.PodCompleted,
		cause.InPlaceUpdate, cause.ReadinessGate, cause.ServiceChanged, cause.ManualWrite:
		r.harmless = true
	}
	return r
}

// Root returns the incident into which this one was merged, or r itself.
func (r *Record) Root() *Record {
	for r.into != nil {
		r = r.into
	}
	return r
}

// Start returns the time at which the incident began.
func (r *Record) Start() time.Time { return r.start }

// MoveStartBack records that the incident had already begun at t.
func (r *Record) MoveStartBack(t time.Time) {
	if t.Before(r.start) {
		r.start = t
	}
}

// Harmless reports whether the incident has caused no harm so far.
func (r *Record) Harmless() bool { return r.harmless }

// Settled reports whether the incident has ended for good. Later changes belong to another incident.
func (r *Record) Settled() bool { return r.settled }

// HasEndedBy reports whether the incident had ended for good by t.
func (r *Record) HasEndedBy(t time.Time) bool {
	return r.settled || !r.recovered.IsZero() && t.Sub(r.recovered) > Quiet
}

// Ongoing reports whether something has not recovered. A selector conflict alone does not count.
func (r *Record) Ongoing() bool {
	return len(r.Open.Nodes) > 0 || len(r.Open.Addresses) > 0 || len(r.Open.Outages) > 0 || len(r.Open.Foreign) > 0 || len(r.Open.Withdrawn) > 0 || r.lacksAddresses()
}

// lacksAddresses reports whether addresses that the endpoints controller removed are still missing. It returns false
// after the selector conflict has ended.
func (r *Record) lacksAddresses() bool { return r.Removed && r.Open.Conflict }

// affected returns the facts that the texts about a workload or Service need.
func (r *Record) affected() advice.Affected {
	a := advice.Affected{Cause: r.Cause, Namespace: r.Namespace, Name: r.fullName(), Contested: r.Contested, PodAddressesRemoved: r.Withdrawn, Pending: r.Resets == 0 && r.Lost == 0}
	a.ForeignAddressesGone = a.Pending && r.Foreign && !r.Withdrawn && len(r.Open.Foreign) == 0
	if r.WithNode > 0 && r.WithNode == r.Lost {
		a.DeletedNodes = phrase.Some(slices.Sorted(slices.Values(r.deleted)))
		a.DeletedCount = len(r.deleted)
	}
	a.Vanished = r.Vanished > 0 && r.Vanished == r.Lost
	a.Resolved, a.ServiceGone = r.Conflicted && !r.Open.Conflict, r.ServiceGone
	return a
}

func (r *Record) isOpen() bool { return r.Ongoing() || r.Open.Conflict }

func (r *Record) state(t time.Time) incident.State {
	switch {
	case r.settled && r.isOpen():
		// Newer incidents have displaced this one.
		return incident.StateEnded
	case r.Ongoing():
		return incident.StateRunning
	case r.Open.Conflict:
		return incident.StatePending
	case r.HasEndedBy(t):
		return incident.StateEnded
	}
	return incident.StateRecovered
}

// harmfulAt returns the time at which the incident becomes harmful because a lost address is still not ready. The
// second result is false if there is no such time. There is none for the cause ServiceChanged, because Outages.judge
// also considers the Service's new addresses. There is none for the cause ManualWrite, because a writer may remove
// addresses on purpose.
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
