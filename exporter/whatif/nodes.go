package whatif

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// node is a node's state at the current position in the recording.
type node struct {
	name, zone string
	exists     bool
	// last is the time of the last heartbeat that the node controller counts. If this time is unknown, last is the
	// start of the recording, and known is false.
	last  time.Time
	known bool
	// The field saved is the renewTime that the node controller remembers. The field shown is the newest renewTime of
	// the Lease. The field reported is the node's lastHeartbeatTime.
	saved, shown, reported time.Time
	ready                  event.Status
	bootID                 string
	listed                 bool
	// The field open is the current silence if the node became Unknown during it, otherwise nil. The field closed is
	// the silence that ended most recently. The field marked is the newest silence during which the node became
	// Unknown.
	open, closed, marked *silence
}

// end says how a silence ended.
type end uint8

const (
	endHeartbeat end = iota
	endDeleted
	// endOpen means that the recording ended during the silence.
	endOpen
)

// silence is an interval between two heartbeats of a node.
type silence struct {
	node, zone string
	from, to   time.Time
	end        end
	// unsure is set if the recording began during the silence. In this case, from is the start of the recording.
	unsure bool
	// wasUnknown is set if the node was already Unknown when the silence began.
	wasUnknown bool
	// notReady is set if the kubelet had reported Ready=False before the silence. The controller then sets the node to
	// Unknown, but does not change its pods (monitorNodeHealth).
	notReady bool
	// marked is the time at which the recorded controller set the node to Unknown, or zero. back is the time at which
	// the node was Ready again. podsBack is the time at which the last of the node's pods was Ready again.
	marked, back, podsBack time.Time
	// failed is set if the node really failed.
	failed bool
	// blind is set if a watch was broken during the silence. shortest and longest are the bounds on the length of the
	// silence.
	blind             bool
	shortest, longest time.Duration
	newLeader         bool
	// stayed is set if the node was certainly Ready for the whole silence.
	stayed bool
}

func (s *Study) named(name string) *node {
	n := s.nodes[name]
	if n == nil {
		n = &node{name: name, ready: event.StatusUnknown}
		s.nodes[name] = n
	}
	return n
}

// applyLease updates a node from its Lease. The node controller counts a renewal only if the new renewTime is later
// than the one that the controller has saved.
func (s *Study) applyLease(e event.Event, l *event.Lease) {
	n := s.named(l.Name)
	if e.Type == event.Deleted {
		n.shown = time.Time{}
		return
	}
	n.shown = l.RenewTime
	switch {
	case s.gaps.first(e):
		n.saved = l.RenewTime
		s.start(n, e.Seen, l.RenewTime)
	case n.saved.Before(l.RenewTime):
		n.saved = l.RenewTime
		s.beat(n, e.Seen)
	}
}

// start sets the node's last heartbeat from the first list. seen is the time at which the list was received. told is
// the heartbeat time in the list. If told is after seen, or more than usualInterval before it, the time of the last
// heartbeat is unknown, and start uses seen instead.
func (s *Study) start(n *node, seen, told time.Time) {
	age := seen.Sub(told)
	known := age >= 0 && age <= usualInterval
	switch {
	case known && (!n.known || told.After(n.last)):
		n.last, n.known = told, true
	case n.last.IsZero():
		n.last = seen
	}
}

// applyNode updates a node from its Node object. It counts every change of lastHeartbeatTime as a heartbeat, as the
// node controller does in tryUpdateNodeHealth.
func (s *Study) applyNode(e event.Event, o *event.Node) {
	n := s.named(o.Name)
	s.readyKept(e, o.Name, o.Ready)
	if e.Type == event.Deleted {
		if n.exists {
			n.endSilence(s, e.Seen, endDeleted)
			s.zones.remove(n.zone)
		}
		delete(s.nodes, o.Name)
		return
	}
	isNew := !n.exists
	n.exists, n.listed = true, true
	n.zone = o.Labels["topology.kubernetes.io/region"] + "/" + o.Labels["topology.kubernetes.io/zone"]
	s.zones.add(n.zone, n.name)
	if o.Ready == nil {
		return
	}
	switch {
	case isNew && s.gaps.first(e):
		s.start(n, e.Seen, o.Ready.LastHeartbeatTime)
		n.ready = o.Ready.Status
	case isNew:
		n.last, n.known, n.saved, n.ready = e.Seen, true, n.shown, o.Ready.Status
	case !n.reported.Equal(o.Ready.LastHeartbeatTime):
		n.saved = n.shown
		s.beat(n, e.Seen)
	}
	n.reported = o.Ready.LastHeartbeatTime
	s.readyIs(n, e, o.Ready.Status)
	if n.bootID != "" && o.BootID != "" && n.bootID != o.BootID && n.closed != nil && e.Seen.Sub(n.closed.to) < 2*time.Minute {
		n.closed.failed = true
	}
	if o.BootID != "" {
		n.bootID = o.BootID
	}
}

