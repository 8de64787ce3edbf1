package correlate

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/incident/timer"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// markDelay is how long after the end of a silence the node controller may still mark the node for it: it sees the heartbeat up
	// to one monitor period (5 s) later, and its write may wait.
	markDelay = 15 * time.Second
	// nodeMemory is how long a node counts after its last heartbeat, and how long its other transitions are remembered.
	nodeMemory = 10 * time.Minute
)

// nodes find the incident of each node that was lost or is not Ready.
type nodes struct {
	records *record.Store
	// heard has each node of the cluster and the time of its last transition, zero if only its pods were seen.
	heard map[string]time.Time
	// known is how many Nodes there are, 0 if kubeflap sees none.
	known int
	// troubled are the nodes that had other transitions than heartbeats lately.
	troubled map[string]*node
	// losses are the nodes that were lost lately, in order.
	losses []nodeLoss
	// gone are the silent nodes that were deleted lately.
	gone map[string]removedNode
}

// node is a node that had other transitions than heartbeats lately.
type node struct {
	name string
	// seen is the time of its last such transition, late that of its last late heartbeat.
	seen, late time.Time
	// missed: no heartbeat arrived since gapFrom.
	missed  bool
	gapFrom time.Time
	// trigger is that of the last missed heartbeat, renewed the renewTime of the heartbeat before.
	trigger uint64
	renewed time.Time
	// listed is when the watch worked again after the last heartbeat; zero if it was not broken since.
	listed time.Time
	// setBack is when the node's clock was set back, setBackBy how far; zero if it was not since the last heartbeat.
	setBack   time.Time
	setBackBy time.Duration
	// notReady: Ready was True and no longer is.
	notReady bool
	record   *record.Record
	// silence is the current silence, nil if there is none.
	silence *verdict.Silence
	// gap and unready are the spans in record that last.
	gap, unready *evidence.Span
	// lostAt is when it was last counted as lost.
	lostAt time.Time
	timer  timer.Timer
}

// count is how many nodes the cluster has. Where kubeflap may not see Nodes, those that it heard of count.
func (l *nodes) count() int {
	if l.known > 0 {
		return l.known
	}
	return len(l.heard)
}

// oneBeatLost is an interval in which at most one heartbeat was lost.
func (l *nodes) oneBeatLost() time.Duration { return 2 * l.records.HeartbeatInterval() }

// named returns a node, which may be known by its pods only.
func (l *nodes) named(name string) *node {
	n := l.troubled[name]
	if n == nil {
		n = &node{name: name}
		n.timer = timer.New("node/"+name, func(t time.Time) { l.look(n, t) })
		l.troubled[name] = n
		if _, known := l.heard[name]; !known {
			l.heard[name] = time.Time{}
		}
	}
	return n
}

// hear returns a node that has a transition other than a heartbeat.
func (l *nodes) hear(name string, t time.Time) *node {
	l.heard[name] = t
	n := l.named(name)
	n.seen = t
	return n
}

func (l *nodes) heartbeatSeen(x transition.HeartbeatSeen) {
	l.records.History.Begin(x.Time)
	l.heard[x.Node] = x.Time
	l.records.History.NotLate(x.Node)
	n := l.troubled[x.Node]
	if n == nil {
		if l.records.IsLate(x.Interval) {
			l.records.Returned(x.Node, x.Time, x.Interval, l.count())
		}
		return
	}
	before := x.Time.Add(-x.Interval)
	switch {
	case x.Unwatched:
		n.foundSince(before)
	case n.missed && !before.After(n.listed):
		x.Interval = x.Time.Sub(n.gapFrom) // a list has shown that heartbeat, and when it was is known
	default:
		l.beatBefore(n, before)
	}
	l.beat(n, x.Time, x.Interval)
}

func (l *nodes) heartbeatLate(x transition.HeartbeatLate) {
	n := l.hear(x.Node, x.Time)
	l.records.GracePeriod = 2 * x.Silence
	if !x.Unwatched {
		n.late = x.Time
	}
	l.records.BecameLate(x.Node, x.Time, x.Announced)
	if x.Announced == "" {
		l.records.History.Late(x.Node, cmp.Or(x.Last, x.Time.Add(-x.Silence)))
	}
}

func (l *nodes) heartbeatMissed(x transition.HeartbeatMissed) {
	n := l.hear(x.Node, x.Time)
	l.records.History.NotLate(x.Node)
	began := l.relisted(n, x.Time.Add(-x.Silence), x.Loss.Last)
	l.beatBefore(n, began)
	l.records.GracePeriod, l.records.Managed = x.Silence, x.Loss.Managed
	n.missed, n.gapFrom = true, began
	n.trigger = x.Loss.Trigger
	l.beginSilence(n, n.gapFrom, x.Loss).Read = x.Read
	r := l.lose(n, x.Time, x.Loss, x.Silence)
	l.openGap(r, n, x.Time)
	r.Evidence.Add(evidence.Entry{Kind: evidence.HeartbeatMissed, Time: x.Time, Name: n.name, Duration: x.Silence})
}

// openGap adds to an incident that a node sends no heartbeat.
func (l *nodes) openGap(r *record.Record, n *node, t time.Time) {
	r.HeartbeatLost = true
	r.Open.Nodes[n.name] = struct{}{}
	r.Evidence.Add(evidence.Entry{Kind: evidence.LastHeartbeat, Time: n.gapFrom, Name: n.name})
	if n.late.After(n.gapFrom) && r.Kind != record.KindGracePeriod {
		r.Evidence.Add(evidence.Entry{Kind: evidence.HeartbeatLate, Time: n.late, Name: n.name, Duration: min(n.late.Sub(n.gapFrom), l.records.GracePeriod/2)})
	}
	n.gap = r.Timeline.Begin(incident.TrackHeartbeat, n.name, n.gapFrom)
	l.records.Touch(r, t)
	if r.Kind == record.KindGracePeriod {
		l.records.Timers.Wake(&n.timer, n.gapFrom.Add(l.oneBeatLost()))
	}
}

