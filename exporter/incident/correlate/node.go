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
	// markDelay is how long after the end of a silence the node controller may still set the node to Unknown. The
	// controller sees a heartbeat up to one monitor period (5 s) late, and its write may be delayed.
	markDelay = 15 * time.Second
	// nodeMemory is the minimum time for which a node is remembered after its last transition.
	nodeMemory = 10 * time.Minute
)

// nodes assigns lost and unready nodes to incidents.
type nodes struct {
	records *record.Store
	// lastTransition maps each node in the cluster to the time of its last transition. The time is zero if kubeflap has
	// seen pods of the node, but no transition of the node itself.
	lastTransition map[string]time.Time
	// The field known is the number of Nodes, or 0 if kubeflap cannot see Nodes.
	known int
	// The map troubled holds the nodes that recently had transitions other than heartbeats.
	troubled map[string]*node
	// The list losses holds the recently lost nodes, sorted by time.
	losses []nodeLoss
	// The map gone holds the silent nodes that were recently deleted. The map deleted holds the deletion times of all
	// recently deleted nodes.
	gone    map[string]removedNode
	deleted map[string]time.Time
}

// node is the state of a node that recently had transitions other than heartbeats.
type node struct {
	name string
	// The field seen is the time of the last transition other than a heartbeat. The field late is the last time at
	// which a heartbeat became late.
	seen, late time.Time
	// isSilent is set while the node is silent. lastHeartbeat is the time of the last heartbeat before the silence.
	isSilent      bool
	lastHeartbeat time.Time
	// The field trigger is the value of transition.NodeLoss.Trigger when the node was last lost. The field renewed is
	// the last renewTime before this loss.
	trigger uint64
	renewed time.Time
	// The field listed is the time at which a broken watch was restored. It is set if the node fell silent while the
	// watch was broken.
	listed time.Time
	// setBack is the time at which the node's clock was last set back, or zero. setBackBy is the size of that clock
	// step.
	setBack   time.Time
	setBackBy time.Duration
	// notReady is set while the node is not Ready, unless it has never been Ready.
	notReady bool
	record   *record.Record
	// The field silence is the node's newest silence, which may be ongoing. It is nil if there is none.
	silence *verdict.Silence
	// silenceSpan and notReadySpan are the node's ongoing timeline spans in its incident.
	silenceSpan, notReadySpan *evidence.Span
	// lostAt is the time at which the node was last counted as lost.
	lostAt time.Time
	timer  timer.Timer
}

// count returns the number of nodes in the cluster. If kubeflap cannot see Nodes, it counts the entries of
// lastTransition instead.
func (l *nodes) count() int {
	if l.known > 0 {
		return l.known
	}
	return len(l.lastTransition)
}

// intervalWithLostHeartbeat returns the interval between two received heartbeats if one heartbeat between them gets
// lost.
func (l *nodes) intervalWithLostHeartbeat() time.Duration { return 2 * l.records.HeartbeatInterval() }

// named returns the node with the given name, and adds it if it is new.
func (l *nodes) named(name string) *node {
	n := l.troubled[name]
	if n == nil {
		n = &node{name: name}
		n.timer = timer.New("node/"+name, func(t time.Time) { l.handleTimer(n, t) })
		l.troubled[name] = n
		if _, known := l.lastTransition[name]; !known {
			l.lastTransition[name] = time.Time{}
		}
	}
	return n
}

// recordTransition records a transition other than a heartbeat, and returns its node.
func (l *nodes) recordTransition(name string, t time.Time) *node {
	l.lastTransition[name] = t
	n := l.named(name)
	n.seen = t
	return n
}

func (l *nodes) heartbeatSeen(x transition.HeartbeatSeen) {
	l.records.History.Begin(x.Time)
	l.lastTransition[x.Node] = x.Time
	l.records.History.RemoveLate(x.Node)
	n := l.troubled[x.Node]
	if n == nil {
		if l.records.IsLate(x.Interval) {
			l.records.RecordLateHeartbeat(x.Node, x.Time, x.Interval, l.count())
		}
		return
	}
	before := x.Time.Add(-x.Interval)
	switch {
	case x.Unwatched:
		n.foundSince(before)
	case n.isSilent && !before.After(n.listed):
		x.Interval = x.Time.Sub(n.lastHeartbeat) // the previous heartbeat (lastHeartbeat) is known only from a list
	default:
		n.sawWhole(before)
		l.handleUnreportedHeartbeat(n, before)
	}
	l.handleHeartbeat(n, x.Time, x.Interval)
}

// heartbeatsResumed handles the first heartbeat after a silence. The tracker could not measure the interval before this
// heartbeat, but handleUnreportedHeartbeat may be able to compute this interval.
func (l *nodes) heartbeatsResumed(x transition.HeartbeatsResumed) {
	l.handleUnreportedHeartbeat(l.recordTransition(x.Node, x.Time), x.Time)
}

func (l *nodes) heartbeatLate(x transition.HeartbeatLate) {
	n := l.recordTransition(x.Node, x.Time)
	l.records.GracePeriod = 2 * x.Silence
	if !x.Unwatched {
		n.late = x.Time
	}
	l.records.BecameLate(x.Node, x.Time, x.Announced)
	if x.Announced == "" {
		l.records.History.HeartbeatLate(x.Node, cmp.Or(x.Last, x.Time.Add(-x.Silence)))
	}
}

