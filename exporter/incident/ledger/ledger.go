package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict/judge"
)

const (
	// maxControlPlane limits the number of control-plane incidents that are active at the same time.
	maxControlPlane = 5
	// delay is how late timers run. Some transitions arrive late, because the tracker waits for the cause of a loss. It
	// usually waits for a second, but up to 15 s if a watch lags.
	delay = time.Second
	// sweepEvery is the interval between two sweeps.
	sweepEvery = time.Minute
)

// Ledger holds a cluster's incidents.
type Ledger struct {
	Timers Queue
	// Silences holds the silences of all nodes.
	Silences silence.Store
	// ControlPlane holds the facts from control-plane Leases and from direct reads of Leases.
	ControlPlane judge.ControlPlane
	// LeaseBreak is the last break of the Lease watch.
	LeaseBreak judge.Break

	// InTurn is called at a review of the verdicts, with the silences of nodes that fell silent one after another, unless
	// chance may explain them.
	InTurn func(shared silence.List, t time.Time)

	size int
	// stopped is the time of the last call of Stopped. The list blind holds the spans that began then, one for each
	// incident that was ongoing.
	stopped time.Time
	blind   []*incident.Span
	// The field now is the time of the newest transition or query. The field swept is the time of the last sweep.
	now, swept time.Time
	sweep      func(t time.Time)
	// The flag recordingEnded is set if the transitions came from a recording, and there are no more.
	recordingEnded bool
	// The map active holds the incidents that can still change, by the key of their subject. The list shown holds the
	// incidents that are reported.
	active map[string]*Record
	shown  []*Record
	// The flag changed is set if one of them may have changed since the last call of Reader.Notices.
	changed bool
	// The list departed holds the final notices about incidents that were merged, dropped or revised.
	departed []incident.Notice
	// The timer reviews runs the reviews of the verdicts. The field reviewed is the time of the last one.
	reviews  Timer
	reviewed time.Time
	resolved map[incident.Resolution]uint64
	// The field displaced counts the reported incidents that were dropped to make room for newer ones.
	displaced incident.Displaced
}

// New returns an empty ledger that keeps the newest incidents. The parameter size limits the number of those that have ended
// for good. Every minute, the ledger calls sweep to free what incidents no longer need.
func New(size int, sweep func(t time.Time)) *Ledger {
	l := &Ledger{size: max(size, 1), sweep: sweep, active: map[string]*Record{}, resolved: map[incident.Resolution]uint64{}}
	l.reviews = NewTimer("review", l.review)
	return l
}

// Advance moves the current time to t and runs the timers that are due, in order of time. Therefore, the incidents do not
// depend on the number of queries. It never moves the time back: a transition is late if the tracker waited for a cause.
func (l *Ledger) Advance(t time.Time) {
	if l.now.After(t) {
		t = l.now
	}
	limit := t.Add(-delay)
	for x, due := l.Timers.next(limit); x != nil; x, due = l.Timers.next(limit) {
		if now := due.Add(delay); now.After(l.now) {
			l.now = now
		}
		x.do(due)
	}
	l.now = t
	if minute := limit.Truncate(sweepEvery); minute.After(l.swept) {
		l.swept = minute
		l.Silences.Sweep(minute)
		l.sweep(minute)
	}
}

// Find returns the active incident of a subject. It returns nil if there is no such incident, or if the incident had
// ended for good by t.
func (l *Ledger) Find(x incident.Subject, t time.Time) *Record {
	r := l.active[x.Key()]
	if r != nil && r.HasEndedBy(t) {
		l.Settle(r)
		return nil
	}
	return r
}

// ControlPlaneNear returns the subject of an active control-plane incident in which a node fell silent around the time
// `began`, at most CommonCauseWindow before or after it. If there is no such incident, ok is false, and x is the subject
// for a new incident. If maxControlPlane incidents are already active, x is the subject of the first one instead. Zones
// that fail one after another form separate incidents, because their nodes do not fall silent together.
func (l *Ledger) ControlPlaneNear(began, t time.Time) (x incident.Subject, ok bool) {
	free := -1
	x = incident.ControlPlaneSubject()
	for x.Nth = range maxControlPlane {
		r := l.Find(x, t)
		if r == nil && free < 0 {
			free = x.Nth
		}
		if r != nil && slices.ContainsFunc(r.Silences, func(s *silence.Silence) bool {
			return s.Began.Sub(began).Abs() <= l.Silences.CommonCauseWindow()
		}) {
			return x, true
		}
	}
	x.Nth = max(free, 0)
	return x, false
}

// Begin returns the active incident of a subject, or starts a new one. The parameter trigger identifies the API write
// with which the failure began (see transition.Trigger).
func (l *Ledger) Begin(x incident.Subject, t time.Time, trigger uint64) *Record {
	r := l.Find(x, t)
	if r == nil {
		r = newRecord(l, x, newID(l.shown, x, t, trigger), t)
	} else {
		r.join(trigger)
	}
	if !beginsHarmless(x.Cause) {
		l.Show(r)
	}
	return r
}