func (l *nodes) turnedNotReady(x transition.NodeReadyChanged) {
	n := l.hear(x.Node, x.Time)
	if x.From != event.StatusTrue && !n.notReady {
		// A new node that starts.
		return
	}
	n.notReady = true
	var r *record.Record
	kind := evidence.NodeNotReady
	if x.To == event.StatusUnknown {
		kind = evidence.NodeUnknown
		if x.Loss.GracePeriod > 0 {
			l.records.GracePeriod = x.Loss.GracePeriod
		}
		l.records.Managed = x.Loss.Managed
		s := n.silence
		if s == nil || !s.Ended.IsZero() && x.Time.Sub(s.Ended) > markDelay {
			s = l.beginSilence(n, x.Time.Add(-x.Silence), x.Loss)
			s.Blind = x.Loss.Blind
		}
		s.Marked, s.MarkedAge, s.MarkedInTime = true, x.Loss.MarkedAge, x.Loss.InTime()
		r = l.lose(n, x.Time, x.Loss, x.Silence)
		r.HeartbeatLost = true
		if x.Loss.Blind {
			x.Silence = 0 // there may have been heartbeats since
		}
		if x.Time.Sub(n.gapFrom) > record.Quiet && x.Silence > 0 {
			r.Evidence.Add(evidence.Entry{Kind: evidence.LastHeartbeat, Time: x.Time.Add(-x.Silence), Name: n.name})
		}
		r.TurnedUnknown++
	} else {
		r = l.follow(n, x.Time, x.Loss, l.records.Undisturbed()+1)
	}
	r.Turned++
	r.Open.Nodes[n.name] = struct{}{}
	n.unready.End(x.Time)
	n.unready = r.Timeline.Begin(incident.TrackNode, n.name, x.Time)
	r.Evidence.Add(evidence.Entry{Kind: kind, Time: x.Time, Name: n.name, Duration: x.Silence})
	l.records.Touch(r, x.Time)
}

func (l *nodes) turnedReady(x transition.NodeReadyChanged) {
	n := l.hear(x.Node, x.Time)
	r := n.current(x.Time)
	if n.silence != nil && n.silence.Unseen {
		n.endSilence(x.Time)
	}
	was := n.notReady
	n.notReady = false
	if !was || r == nil {
		return
	}
	lasted := x.Lasted
	if s := n.silence; s != nil && !s.Found.Marked.IsZero() && !x.Complete {
		lasted = max(lasted, x.Time.Sub(s.Found.Marked))
	}
	r.Evidence.Add(evidence.Entry{Kind: evidence.NodeReady, Time: x.Time, Name: n.name, Duration: lasted})
	n.unready = n.unready.End(x.Time)
	l.close(r, n, x.Time)
}

func (l *nodes) readyMissed(x transition.NodeReadyMissed) {
	n := l.hear(x.Node, x.Time)
	if x.Status != event.StatusTrue {
		return
	}
	s := l.beginSilence(n, x.Time, transition.NodeLoss{})
	s.Ended, s.Blind = x.Time, true
	r := l.lose(n, x.Time, transition.NodeLoss{Trigger: x.Trigger}, 0)
	r.HeartbeatLost = true
	r.Turned++
	r.TurnedUnknown++
	r.Evidence.Add(evidence.Entry{Kind: evidence.NodeWasUnknown, Time: x.Time, Name: n.name})
	l.records.Touch(r, x.Time)
}

// beginSilence returns the current silence of a node, or begins one after a heartbeat.
func (l *nodes) beginSilence(n *node, heartbeat time.Time, x transition.NodeLoss) *verdict.Silence {
	n.endSilence(heartbeat)
	if n.silence == nil || !n.silence.Ended.IsZero() {
		n.silence = &verdict.Silence{Node: n.name, Began: heartbeat, Announced: x.Announced, AnnouncedAfter: x.AnnouncedAfter, Labels: x.Labels, Unseen: x.Unseen, BeganBlind: x.Blind && x.Last.IsZero(), Relisted: !x.Last.IsZero()}
		l.records.History.Add(n.silence)
		l.records.Silent(n.silence)
		if n.setBack.After(heartbeat) {
			n.silence.ClockBack = n.setBackBy
		}
	}
	return n.silence
}

// endSilence notes a heartbeat, if it is later than the one before the silence.
func (n *node) endSilence(heartbeat time.Time) {
	if s := n.silence; s != nil && s.Ended.IsZero() && heartbeat.After(s.Began) {
		s.Ended = heartbeat
	}
}

// close notes that a node has recovered, if it has.
func (l *nodes) close(r *record.Record, n *node, t time.Time) {
	if !n.missed && !n.notReady {
		delete(r.Open.Nodes, n.name)
		l.records.Touch(r, t)
	}
}

// sweep forgets the nodes that have sent nothing for long, and what happened to the others.
func (l *nodes) sweep(t time.Time) {
	l.records.Sweep(t)
	l.forgetGone(t)
	for name, heard := range l.heard {
		n := l.troubled[name]
		switch {
		case n != nil && (n.missed || n.notReady):
		case heard.Before(t.Add(-nodeMemory)):
			delete(l.heard, name)
			delete(l.troubled, name)
		case n != nil && n.seen.Before(t.Add(-max(nodeMemory, l.records.LostTogether()))) && (n.record == nil || n.record.Root().Settled()):
			delete(l.troubled, name)
		}
	}
}
