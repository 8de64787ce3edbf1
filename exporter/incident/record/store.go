package record

import (
	"cmp"
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
	// maxHarmless limits the number of harmless incidents, such as rollouts. Such an incident may still become harmful.
	maxHarmless = 10_000
)

// Store holds a cluster's incidents.
type Store struct {
	Timers timer.Queue
	heartbeats.Heartbeats
	// History holds the silences of all nodes.
	History verdict.History
	// ControlPlane holds the facts from control-plane Leases and from direct reads of Leases.
	ControlPlane verdict.ControlPlane
	// LeaseBreak is the last break of the Lease watch.
	LeaseBreak verdict.Break

	size int
	// stopped is the time of the last call of Stopped.
	stopped time.Time
	// The field now is the time of the newest transition or query.
	now time.Time
	// The map active holds the incidents that can still change, by the key of their subject. The list shown holds the
	// incidents that are reported.
	active  map[string]*Record
	shown   []*Record
	ongoing ongoing
	// The field harmless is the number of active incidents that have caused no harm so far.
	harmless int
	notifier notifier
	// The field reviews is the timer that triggers the review of verdicts.
	reviews  timer.Timer
	reviewed time.Time
	resolved map[incident.Resolution]uint64
	// The field displaced counts the reported incidents that were dropped to make room for newer ones.
	displaced incident.Displaced
}

// NewStore returns an empty store that keeps the newest incidents. The parameter size limits their number.
func NewStore(size int) *Store {
	s := &Store{size: max(size, 1), active: map[string]*Record{}}
	s.reviews = timer.New("review", s.review)
	return s
}

// Now returns the time of the newest transition or query.
func (s *Store) Now() time.Time { return s.now }

// Displaced returns the number of reported incidents that were dropped to make room for newer ones.
func (s *Store) Displaced() incident.Displaced { return s.displaced }

// StartCounting sets all counters to zero at t.
func (s *Store) StartCounting(t time.Time) {
	s.resolved = nil
	s.Heartbeats.StartCounting(t)
}

// Advance moves the current time forward to t. It never moves the time back.
func (s *Store) Advance(t time.Time) {
	if t.After(s.now) {
		s.now = t
	}
}

// CommonCauseWindow returns the maximum time between two node losses that may have a common cause. This is the grace
// period, because heartbeats of different nodes are spread over a shorter time.
func (s *Store) CommonCauseWindow() time.Duration {
	if s.GracePeriod == 0 {
		return advice.DefaultGracePeriod
	}
	return s.GracePeriod
}

// Find returns the active incident of a subject. It returns nil if there is no such incident, or if the incident had
// ended for good by t.
func (s *Store) Find(x Subject, t time.Time) *Record {
	r := s.active[x.key()]
	if r != nil && r.HasEndedBy(t) {
		s.Settle(r)
		return nil
	}
	return r
}

// Begin returns the active incident of a subject, or starts a new one. The parameter trigger identifies the API write
// with which the failure began (see transition.Trigger).
func (s *Store) Begin(x Subject, t time.Time, trigger uint64) *Record {
	if r := s.Find(x, t); r != nil {
		r.join(trigger)
		return r
	}
	r := newRecord(x, t, s.newID(x, t, trigger))
	s.resume(r)
	r.timer = timer.New(x.key(), func(t time.Time) { s.handleTimer(r, t) })
	s.active[x.key()] = r
	if r.harmless {
		s.harmless++
		s.boundHarmless()
		return r
	}
	if x.Kind == KindNode {
		r.mergeableUntil = t.Add(s.CommonCauseWindow())
		s.Timers.Schedule(&r.timer, r.mergeableUntil)
	}
	s.Show(r)
	return r
}

// boundHarmless ends the oldest 10% of the harmless incidents if there are too many.
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

// Show makes kubeflap report the incident. The incident no longer counts as harmless.
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