// relisted removes nodes that are missing from a new list, and ends their silences.
func (s *Study) relisted(e event.Event) {
	if e.Kind != event.KindNode {
		return
	}
	for name, n := range s.nodes {
		if n.exists && !n.listed {
			n.endSilence(s, e.Seen, endDeleted)
			s.zones.remove(n.zone)
			s.readyKept(event.Event{Seen: e.Seen, Type: event.Deleted}, name, nil)
			delete(s.nodes, name)
		}
		n.listed = false
	}
}

// beat records a heartbeat at the time t.
func (s *Study) beat(n *node, t time.Time) {
	s.anyBeat(t)
	if n.exists {
		n.endSilence(s, t, endHeartbeat)
	}
	n.last, n.known = t, true
}

// endSilence ends the silence since the last heartbeat. It discards silences that are too short to make the node
// Unknown with any of the settings.
func (n *node) endSilence(s *Study, t time.Time, how end) {
	x := n.open
	if x == nil {
		longEnough := t.Sub(n.last) >= s.least
		if !n.known {
			longEnough = t.Sub(n.last) > usualInterval
		}
		if n.last.IsZero() || !longEnough {
			return
		}
		x = n.begin(s)
	}
	x.to, x.end = t, how
	x.failed = x.failed || how == endDeleted
	n.open, n.closed = nil, x
}

// begin adds the current silence to s.silences.
func (n *node) begin(s *Study) *silence {
	x := &silence{node: n.name, zone: n.zone, from: n.last, unsure: !n.known, wasUnknown: n.ready == event.StatusUnknown, notReady: n.ready == event.StatusFalse}
	s.silences = append(s.silences, x)
	n.open = x
	return x
}

// If a node becomes Unknown within sameTime after a heartbeat, the controller had not seen this heartbeat yet.
const sameTime = 2 * time.Second

// readyIs records a change of the Ready condition. Only the node controller sets the status Unknown, and only the
// kubelet sets the status True or False.
func (s *Study) readyIs(n *node, e event.Event, status event.Status) {
	was, t := n.ready, e.Seen
	switch {
	case status == was:
		return
	case status == event.StatusUnknown:
		x := n.open
		if n.closed != nil && n.closed.marked.IsZero() && t.Sub(n.closed.to) < sameTime {
			x = n.closed
		}
		if x == nil {
			x = n.begin(s)
		}
		x.marked, n.marked = t, x
		if n.known && e.Type == event.Modified && s.gaps.nodesSeenUntil(t).Equal(t) { // the time at which the node became Unknown is certain
			s.grace.Sample(t.Sub(x.from), t, 10*time.Second)
		}
	case was == event.StatusUnknown:
		if x := n.marked; x != nil && x.back.IsZero() {
			x.back = t
		}
	}
	n.ready = status
}

// markedAt returns the silence that explains why the node was Unknown at the time t in the recording, or nil.
func (s *Study) markedAt(node string, t time.Time) *silence {
	for _, x := range s.silences {
		if x.node == node && !x.wasUnknown && !x.marked.IsZero() && !x.marked.After(t) && (x.back.IsZero() || !x.back.Add(slow).Before(t)) {
			return x
		}
	}
	return nil
}

// After a node recovers, its pods become Ready one after another. podsReturn is the maximum time from one pod to the
// next.
const podsReturn = 30 * time.Second

// podIsBack records that the kubelet has overwritten the Ready=False that the node controller had set on a pod.
func (n *node) podIsBack(t time.Time) {
	if x := n.marked; x != nil && (x.podsBack.IsZero() || t.Sub(x.podsBack) < podsReturn) {
		x.podsBack = t
	}
}
