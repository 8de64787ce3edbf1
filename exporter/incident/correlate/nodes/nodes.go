// Package nodes decides which losses of nodes belong to the same incident.
package nodes

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// markDelay is how long after the end of a silence the node controller may still set the node to Unknown. The
	// controller sees a heartbeat up to one monitor period (5 s) late, and its write may be delayed.
	markDelay = 15 * time.Second
	// nodeMemory is the minimum time for which a node is remembered after its last transition.
	nodeMemory = 10 * time.Minute
)

// Nodes assigns lost and unready nodes to incidents.
type Nodes struct {
	*ledger.Ledger
	// The field known is the number of Nodes, or 0 if kubeflap cannot see Nodes.
	known int
	// The map deleted holds the deletion times of recently deleted Nodes that have not been created again.
	deleted map[string]time.Time
	// The map troubled holds the nodes that recently had transitions other than heartbeats.
	troubled map[string]*node
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
	// The field setBack is the last step back of the node's clock. Its time is zero if there was none. InDoubt is 0 once it
	// explains a silence.
	setBack transition.ClockSetBack
	// notReady is set while the node is not Ready, unless it has never been Ready. notReadySince is when this began.
	notReady      bool
	notReadySince time.Time
	// The field said holds what the kubelet says in the current period of Ready=False, or is nil.
	said   *incident.Said
	record *ledger.Record
	// The field silence is the node's newest silence, which may be ongoing. It is nil if there is none.
	silence *silence.Silence
	timer   ledger.Timer
}

// New returns Nodes without any node. Their incidents are in the given ledger.
func New(l *ledger.Ledger) *Nodes {
	all := &Nodes{Ledger: l, deleted: map[string]time.Time{}, troubled: map[string]*node{}}
	l.InTurn = func(shared silence.List, t time.Time) { all.merge(shared, incident.ControlPlaneSubject(), t) }
	return all
}

// entry returns an evidence entry about the node.
func (n *node) entry(kind incident.EntryKind, t time.Time, lasted time.Duration) incident.Entry {
	return incident.Entry{Kind: kind, Time: t, Name: n.name, Duration: lasted}
}

// count returns the number of nodes in the cluster. If kubeflap cannot see Nodes, it counts the troubled ones.
func (l *Nodes) count() int { return cmp.Or(l.known, len(l.troubled)) }

// named returns the node with the given name, and adds it if it is new.
func (l *Nodes) named(name string) *node {
	n := l.troubled[name]
	if n == nil {
		n = &node{name: name}
		n.timer = ledger.NewTimer("node/"+name, func(t time.Time) { l.handleTimer(n, t) })
		l.troubled[name] = n
	}
	return n
}

// recordTransition records a transition other than a heartbeat, and returns its node.
func (l *Nodes) recordTransition(name string, t time.Time) *node {
	delete(l.deleted, name)
	n := l.named(name)
	n.seen = t
	return n
}

func (l *Nodes) nodeTurnedNotReady(x transition.NodeReadyChanged) {
	n := l.recordTransition(x.Node, x.Time)
	if x.From != event.StatusTrue && !n.notReady {
		// A new node is starting.
		return
	}
	if !n.notReady {
		n.notReady, n.notReadySince = true, x.Time
	}
	var r *ledger.Record
	kind := incident.NodeNotReady
	if x.To == event.StatusUnknown {
		kind = incident.NodeUnknown
		n.said.End(x.Time)
		r = n.turnedUnknown(l, &x)
	} else {
		r = n.recordOfReport(l, x.Time, x.Loss.Trigger)
		n.said = &incident.Said{First: x.Says, Last: x.Says, Since: x.Time, Returned: x.From == event.StatusUnknown}
		r.KubeletSaid(n.said)
	}
	r.Turned++
	r.Fails(incident.NotReady(n.name), x.Time)
	e := n.entry(kind, x.Time, x.HeartbeatAge())
	if kind == incident.NodeNotReady && x.Says != (event.Words{}) {
		e.Said = n.said
	}
	l.Note(r, e)
}

// says keeps the kubelet's newest words. The node's incident and its evidence share them.
func (n *node) says(x transition.NotReadyReason) {
	if n.said == nil {
		n.said = &incident.Said{First: x.Says, Since: x.Time}
	}
	n.said.Last = x.Says
}