// makeRoom drops incidents if there are too many. It drops the oldest ended incidents first, and ongoing ones last. It
// ignores node incidents that can still be merged (Record.mergeableUntil). If many nodes fail, their incidents soon
// merge into one and must not displace others.
func (s *Store) makeRoom() {
	if len(s.shown) <= s.size {
		return
	}
	over := -s.size
	for _, r := range s.shown {
		if r.mergeableUntil.IsZero() {
			over++
		}
	}
	for ; over > 0; over-- {
		i := s.oldest()
		r := s.shown[i]
		s.shown = slices.Delete(s.shown, i, i+1)
		kind, until := incident.Ended, r.recovered
		if until.IsZero() {
			kind, until = incident.Dropped, s.now
		}
		s.displaced.Add(incident.Displaced{Count: 1, Until: until})
		s.depart(r, kind, nil)
		s.Settle(r)
	}
}

// oldest returns the index of the incident to drop first.
func (s *Store) oldest() int {
	first, rank := -1, 0
	for i, r := range s.shown {
		is := 1
		switch {
		case !r.mergeableUntil.IsZero():
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
	r.settled, s.notifier.checkAll = true, true
	if !r.isOpen() {
		// Use new maps, because an emptied map does not release its memory.
		r.Open = newOpen()
	}
	s.Timers.Stop(&r.timer)
	if s.active[r.key()] == r {
		delete(s.active, r.key())
	}
}

// Touch records a change at t. It also checks whether the incident has recovered.
func (s *Store) Touch(r *Record, t time.Time) {
	s.notifier.note(r)
	if r.IsAboutNodes() && t.After(r.touched) {
		r.touched = t
		s.reviewLater(t)
	}
	switch {
	case r.isOpen():
		r.recovered = time.Time{}
	case t.After(r.recovered):
		r.recovered = t
		s.Timers.Schedule(&r.timer, t.Add(Quiet))
	}
}

// AddToNodes adds an evidence entry to each ongoing incident that is about nodes.
func (s *Store) AddToNodes(e evidence.Entry) {
	for _, r := range s.active {
		if r.IsAboutNodes() && r.Ongoing() {
			r.Evidence.Add(e)
		}
	}
}

// Stopped records in each ongoing incident that kubeflap stopped watching at t. It is called once for each watch.
func (s *Store) Stopped(t time.Time) {
	if t.Equal(s.stopped) {
		return
	}
	s.stopped = t
	for _, r := range s.active {
		r.blind = nil
		if r.isOpen() {
			r.Evidence.Add(evidence.Entry{Kind: evidence.Stopped, Time: t})
			r.blind = r.Timeline.Begin(incident.TrackBlind, "kubeflap", t)
		}
	}
}

// Resumed records that a watch that broke at a time works again at t. It does nothing and returns false if kubeflap did
// not stop at that time.
func (s *Store) Resumed(broke, t time.Time) bool {
	if !broke.Equal(s.stopped) {
		return false
	}
	for _, r := range s.active {
		r.blind.End(t)
	}
	return true
}

// OpenAddress records that an address has not been ready since t. The incident becomes harmful if the address is still
// not ready after stuckAfter.
func (s *Store) OpenAddress(r *Record, key AddressKey, t time.Time) {
	r.Open.Addresses[key] = t
	if r.harmless {
		s.Timers.Schedule(&r.timer, t.Add(stuckAfter))
	}
}

// handleTimer applies the changes of an incident that are due at t.
func (s *Store) handleTimer(r *Record, t time.Time) {
	if !r.mergeableUntil.IsZero() && !r.mergeableUntil.After(t) {
		r.mergeableUntil = time.Time{}
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
	if !r.mergeableUntil.IsZero() {
		s.Timers.Schedule(&r.timer, r.mergeableUntil)
	}
	if !r.recovered.IsZero() {
		s.Timers.Schedule(&r.timer, r.recovered.Add(Quiet))
	}
	if due, ok := r.harmfulAt(); ok {
		s.Timers.Schedule(&r.timer, due)
	}
}
