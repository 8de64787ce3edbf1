// Package incident groups what the fold finds into incidents: what belongs
// together, what it hit, the evidence and the remedy.
//
// Like the fold it reads no clock: time comes in with the findings and the
// questions, so the same findings give the same incidents at any speed.
package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// quiet is how long everything must stay recovered: what flaps again before is the same incident.
	quiet = 2 * time.Minute
	// lag is how late a finding comes in behind a later one as a rule: a loss waits a second for its cause, and up to 15 s
	// where a watch is behind. What becomes due by the passing of time waits as long as the first.
	lag = time.Second
	// sweepEvery is how often what was remembered for a while is forgotten.
	sweepEvery = time.Minute
	// nodeMemory is how long a node counts as one that sends heartbeats after it was last heard of, and how long what
	// else was told of it is remembered.
	nodeMemory = 10 * time.Minute
)

// Log is the incidents of a cluster. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	size int
	// first is the time of the first finding, now that of the newest finding or question, swept when what is old was forgotten.
	first, now, swept time.Time
	timers            timers
	// grace is the grace period in force, 0 while no heartbeat was late.
	grace time.Duration

	// active are the incidents that may still grow, by what they follow; shown
	// are those to be told of, the active ones included.
	active map[string]*record
	shown  []*record
	// harmless counts the active ones that nothing speaks for harm of yet.
	harmless int
	// farewells are what is to be told of incidents that are not shown any more.
	farewells []Notice
	unread    unread

	// heard are the nodes that there are, and when each was last heard of, zero if only its pods told of it; nodes are those of which there may be more to tell.
	heard map[string]time.Time
	nodes map[string]*node
	// marks are the nodes that were lost lately, in order.
	marks     []mark
	services  map[serviceKey]*service
	addresses map[addressKey]*address
	pods      map[podKey]*pod
}

// New makes an empty log that keeps the newest incidents, size of them.
func New(size int) *Log {
	return &Log{
		size: max(size, 1), active: map[string]*record{}, heard: map[string]time.Time{}, nodes: map[string]*node{},
		services: map[serviceKey]*service{}, addresses: map[addressKey]*address{}, pods: map[podKey]*pod{},
	}
}

// Observe takes in transitions, in their order.
func (l *Log) Observe(found ...transition.Transition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range found {
		l.observe(x)
	}
}

func (l *Log) observe(x transition.Transition) {
	if l.first.IsZero() {
		l.first = x.When()
	}
	l.advance(x.When())
	switch x := x.(type) {
	case transition.HeartbeatSeen:
		l.heard[x.Node] = x.Time
		if n := l.nodes[x.Node]; n != nil {
			l.heartbeat(n, x)
		}
	case transition.HeartbeatLate:
		l.lateHeartbeat(l.nodeHeard(x.Node, x.Time), x)
	case transition.HeartbeatMissed:
		l.missedHeartbeat(l.nodeHeard(x.Node, x.Time), x)
	case transition.NodeReadyChanged:
		if n := l.nodeHeard(x.Node, x.Time); x.To == event.StatusTrue {
			l.turnedReady(n, x)
		} else {
			l.turnedNotReady(n, x)
		}
	case transition.NodeReadyMissed:
		l.turnedUnseen(l.nodeHeard(x.Node, x.Time), x)
	case transition.NodeRemoved:
		l.nodeRemoved(l.nodeHeard(x.Node, x.Time), x)
	case transition.PodReadyChanged:
		l.podTurned(x)
	case transition.PodReadyWasStale:
		l.notePod(x.Pod, x.Time, fact{stage: stageStale, longest: x.Stale})
	case transition.PodUpdatedInPlace:
		l.notePod(x.Pod, x.Time, fact{stage: stageUpdated})
	case transition.PodRestartedSilently:
		l.notePod(x.Pod, x.Time, fact{stage: stageSilent})
	default:
		l.observeService(x)
	}
}

// observeService takes in what happened to a Service, or to the watches.
func (l *Log) observeService(x transition.Transition) {
	switch x := x.(type) {
	case transition.AddressLost:
		l.lostAddress(x)
	case transition.AddressRemoved:
		l.addressGone(x.Address, x.Time, stageGone)
	case transition.AddressLeftOut:
		l.addressGone(x.Address, x.Time, stageLeftOut)
	case transition.AddressAdded:
		if x.Ready {
			l.addressBack(x.Address, x.Time)
		}
	case transition.AddressReady:
		l.addressBack(x.Address, x.Time)
	case transition.AddressBounced:
		l.addressBounced(x)
	case transition.ConsumerBounced:
		l.consumerBounced(x)
	case transition.OutageStarted:
		l.outageStarted(x)
	case transition.OutageEnded:
		l.outageEnded(x)
	case transition.EndpointsReset:
		l.reset(x)
	case transition.EndpointsRewritten:
		l.rewritten(x)
	case transition.SelectorConflict:
		l.conflict(x)
	case transition.SelectorConflictEnded:
		l.conflictEnded(keyOf(x.Service), x.Time)
	case transition.ServiceRemoved:
		l.serviceRemoved(x)
	case transition.WatchBroke:
		l.observeWatch(fact{at: l.moment(x.Time), stage: stageBlind, first: x.Resource.String()})
	case transition.WatchWorks:
		l.observeWatch(fact{at: l.moment(x.Time), stage: stageSees, first: x.Resource.String(), longest: x.Blind})
	}
}

