package incident

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// live is the incident that the node is in, nil if there is none by t.
func (n *node) live(t time.Time) *record {
	if n.record == nil {
		return nil
	}
	n.record = n.record.root()
	if n.record.quietBy(t) {
		n.record, n.gap, n.unready = nil, nil, nil
	}
	return n.record
}

// lose notes that a node was lost after a gap between heartbeats, and returns
// the incident that it belongs to, as far as is known by now.
func (l *Log) lose(n *node, t time.Time, x transition.NodeLoss, gap time.Duration) *record {
	if !x.Renewed.IsZero() {
		n.renewed = x.Renewed
	}
	r := l.follow(n, t, x, gap)
	l.mark(n, t)
	if r.story == storyNode {
		l.promote(t)
		r = r.root()
	}
	return r
}

// follow returns the incident of a node: the one that it is in, that of all
// nodes if there is one and it is new, or its own.
func (l *Log) follow(n *node, t time.Time, x transition.NodeLoss, gap time.Duration) *record {
	if r := n.live(t); r != nil {
		return r
	}
	s := subject{story: storyNode, name: n.name, cause: cause.NodeHeartbeatLost}
	together := subject{story: storyControlPlane, name: "control plane", cause: cause.NodeHeartbeatLost}
	switch {
	case l.graceTooShort() && gap <= normalInterval:
		s = subject{story: storyGrace, name: "kube-controller-manager", cause: cause.NodeHeartbeatLost}
		x.Trigger = triggerOfMany(x.Renewed)
	case gap > 0 && l.find(together.key(), t) != nil && l.lostLately(t):
		s = together
	}
	n.record = l.begin(s, t, x.Trigger)
	n.record.addNode(n.name)
	n.record.nodesKnown = max(n.record.nodesKnown, len(l.heard))
	return n.record
}

// graceTooShort: a kubelet that is in time misses the grace period.
func (l *Log) graceTooShort() bool { return l.grace > 0 && l.grace <= normalInterval }

// together is within what time nodes must be lost to be lost together: their
// heartbeats are spread over an interval, which the grace period is longer than.
func (l *Log) together() time.Duration {
	if l.grace == 0 {
		return advice.DefaultGracePeriod
	}
	return l.grace
}

// lostLately: the last node was lost so short a time ago that the next one has
// its loss from the same.
func (l *Log) lostLately(t time.Time) bool {
	n := len(l.marks)
	return n > 0 && t.Sub(l.marks[n-1].at) <= max(l.together(), quiet)
}

func (l *Log) mark(n *node, t time.Time) {
	if !n.marked.IsZero() && t.Sub(n.marked) <= l.together() {
		return
	}
	n.marked = t
	l.marks = append(l.marks, mark{t, n})
	old := slices.IndexFunc(l.marks, func(m mark) bool { return t.Sub(m.at) <= l.together() })
	if old > 0 {
		l.marks = slices.Delete(l.marks, 0, old)
	}
}

// promote makes one incident of the control plane out of those of single nodes, if
// many were lost together: what they have in common is etcd, the API server and
// the way to it.
func (l *Log) promote(t time.Time) {
	if len(l.marks) < advice.FewestToCompare || 2*len(l.marks) < len(l.heard) {
		return
	}
	s := subject{story: storyControlPlane, name: "control plane", cause: cause.NodeHeartbeatLost}
	var some []*record
	renewed := l.marks[0].node.renewed
	for _, m := range l.marks {
		if m.node.renewed.Before(renewed) {
			renewed = m.node.renewed
		}
		if r := m.node.live(t); r != nil && r.story == storyNode && !slices.Contains(some, r) {
			some = append(some, r)
		}
	}
	if len(some) == 0 {
		return
	}
	all := l.begin(s, t, triggerOfMany(renewed))
	for _, r := range some {
		l.merge(r, all)
	}
	all.nodesKnown = max(all.nodesKnown, len(l.heard))
	l.makeRoom()
}

// manyTogether is how exactly it matters when nodes were last heard of that are lost together.
const manyTogether = 10 * time.Minute

// triggerOfMany is the same whichever of the nodes was found lost first, which depends on whose watch was faster: they sent their last
// heartbeats within an interval.
func triggerOfMany(renewed time.Time) uint64 {
	if renewed.IsZero() {
		return 0
	}
	return uint64(renewed.Truncate(manyTogether).Unix())
}

// outgrow takes a node out of the incident of a grace period that is too short:
// more than one heartbeat is lost, so the node is lost in earnest.
func (l *Log) outgrow(n *node, t time.Time) *record {
	r := n.live(t)
	if r == nil || r.story != storyGrace || !n.missed {
		return r
	}
	delete(r.openNodes, n.name)
	l.end(&n.gap, t)
	l.end(&n.unready, t)
	l.touched(r, t)
	n.record, n.marked = nil, time.Time{}
	own := l.lose(n, t, transition.NodeLoss{Trigger: n.trigger, Renewed: n.renewed}, t.Sub(n.gapFrom))
	l.openGap(own, n, t)
	own.add(fact{at: l.moment(t), stage: stageMissed, first: n.name, longest: t.Sub(n.gapFrom)})
	if n.notReady {
		n.unready = l.span(own, LaneNode, n.name, t)
	}
	return own
}
