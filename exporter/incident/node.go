package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/track"
)

const (
	// normalInterval is the longest interval of a kubelet that is in time: it
	// renews its Lease every 10 s, with a jitter of 4 % and the time of the request.
	normalInterval = 11500 * time.Millisecond
	// oneBeatLost is an interval in which at most one heartbeat was lost.
	oneBeatLost = 20 * time.Second
	// fewest is how many nodes must be lost together to blame what they have in common.
	fewest = 3
	// usualGrace is taken while the grace period is not known.
	usualGrace = 50 * time.Second
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

func (l *Log) observeNode(x track.Finding) {
	l.heard[x.Node] = x.Time
	if x.Kind == track.HeartbeatSeen {
		if n := l.nodes[x.Node]; n != nil {
			l.heartbeat(n, x)
		}
		return
	}
	n := l.nodeNamed(x.Node)
	n.told = x.Time
	switch x.Kind {
	case track.HeartbeatLate:
		l.grace = 2 * x.Duration
		n.late = x.Time
	case track.HeartbeatMissed:
		l.grace = x.Duration
		l.missedHeartbeat(n, x)
	case track.NodeReadyChanged:
		if x.To == "true" {
			l.turnedReady(n, x)
		} else {
			l.turnedNotReady(n, x)
		}
	case track.NodeTurnedUnseen:
		l.turnedUnseen(n, x)
	case track.NodeRemoved:
		l.nodeRemoved(n, x)
	}
}

func (l *Log) heartbeat(n *node, x track.Finding) {
	r := n.live(x.Time)
	if r == nil {
		n.missed = false
		return
	}
	if n.missed && r.story == storyGrace && x.Duration > oneBeatLost {
		r = l.outgrow(n, n.gapFrom.Add(oneBeatLost))
	}
	r.longest = max(r.longest, x.Duration)
	if !n.missed {
		return
	}
	n.missed = false
	r.add(fact{at: l.moment(x.Time), stage: stageHeartbeat, first: n.name, longest: x.Duration})
	l.end(&n.gap, x.Time)
	l.closeNode(r, n, x.Time)
}

func (l *Log) missedHeartbeat(n *node, x track.Finding) {
	if n.missed {
		// The heartbeat between was none whose interval is known.
		l.end(&n.gap, x.Time.Add(-x.Duration))
	}
	n.missed, n.gapFrom = true, x.Time.Add(-x.Duration)
	n.trigger = x.Trigger
	r := l.lose(n, x, x.Duration)
	l.openGap(r, n, x.Time)
	r.add(fact{at: l.moment(x.Time), stage: stageMissed, first: n.name, longest: x.Duration})
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

func (l *Log) turnedNotReady(n *node, x track.Finding) {
	unknown := x.To == "unknown"
	if x.From != "true" && !n.notReady {
		// A new node that starts.
		return
	}
	n.notReady = true
	var r *record
	if unknown {
		r = l.lose(n, x, x.Heartbeat)
		r.unknown = true
	} else {
		r = l.follow(n, x, normalInterval+1)
	}
	if unknown && x.Time.Sub(n.gapFrom) > quiet && x.Heartbeat > 0 {
		r.add(fact{at: l.moment(x.Time.Add(-x.Heartbeat)), stage: stageLast, first: n.name})
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
	r.add(fact{at: l.moment(x.Time), stage: stage, first: n.name, longest: x.Heartbeat})
	l.touched(r, x.Time)
}

func (l *Log) turnedReady(n *node, x track.Finding) {
	r := n.live(x.Time)
	if !n.notReady || r == nil {
		n.notReady = false
		return
	}
	n.notReady = false
	r.add(fact{at: l.moment(x.Time), stage: stageReady, first: n.name, longest: x.Duration})
	l.end(&n.unready, x.Time)
	l.closeNode(r, n, x.Time)
}

func (l *Log) turnedUnseen(n *node, x track.Finding) {
	if x.From != "true" {
		return
	}
	r := l.lose(n, x, 0)
	r.unknown = true
	r.turned++
	r.turnedUnknown++
	r.add(fact{at: l.moment(x.Time), stage: stageUnseen, first: n.name})
	l.touched(r, x.Time)
}

func (l *Log) nodeRemoved(n *node, x track.Finding) {
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