func (l *Log) moment(t time.Time) event.Moment { return event.MomentOf(t, l.first) }

func (l *Log) time(m event.Moment) time.Time { return m.Time(l.first) }

// Incidents are the incidents as of t, newest first, those that go on on top. They
// are copies.
func (l *Log) Incidents(t time.Time) []Incident {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(t)
	t = l.now
	all := make([]Incident, 0, len(l.shown))
	for _, r := range l.shown {
		all = append(all, r.snapshot(l, t))
	}
	slices.SortStableFunc(all, func(a, b Incident) int {
		return cmp.Or(cmp.Compare(a.State.rank(), b.State.rank()), b.Start.Compare(a.Start), strings.Compare(a.ID, b.ID))
	})
	return all
}

// find returns the active incident of a key; one that has been quiet for long enough by t is none.
func (l *Log) find(key string, t time.Time) *record {
	r := l.active[key]
	if r != nil && r.quietBy(t) {
		l.settle(r)
		return nil
	}
	return r
}

// begin returns the active incident of a key, or begins one.
func (l *Log) begin(s subject, t time.Time, trigger uint64) *record {
	if r := l.find(s.key(), t); r != nil {
		return r
	}
	r := newRecord(s, t, trigger)
	r.id = l.unique(r.id)
	r.timer = timer{name: s.key(), look: func(t time.Time) { l.lookAtRecord(r, t) }}
	l.active[s.key()] = r
	if r.harmless {
		l.harmless++
		l.boundHarmless()
		return r
	}
	if s.story == storyNode {
		r.alone = t.Add(l.together())
		l.timers.wake(&r.timer, r.alone)
	}
	l.show(r)
	return r
}

// unique tells an incident apart from others that began with the same.
func (l *Log) unique(id string) string {
	taken := func(id string) bool {
		return slices.ContainsFunc(l.shown, func(r *record) bool { return r.id == id || slices.Contains(r.also, id) })
	}
	is := id
	for n := 2; taken(is); n++ {
		is = fmt.Sprintf("%s-%d", id, n)
	}
	return is
}

// maxHarmless bounds what looks like a roll-out and may turn out to be harm.
const maxHarmless = 10_000

// boundHarmless gives up the oldest tenth of what looks harmless, if that is too much.
func (l *Log) boundHarmless() {
	if l.harmless <= maxHarmless {
		return
	}
	var all []*record
	for _, r := range l.active {
		if r.harmless {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Or(a.start.Compare(b.start), strings.Compare(a.id, b.id)) })
	for _, r := range all[:len(all)/10] {
		l.settle(r)
	}
}

// show makes an incident one to be told of.
func (l *Log) show(r *record) {
	if r.harmless && !r.settled {
		l.harmless--
	}
	r.harmless = false
	if r.isShown {
		return
	}
	r.isShown = true
	l.shown = append(l.shown, r)
	l.unread.note(r)
	l.makeRoom()
}

// makeRoom lets the oldest incidents go if there are too many: those that have ended
// first, those that go on last. Those of nodes that may turn out to be part of one take no
// room: a stall of a large cluster is one incident in the end, and no reason to forget others.
func (l *Log) makeRoom() {
	if len(l.shown) <= l.size {
		return
	}
	over := -l.size
	for _, r := range l.shown {
		if r.alone.IsZero() {
			over++
		}
	}
	for ; over > 0; over-- {
		i := l.oldest()
		r := l.shown[i]
		l.shown = slices.Delete(l.shown, i, i+1)
		how := Ended
		if r.recovered.IsZero() {
			how = Dropped
		}
		l.bidFarewell(r, how, "")
		l.settle(r)
	}
}

// oldest is the place of the incident that goes first.
func (l *Log) oldest() int {
	first, rank := -1, 0
	for i, r := range l.shown {
		is := 1
		switch {
		case !r.alone.IsZero():
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

// settle ends an incident for good: what comes now is another one.
func (l *Log) settle(r *record) {
	if r.harmless && !r.settled {
		l.harmless--
	}
	r.settled, l.unread.all = true, true
	if !r.isOpen() {
		// A map that is empty keeps the room that it once took.
		r.makeOpen()
	}
	l.timers.stop(&r.timer)
	if l.active[r.key()] == r {
		delete(l.active, r.key())
	}
}

// touched draws the sum after a change at t: whether everything has recovered.
func (l *Log) touched(r *record, t time.Time) {
	l.unread.note(r)
	switch {
	case r.isOpen():
		r.recovered = time.Time{}
	case t.After(r.recovered):
		r.recovered = t
		l.timers.wake(&r.timer, t.Add(quiet))
	}
}
