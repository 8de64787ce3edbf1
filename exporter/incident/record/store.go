package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/heartbeats"
	"github.com/kubeflap/kubeflap/exporter/incident/timer"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	maxAliases = 20
	// maxHarmless bounds the incidents that look like a rollout and may turn out to be harm.
	maxHarmless = 10_000
)

// Store has the incidents of a cluster.
type Store struct {
	Timers timer.Queue
	heartbeats.Heartbeats
	// History are the silences of all nodes.
	History verdict.History
	// ControlPlane is what its Leases and direct reads have shown.
	ControlPlane verdict.ControlPlane
	// LeaseBreak is when the watch of Leases was broken last.
	LeaseBreak verdict.Break

	size int
	// now is the time of the newest transition or question.
	now time.Time
	// active are the incidents that may still grow, by the key of their subject. shown are those that are reported.
	active map[string]*Record
	shown  []*Record
	// harmless counts the active incidents without a sign of harm.
	harmless int
	notifier notifier
	// reviews is the timer of the review of verdicts.
	reviews  timer.Timer
	reviewed time.Time
	resolved map[incident.Resolution]uint64
}

// NewStore makes an empty store that keeps the newest incidents, size of them.
func NewStore(size int) *Store {
	s := &Store{size: max(size, 1), active: map[string]*Record{}}
	s.reviews = timer.New("review", s.review)
	return s
}

// Now is the time of the newest transition or question.
func (s *Store) Now() time.Time { return s.now }

// Advance lets the time pass until t. It does not go back.
func (s *Store) Advance(t time.Time) {
	if t.After(s.now) {
		s.now = t
	}
}

// LostTogether is the time within which nodes must be lost to count as lost together. Their heartbeats are spread over an
// interval, and the grace period is longer than that.
func (s *Store) LostTogether() time.Duration {
	if s.GracePeriod == 0 {
		return advice.DefaultGracePeriod
	}
	return s.GracePeriod
}

// Find returns the active incident of a subject; nil if there is none, or if it has ended for good by t.
func (s *Store) Find(x Subject, t time.Time) *Record {
	r := s.active[x.key()]
	if r != nil && r.QuietBy(t) {
		s.Settle(r)
		return nil
	}
	return r
}

// Begin returns the active incident of a subject, or begins one.
func (s *Store) Begin(x Subject, t time.Time, trigger uint64) *Record {
	if r := s.Find(x, t); r != nil {
		return r
	}
	r := newRecord(x, t, trigger)
	r.id = unique(r.id, s.shown)
	r.timer = timer.New(x.key(), func(t time.Time) { s.look(r, t) })
	s.active[x.key()] = r
	if r.harmless {
		s.harmless++
		s.boundHarmless()
		return r
	}
	if x.Kind == KindNode {
		r.undecided = t.Add(s.LostTogether())
		s.Timers.Wake(&r.timer, r.undecided)
	}
	s.Show(r)
	return r
}

// unique makes the ID of an incident differ from those of others that began with the same write.
func unique(id string, among []*Record) string {
	taken := func(id string) bool {
		return slices.ContainsFunc(among, func(r *Record) bool { return r.id == id || slices.Contains(r.also, id) })
	}
	is := id
	for n := 2; taken(is); n++ {
		is = fmt.Sprintf("%s-%d", id, n)
	}
	return is
}

// boundHarmless gives up the oldest tenth of the incidents that look harmless, if there are too many.
func (s *Store) boundHarmless() {
	if s.harmless <= maxHarmless {
		return
	}
	var all []*Record
	for _, r := range s.active {
		if r.harmless {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Record) int { return cmp.Or(a.start.Compare(b.start), strings.Compare(a.id, b.id)) })
	for _, r := range all[:len(all)/10] {
		s.Settle(r)
	}
}

// Show marks an incident to be reported.
func (s *Store) Show(r *Record) {
	if r.harmless && !r.settled {
		s.harmless--
	}
	r.harmless = false
	if r.shown {
		return
	}
	r.shown = true
	s.shown = append(s.shown, r)
	s.notifier.note(r)
	s.makeRoom()
}

// makeRoom drops the oldest incidents if there are too many, those that have ended first and those that are ongoing last.
// Undecided incidents of nodes take no room: a stall of a large cluster is one incident in the end, and must not push out others.
func (s *Store) makeRoom() {
	if len(s.shown) <= s.size {
		return
	}
	over := -s.size
	for _, r := range s.shown {
		if r.undecided.IsZero() {
			over++
		}
	}
	for ; over > 0; over-- {
		i := s.oldest()
		r := s.shown[i]
		s.shown = slices.Delete(s.shown, i, i+1)
		kind := incident.Ended
		if r.recovered.IsZero() {
			kind = incident.Dropped
		}
		s.depart(r, kind, "")
		s.Settle(r)
	}
}

// oldest is the index of the incident that is dropped first.
func (s *Store) oldest() int {
	first, rank := -1, 0
	for i, r := range s.shown {
		is := 1
		switch {
		case !r.undecided.IsZero():
			continue
		case r.settled:
			return i
		case r.recovered.IsZero():
			is = 2
		}
		if first < 0 || is < rank {
			first, rank = i, is
		}
	}
	return first
}

// Settle ends an incident for good. Later changes belong to another incident.
func (s *Store) Settle(r *Record) {
	s.finish(r)
	s.countResolved(r)
	if r.harmless && !r.settled {
		s.harmless--
	}
	r.settled, s.notifier.all = true, true
	if !r.isOpen() {
		// An empty map keeps the room that it once took.
		r.Open = newOpen()
	}
	s.Timers.Stop(&r.timer)
	if s.active[r.key()] == r {
		delete(s.active, r.key())
	}
}

// Touch notes a change at t, after which everything may have recovered.
func (s *Store) Touch(r *Record, t time.Time) {
	s.notifier.note(r)
	if r.OfNodes() && t.After(r.touched) {
		r.touched = t
		s.reviewLater(t)
	}
	switch {
	case r.isOpen():
		r.recovered = time.Time{}
	case t.After(r.recovered):
		r.recovered = t
		s.Timers.Wake(&r.timer, t.Add(Quiet))
	}
}

// AddToNodes adds an entry to the evidence of each ongoing incident of nodes.
func (s *Store) AddToNodes(e evidence.Entry) {
	for _, r := range s.active {
		if r.OfNodes() && r.Ongoing() {
			r.Evidence.Add(e)
		}
	}
}

// OpenAddress notes that an address is not ready since t. If it stays so, that is harm.
func (s *Store) OpenAddress(r *Record, key AddressKey, t time.Time) {
	r.Open.Addresses[key] = t
	if r.harmless {
		s.Timers.Wake(&r.timer, t.Add(stuckAfter))
	}
}

// look performs the steps that are due for an incident by t.
func (s *Store) look(r *Record, t time.Time) {
	if !r.undecided.IsZero() && !r.undecided.After(t) {
		r.undecided = time.Time{}
		s.makeRoom()
	}
	if !r.recovered.IsZero() && !r.recovered.Add(Quiet).After(t) {
		s.Settle(r)
	}
	if due, ok := r.harmfulAt(); ok && !due.After(t) {
		s.Show(r)
	}
	if r.settled {
		return
	}
	if !r.undecided.IsZero() {
		s.Timers.Wake(&r.timer, r.undecided)
	}
	if !r.recovered.IsZero() {
		s.Timers.Wake(&r.timer, r.recovered.Add(Quiet))
	}
	if due, ok := r.harmfulAt(); ok {
		s.Timers.Wake(&r.timer, due)
	}
}