func (l *nodes) heartbeatMissed(x transition.HeartbeatMissed) {
	n := l.recordTransition(x.Node, x.Time)
	l.records.History.RemoveLate(x.Node)
	began := l.relisted(n, x.Time.Add(-x.Silence), x.Loss.Last)
	l.handleUnreportedHeartbeat(n, began)
	l.records.GracePeriod, l.records.Managed = x.Silence, x.Loss.Managed
	n.isSilent, n.lastHeartbeat = true, began
	n.trigger = x.Loss.Trigger
	l.beginSilence(n, n.lastHeartbeat, x.Loss).Read = x.Read
	r := l.lose(n, x.Time, x.Loss, x.Silence)
	l.openGap(r, n, x.Time)
	r.Evidence.Add(evidence.Entry{Kind: evidence.HeartbeatMissed, Time: x.Time, Name: n.name, Duration: x.Silence})
}

// openGap adds a node's silence to an incident.
func (l *nodes) openGap(r *record.Record, n *node, t time.Time) {
	r.HeartbeatLost = true
	r.Open.Nodes[n.name] = n.renewed
	r.Evidence.Add(evidence.Entry{Kind: evidence.LastHeartbeat, Time: n.lastHeartbeat, Name: n.name})
	if n.late.After(n.lastHeartbeat) && r.Kind != record.KindGracePeriod {
		r.Evidence.Add(evidence.Entry{Kind: evidence.HeartbeatLate, Time: n.late, Name: n.name, Duration: min(n.late.Sub(n.lastHeartbeat), l.records.GracePeriod/2)})
	}
	n.silenceSpan = r.Timeline.Begin(incident.TrackHeartbeat, n.name, n.lastHeartbeat)
	l.records.Touch(r, t)
	if r.Kind == record.KindGracePeriod {
		l.records.Timers.Schedule(&n.timer, n.lastHeartbeat.Add(l.intervalWithLostHeartbeat()))
	}
}

func (l *nodes) nodeTurnedNotReady(x transition.NodeReadyChanged) {
	n := l.recordTransition(x.Node, x.Time)
	if x.From != event.StatusTrue && !n.notReady {
		// A new node is starting.
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
			x.Silence = 0 // the node may have sent heartbeats that kubeflap missed
		}
		if x.Time.Sub(n.lastHeartbeat) > record.Quiet && x.Silence > 0 {
			r.Evidence.Add(evidence.Entry{Kind: evidence.LastHeartbeat, Time: x.Time.Add(-x.Silence), Name: n.name})
		}
		r.TurnedUnknown++
	} else {
		r = l.recordOf(n, x.Time, x.Loss, l.records.Undisturbed()+1)
	}
	r.Turned++
	r.Open.Nodes[n.name] = n.renewed
	n.notReadySpan.End(x.Time)
	n.notReadySpan = r.Timeline.Begin(incident.TrackNode, n.name, x.Time)
	r.Evidence.Add(evidence.Entry{Kind: kind, Time: x.Time, Name: n.name, Duration: x.HeartbeatAge()})
	l.records.Touch(r, x.Time)
}

func (l *nodes) nodeTurnedReady(x transition.NodeReadyChanged) {
	n := l.recordTransition(x.Node, x.Time)
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
	n.notReadySpan = n.notReadySpan.End(x.Time)
	l.close(r, n, x.Time)
}

func (l *nodes) nodeReadyMissed(x transition.NodeReadyMissed) {
	n := l.recordTransition(x.Node, x.Time)
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

// beginSilence returns a node's ongoing silence. If there is none, it starts a new silence at the given heartbeat.
func (l *nodes) beginSilence(n *node, heartbeat time.Time, x transition.NodeLoss) *verdict.Silence {
	n.endSilence(heartbeat)
	if n.silence == nil || !n.silence.Ended.IsZero() {
		n.silence = &verdict.Silence{Node: n.name, Began: heartbeat, Announced: x.Announced, AnnouncedAfter: x.AnnouncedAfter, Labels: x.Labels, Unseen: x.Unseen, BeganBlind: x.Blind && x.Last.IsZero(), Relisted: !x.Last.IsZero()}
		l.records.History.Add(n.silence)
		l.records.AddSilence(n.silence)
		if n.setBack.After(heartbeat) {
			n.silence.ClockBack = n.setBackBy
		}
	}
	return n.silence
}

// endSilence ends the node's silence if the heartbeat is later than the start of the silence.
func (n *node) endSilence(heartbeat time.Time) {
	if s := n.silence; s != nil && s.Ended.IsZero() && heartbeat.After(s.Began) {
		s.Ended = heartbeat
	}
}

// close records that a node has recovered, unless it is still silent or still not Ready.
func (l *nodes) close(r *record.Record, n *node, t time.Time) {
	if !n.isSilent && !n.notReady {
		delete(r.Open.Nodes, n.name)
		l.records.Touch(r, t)
	}
}

// sweep forgets nodes without recent transitions. If a node still sends heartbeats, sweep keeps only its entry in the
// map lastTransition.
func (l *nodes) sweep(t time.Time) {
	l.records.Sweep(t)
	l.forgetGone(t)
	for name, heard := range l.lastTransition {
		n := l.troubled[name]
		switch {
		case n != nil && (n.isSilent || n.notReady):
		case heard.Before(t.Add(-nodeMemory)):
			delete(l.lastTransition, name)
			delete(l.troubled, name)
		case n != nil && n.seen.Before(t.Add(-max(nodeMemory, l.records.CommonCauseWindow()))) && (n.record == nil || n.record.Root().Settled()):
			delete(l.troubled, name)
		}
	}
}