// Merge merges incidents into the active incident of another subject. If there is none, the first of them becomes this
// incident, and keeps its ID.
func (l *Ledger) Merge(nodes []*Record, x incident.Subject, t time.Time) *Record {
	into := l.Find(x, t)
	if into == nil {
		into, nodes = nodes[0], nodes[1:]
		delete(l.active, into.Key())
		into.Subject = x
		l.active[x.Key()] = into
	}
	for _, r := range nodes {
		r.into = into
		into.MoveStartBack(r.Start)
		into.also = append(append(into.also, r.id), r.also...)
		into.Take(&r.Facts)
		into.latest = cmp.Or(into.latest, r.latest)
		l.depart(r, incident.Merged, into)
		l.shown = without(l.shown, r)
		l.Settle(r)
		l.Touch(into, r.touched)
	}
	l.Touch(into, t)
	return into
}

// Settle ends an incident for good. Later changes belong to another incident.
func (l *Ledger) Settle(r *Record) {
	if r.IsAboutNodes() && !r.Settled && r.into == nil {
		l.revise(r, r.weigh(l.NodeLoss(nil, r.KnownNodes))) // kubeflap forgets the facts after an hour
	}
	if r.Shown && !r.Settled && !r.withdrawn && r.into == nil {
		l.resolved[incident.Resolution{Scope: r.Scope(), Verdict: l.decide(r).Verdict}]++
	}
	r.Settled, r.changed, l.changed = true, true, true
	r.Trim()
	l.Timers.Stop(&r.timer)
	if l.active[r.Key()] == r {
		delete(l.active, r.Key())
	}
	l.makeRoom()
}

// Touch records a change at t. If the incident has recovered, it ends some time later.
func (l *Ledger) Touch(r *Record, t time.Time) {
	r.changed, l.changed = true, true
	if r.IsAboutNodes() && t.After(r.touched) {
		l.reviewAfter(t)
	}
	r.touched = incident.Later(r.touched, t)
	if !r.isOpen() {
		l.Timers.Schedule(&r.timer, r.touched.Add(Quiet))
	}
}

// Note adds an evidence entry to an incident, and records the change.
func (l *Ledger) Note(r *Record, e incident.Entry) {
	r.Evidence.Add(e)
	l.Touch(r, e.Time)
}

// OpenAddress records that an address is no longer ready. The incident becomes harmful if the address is still not ready
// after stuckAfter.
func (l *Ledger) OpenAddress(r *Record, x transition.AddressLost) {
	key := incident.OpenAddress(x.Address)
	r.Fails(key, x.Time)
	r.Open[key].Loss = &x
	if !r.Shown {
		l.Timers.Schedule(&r.timer, x.Time.Add(stuckAfter))
	}
}

// WithdrawIfEmpty withdraws a node incident if it no longer contains a silence or another failure. Withdrawn incidents
// do not count as resolved.
func (l *Ledger) WithdrawIfEmpty(r *Record, t time.Time) {
	if r.IsAboutNodes() && len(r.Silences) == 0 && r.Turned+r.FoundNotReady == 0 && r.Lost == 0 && !r.Ongoing() {
		r.withdrawn, r.touched = true, t
		r.Withdraw()
		l.Settle(r)
	}
}

// AddToNodes adds an evidence entry to each ongoing incident that is about nodes.
func (l *Ledger) AddToNodes(e incident.Entry) {
	for _, r := range l.active {
		if r.IsAboutNodes() && r.Ongoing() {
			r.Evidence.Add(e)
		}
	}
}

// Stopped records in each ongoing incident that kubeflap stopped watching at t. It is called once for each watch.
func (l *Ledger) Stopped(t time.Time) {
	if t.Equal(l.stopped) {
		return
	}
	l.stopped, l.blind = t, nil
	for _, r := range l.active {
		if r.isOpen() {
			r.Evidence.Add(incident.Entry{Kind: incident.Stopped, Time: t})
			l.blind = append(l.blind, r.Timeline.Begin(incident.TrackBlind, "kubeflap", t))
		}
	}
}

// Resumed records that a watch that broke at a time works again at t. It does nothing and returns false if kubeflap did
// not stop at that time.
func (l *Ledger) Resumed(broke, t time.Time) bool {
	if !broke.Equal(l.stopped) {
		return false
	}
	for _, s := range l.blind {
		s.Close(t)
	}
	return true
}

// handleTimer applies the changes of an incident that are due at t.
func (l *Ledger) handleTimer(r *Record, t time.Time) {
	isDue := func(at time.Time) bool {
		if !r.Settled && at.After(t) {
			l.Timers.Schedule(&r.timer, at)
		}
		return !r.Settled && !at.IsZero() && !at.After(t)
	}
	if !r.isOpen() && isDue(r.touched.Add(Quiet)) {
		l.Settle(r)
	}
	if isDue(r.harmfulAt()) {
		l.Show(r)
	}
}
