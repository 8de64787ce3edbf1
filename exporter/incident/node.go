package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// normalInterval is the longest interval of a kubelet that is in time: it
	// renews its Lease every 10 s, with a jitter of 4 % and the time of the request.
	normalInterval = 11500 * time.Millisecond
	// oneBeatLost is an interval in which at most one heartbeat was lost.
	oneBeatLost = 20 * time.Second
)

// node is what the log remembers of a node, but of one of which nothing was told lately than that its heartbeats come.
type node struct {
	name string
	// told is when something else was last told of it, late when it last was late.
	told, late time.Time
	// missed: its heartbeat is out since gapFrom.
	missed  bool
	gapFrom time.Time
	// trigger is that of its last missed heartbeat, renewed is when that was sent.
	trigger uint64
	renewed time.Time
	// notReady: its Ready is not True, after it was.
	notReady bool
	record   *record
	// gap and unready are the running spans in record.
	gap, unready *stretch
	// marked is when it was last counted as lost.
	marked time.Time
	timer  timer
}

// mark is a node that was lost.
type mark struct {
	at   time.Time
	node *node
}

func (l *Log) nodeNamed(name string) *node {
	n := l.nodes[name]
	if n == nil {
		n = &node{name: name}
		n.timer = timer{name: "node/" + name, look: func(t time.Time) { l.lookAtNode(n, t) }}
		l.nodes[name] = n
		if _, known := l.heard[name]; !known {
			// Its pods tell of it before it does.
			l.heard[name] = time.Time{}
		}
	}
	return n
}

// forgetNodes forgets the nodes that are not heard of any more, and what there was to tell of the others.
func (l *Log) forgetNodes(t time.Time) {
	for name, heard := range l.heard {
		n := l.nodes[name]
		switch {
		case n != nil && (n.missed || n.notReady):
		case heard.Before(t.Add(-nodeMemory)):
			delete(l.heard, name)
			delete(l.nodes, name)
		case n != nil && n.told.Before(t.Add(-max(nodeMemory, l.together()))) && (n.record == nil || n.record.root().settled):
			delete(l.nodes, name)
		}
	}
}

// nodeHeard is a node that was just heard of.
func (l *Log) nodeHeard(name string, t time.Time) *node {
	l.heard[name] = t
	n := l.nodeNamed(name)
	n.told = t
	return n
}

func (l *Log) lateHeartbeat(n *node, x transition.HeartbeatLate) {
	l.grace = 2 * x.Silence
	n.late = x.Time
}

func (l *Log) heartbeat(n *node, x transition.HeartbeatSeen) {
	r := n.live(x.Time)
	if r == nil {
		n.missed = false
		return
	}
	if n.missed && r.story == storyGrace && x.Interval > oneBeatLost {
		r = l.outgrow(n, n.gapFrom.Add(oneBeatLost))
	}
	r.longest = max(r.longest, x.Interval)
	if !n.missed {
		return
	}
	n.missed = false
	r.add(fact{at: l.moment(x.Time), stage: stageHeartbeat, first: n.name, longest: x.Interval})
	l.end(&n.gap, x.Time)
	l.closeNode(r, n, x.Time)
}

func (l *Log) missedHeartbeat(n *node, x transition.HeartbeatMissed) {
	if n.missed {
		// The heartbeat between was none whose interval is known.
		l.end(&n.gap, x.Time.Add(-x.Silence))
	}
	l.grace = x.Silence
	n.missed, n.gapFrom = true, x.Time.Add(-x.Silence)
	n.trigger = x.Loss.Trigger
	r := l.lose(n, x.Time, x.Loss, x.Silence)
	l.openGap(r, n, x.Time)
	r.add(fact{at: l.moment(x.Time), stage: stageMissed, first: n.name, longest: x.Silence})
}

// openGap tells of a node's heartbeat that is out.
func (l *Log) openGap(r *record, n *node, t time.Time) {
	r.unknown = true
	r.openNodes[n.name] = struct{}{}
	r.add(fact{at: l.moment(n.gapFrom), stage: stageLast, first: n.name})
	if n.late.After(n.gapFrom) && r.story != storyGrace {
		r.add(fact{at: l.moment(n.late), stage: stageLate, first: n.name, longest: n.late.Sub(n.gapFrom)})
	}
	n.gap = l.span(r, LaneHeartbeat, n.name, n.gapFrom)
	l.touched(r, t)
	if r.story == storyGrace {
		l.timers.wake(&n.timer, n.gapFrom.Add(oneBeatLost))
	}
}

func (l *Log) turnedNotReady(n *node, x transition.NodeReadyChanged) {
	unknown := x.To == event.StatusUnknown
	if x.From != event.StatusTrue && !n.notReady {
		// A new node that starts.
		return
	}
	n.notReady = true
	var r *record
	if unknown {
		r = l.lose(n, x.Time, x.Loss, x.Silence)
		r.unknown = true
	} else {
		r = l.follow(n, x.Time, x.Loss, normalInterval+1)
	}
	if unknown && x.Time.Sub(n.gapFrom) > quiet && x.Silence > 0 {
		r.add(fact{at: l.moment(x.Time.Add(-x.Silence)), stage: stageLast, first: n.name})
	}
	r.turned++
	r.openNodes[n.name] = struct{}{}
	l.end(&n.unready, x.Time)
	n.unready = l.span(r, LaneNode, n.name, x.Time)
	stage := stageNotReady
	if unknown {
		stage = stageUnknown
		r.turnedUnknown++
	}
	r.add(fact{at: l.moment(x.Time), stage: stage, first: n.name, longest: x.Silence})
	l.touched(r, x.Time)
}

func (l *Log) turnedReady(n *node, x transition.NodeReadyChanged) {
	r := n.live(x.Time)
	if !n.notReady || r == nil {
		n.notReady = false
		return
	}
	n.notReady = false
	r.add(fact{at: l.moment(x.Time), stage: stageReady, first: n.name, longest: x.Lasted})
	l.end(&n.unready, x.Time)
	l.closeNode(r, n, x.Time)
}

func (l *Log) turnedUnseen(n *node, x transition.NodeReadyMissed) {
	if x.Status != event.StatusTrue {
		return
	}
	r := l.lose(n, x.Time, transition.NodeLoss{Trigger: x.Trigger}, 0)
	r.unknown = true
	r.turned++
	r.turnedUnknown++
	r.add(fact{at: l.moment(x.Time), stage: stageUnseen, first: n.name})
	l.touched(r, x.Time)
}

func (l *Log) nodeRemoved(n *node, x transition.NodeRemoved) {
	delete(l.heard, n.name)
	delete(l.nodes, n.name)
	r := n.live(x.Time)
	if r == nil || !n.missed && !n.notReady {
		return
	}
	n.missed, n.notReady = false, false
	l.end(&n.gap, x.Time)
	l.end(&n.unready, x.Time)
	r.add(fact{at: l.moment(x.Time), stage: stageNodeRemoved, first: n.name})
	l.closeNode(r, n, x.Time)
}

func (l *Log) closeNode(r *record, n *node, t time.Time) {
	if !n.missed && !n.notReady {
		delete(r.openNodes, n.name)
		l.touched(r, t)
	}
}
