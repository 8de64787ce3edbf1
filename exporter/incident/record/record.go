// Package record keeps the incidents while they grow, and reports them.
package record

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/timer"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Quiet is how long everything must stay recovered. What flaps again before that is the same incident.
const Quiet = 2 * time.Minute

// Record is an incident while it grows.
type Record struct {
	Subject
	counts
	Evidence evidence.Entries
	Timeline evidence.Timeline

	id    string
	also  []string
	start time.Time
	// recovered is when everything had recovered; zero while it has not.
	recovered time.Time
	// harmless: nothing speaks for harm yet. A rollout looks like that.
	harmless, shown, settled bool
	// into is the incident that this one turned out to be part of.
	into     *Record
	reported reported
	// undecided is until when an incident of one node may turn out to be part of one of many nodes; zero if that is decided.
	undecided time.Time
	timer     timer.Timer

	open open
	// conflictSpan and removedSpan last while open.conflict and open.removed do.
	conflictSpan, removedSpan *evidence.Span
}

// open is what has not recovered.
type open struct {
	nodes map[string]struct{}
	// addresses and services have the time of the loss.
	addresses map[AddressKey]time.Time
	services  map[transition.Service]time.Time
	// conflict: the Service has a selector and manually managed addresses, or had them when they were removed.
	conflict bool
	// removed: the manually managed addresses were removed and are not back.
	removed bool
}

// AddressKey identifies an address of a Service.
type AddressKey struct {
	Service transition.Service
	ID      event.UID
}

func newOpen() open {
	return open{nodes: map[string]struct{}{}, addresses: map[AddressKey]time.Time{}, services: map[transition.Service]time.Time{}}
}

func newRecord(s Subject, t time.Time, trigger uint64) *Record {
	r := &Record{
		Subject: s, id: idOf(s.key(), t, trigger), start: t, open: newOpen(),
		counts: counts{byCause: map[cause.Cause]int{}}, Evidence: evidence.NewEntries(), Timeline: evidence.NewTimeline(),
	}
	switch s.Cause {
	case cause.PodDeleted, cause.PodEvicted, cause.PodCompleted,
		cause.InPlaceUpdate, cause.ReadinessGate, cause.ServiceChanged:
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

// Harmless reports whether nothing speaks for harm yet.
func (r *Record) Harmless() bool { return r.harmless }

// Settled reports whether it is over for good: what comes now is another incident.
func (r *Record) Settled() bool { return r.settled }

// QuietBy reports whether it is over for good by t.
func (r *Record) QuietBy(t time.Time) bool {
	return r.settled || !r.recovered.IsZero() && t.Sub(r.recovered) > Quiet
}

// Ongoing reports whether some harm has not recovered.
func (r *Record) Ongoing() bool {
	return len(r.open.nodes) > 0 || len(r.open.addresses) > 0 || len(r.open.services) > 0 || r.lacksAddresses()
}

// lacksAddresses reports whether the addresses that the endpoints controller removed are not back.
// Without a conflict, as beside pods that match the selector, nobody waits for them.
func (r *Record) lacksAddresses() bool { return r.open.removed && r.open.conflict }

func (r *Record) isOpen() bool { return r.Ongoing() || r.open.conflict }

func (r *Record) state(t time.Time) incident.State {
	switch {
	case r.settled && r.isOpen():
		// Newer incidents have taken its place.
		return incident.StateEnded
	case r.Ongoing():
		return incident.StateRunning
	case r.open.conflict:
		return incident.StatePending
	case r.QuietBy(t):
		return incident.StateEnded
	}
	return incident.StateRecovered
}

// OpenNode notes that a node has not recovered.
func (r *Record) OpenNode(name string) { r.open.nodes[name] = struct{}{} }

// CloseNode notes that a node has recovered.
func (r *Record) CloseNode(name string) { delete(r.open.nodes, name) }

// CloseAddress notes that an address is ready again, or gone.
func (r *Record) CloseAddress(key AddressKey) { delete(r.open.addresses, key) }

// OpenOutage notes that a Service has no ready address since t.
func (r *Record) OpenOutage(x transition.Service, t time.Time) {
	r.outages++
	r.open.services[x] = t
	r.effectOn(x).outages++
}

// CloseOutage notes that an outage is over.
func (r *Record) CloseOutage(x transition.Service, lasted time.Duration) {
	delete(r.open.services, x)
	r.outageTime += lasted
	r.effectOn(x).outageTime += lasted
}