// hasProblem adds a condition that turned True to the evidence of the node's incident.
func (n *node) hasProblem(x transition.NodeProblem) {
	r := n.current(x.Time)
	if r == nil || !n.notReady {
		return
	}
	e := n.entry(incident.NodeProblem, x.Time, 0)
	e.Said = &incident.Said{First: x.Words(), Last: x.Words()}
	r.Evidence.Add(e)
	r.AddProblem(x.Condition)
}

func (n *node) turnedUnknown(l *Nodes, x *transition.NodeReadyChanged) *ledger.Record {
	s := n.silence
	if s == nil || !s.Ended.IsZero() && x.Time.Sub(s.Ended) > markDelay {
		s = n.beginSilence(l.Ledger, x.Time.Add(-x.Silence), x.Loss)
		s.Blind = x.Loss.Blind
	}
	s.Marked, s.MarkedAt, s.MarkedAge, s.MarkedInTime, s.Guessed = true, x.Time, x.Loss.MarkedAge, x.Loss.InTime(), x.Loss.Guessed
	s.ClockBehind = x.Loss.ClockBehind
	r := l.lose(n, x.Time, x.Loss, x.Silence)
	r.HeartbeatLost = true
	if x.Loss.Blind {
		x.Silence = 0 // the node may have sent heartbeats that kubeflap missed
	}
	if x.Time.Sub(n.lastHeartbeat) > ledger.Quiet && x.Silence > 0 {
		r.Evidence.Add(n.entry(incident.LastHeartbeat, x.Time.Add(-x.Silence), 0))
	}
	r.TurnedUnknown++
	return r
}

func (l *Nodes) nodeTurnedReady(x transition.NodeReadyChanged) {
	n := l.recordTransition(x.Node, x.Time)
	r, s := n.current(x.Time), n.silence
	if s != nil && s.Unseen {
		n.endSilence(x.Time)
	}
	was := n.notReady
	n.said.End(x.Time)
	n.notReady, n.said = false, nil
	if !was || r == nil {
		return
	}
	lasted := max(x.Lasted, x.Time.Sub(n.notReadySince)) // Ready may have been False, and then Unknown
	if s != nil && !s.Found.Marked.IsZero() && !x.Complete {
		lasted = max(lasted, x.Time.Sub(s.Found.Marked))
	}
	r.Evidence.Add(n.entry(incident.NodeReady, x.Time, lasted))
	n.recovers(l.Ledger, r, incident.NotReady(n.name), x.Time)
}

// nodeReadyMissed handles a node that turned Unknown and then True while the watch was broken.
func (l *Nodes) nodeReadyMissed(x transition.NodeReadyMissed) {
	n := l.recordTransition(x.Node, x.Time)
	if x.Status != event.StatusTrue {
		return
	}
	before := n.silence
	s := n.beginSilence(l.Ledger, x.Time, transition.NodeLoss{})
	if s.Ended, s.Blind = x.Time, true; before != nil && before.EndedBlind {
		s.ClockBack = before.ClockBack // the silence that lasted when the watch broke explains why
	}
	r := l.lose(n, x.Time, transition.NodeLoss{Trigger: x.Trigger}, 0)
	r.HeartbeatLost, r.NodeRecovered = true, x.Time
	r.Turned++
	r.TurnedUnknown++
	r.Failed(x.Time)
	l.Note(r, n.entry(incident.NodeWasUnknown, x.Time, 0))
}

// beginSilence returns a node's ongoing silence. If there is none, it starts a new silence at the given heartbeat.
func (n *node) beginSilence(l *ledger.Ledger, heartbeat time.Time, x transition.NodeLoss) *silence.Silence {
	n.endSilence(heartbeat)
	if n.silence == nil || !n.silence.Ended.IsZero() {
		n.silence = &silence.Silence{Node: n.name, Began: heartbeat, NodeFacts: x.NodeFacts, BeganBlind: x.Blind && x.Last.IsZero(), Relisted: !x.Last.IsZero()}
		l.Silences.Add(n.silence)
		if n.setBack.Time.Add(n.setBack.InDoubt).After(heartbeat) {
			n.silence.ClockBack, n.setBack.InDoubt = n.setBack.By, 0
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

// recovers records that a node sends heartbeats again, or is Ready again.
func (n *node) recovers(l *ledger.Ledger, r *ledger.Record, from incident.Open, t time.Time) {
	if r.Recovers(from, t); !n.isSilent && !n.notReady {
		l.Touch(r, t)
	}
}

// isOpenIn reports whether the node has not recovered from the incident.
func (n *node) isOpenIn(r *ledger.Record) bool {
	return r.Open[incident.Silent(n.name)] != nil || r.Open[incident.NotReady(n.name)] != nil
}
