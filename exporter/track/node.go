package track

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Reasons that the node lifecycle controller gives when it writes Ready=Unknown (tryUpdateNodeHealth).
const (
	reasonUnknown      = "NodeStatusUnknown"
	reasonNeverUpdated = "NodeStatusNeverUpdated"
)

// node is a node and its Lease, which may come in either order.
type node struct {
	name string
	uid  event.UID
	// exists: the Node was seen; there may be a Lease alone.
	exists, hasLease            bool
	generation, leaseGeneration uint32
	created                     time.Time
	heartbeat                   heartbeat

	// restartsFlap: its kubelet is of a version whose restart flaps its pods;
	// kubeletStarted is when it seems to have started last, returned when Ready last turned from Unknown to True.
	restartsFlap             bool
	kubeletStarted, returned time.Time

	// posted: there is a Ready condition. everReady: it has been True since the node was seen.
	posted    bool
	everReady bool
	ready     event.Status
	// transition is Ready's lastTransitionTime, saidFalse the one with which it was False last.
	transition, saidFalse time.Time
	// since is from when on Ready is known to be as it is; sinceSeen says that
	// kubeflap saw it turn.
	since     time.Time
	sinceSeen bool
	// lastFalse and lastUnknown are when Ready last turned away from these.
	lastFalse, lastUnknown time.Time
	transitions            [3]uint64
	// unready is the time not Ready of the finished stays in a status.
	unready time.Duration
}

func (f *Tracker) nodeNamed(name string) *node {
	n := f.nodes[name]
	if n == nil {
		n = &node{name: name}
		f.nodes[name], f.order.nodes = n, nil
	}
	return n
}

func (f *Tracker) applyNode(e event.Event, o *event.Node) {
	if e.Type == event.Deleted {
		if n := f.nodes[o.Name]; n != nil && n.uid == o.UID {
			f.forgetNode(n)
		}
		return
	}
	n := f.nodeNamed(o.Name)
	if n.exists && n.uid != o.UID {
		// Deleted and created again while nobody looked.
		f.forgetNode(n)
		n = f.nodeNamed(o.Name)
	}
	n.generation = f.generation(e)
	n.restartsFlap = restartsFlap(o.KubeletVersion)
	if !n.exists {
		f.firstSight(n, e, o)
		return
	}
	f.statusHeartbeat(n, e, o.Ready)
	f.applyReady(n, e, o.Ready)
}

func (f *Tracker) firstSight(n *node, e event.Event, o *event.Node) {
	n.uid, n.exists, n.created = o.UID, true, e.Seen
	n.since, n.sinceSeen = e.Seen, e.Type == event.Added
	if o.Ready != nil {
		n.posted, n.ready, n.transition = true, o.Ready.Status, o.Ready.Transition
		n.everReady = n.ready == event.StatusTrue
		n.saidFalse = o.Ready.Transition
	}
	f.firstHeartbeat(n, e, o.Ready)
}

// applyReady folds the Ready condition. An absent one is unknown.
func (f *Tracker) applyReady(n *node, e event.Event, ready *event.Condition) {
	var c event.Condition
	if ready != nil {
		c = *ready
	}
	if posted := ready != nil; posted != n.posted {
		// The node controller begins anew with the node, and forgets the Lease it holds (tryUpdateNodeHealth).
		n.posted = posted
		n.heartbeat.saved = n.heartbeat.shown
	}
	moved := !n.transition.IsZero() && !c.Transition.IsZero() && !n.transition.Equal(c.Transition)
	n.transition = c.Transition
	if c.Status == event.StatusFalse {
		n.saidFalse = c.Transition
	}
	switch {
	case c.Status != n.ready:
		if c.Reason == reasonUnknown {
			f.takenForLost(n, e)
		}
		live := e.Type == event.Modified && f.watches[event.KindNode].live(e.Seen)
		f.turn(n, c.Status, e.Seen, live)
		n.sinceSeen = live
	case moved && e.Type == event.Listed:
		f.turnedUnseen(n, e.Seen)
	}
}

// turn folds a change of Ready; live says that it is seen when it happens. A node's
// start is no episode: it is not Ready until it first is.
func (f *Tracker) turn(n *node, to event.Status, t time.Time, live bool) {
	finding := Finding{
		Time: t, Kind: NodeReadyChanged, Node: n.name, From: n.ready.String(), To: to.String(),
		Complete: n.sinceSeen && live && n.everReady, Duration: t.Sub(n.since),
	}
	n.everReady = n.everReady || to == event.StatusTrue
	if !n.heartbeat.last.IsZero() {
		finding.Heartbeat = t.Sub(n.heartbeat.last)
	}
	if n.ready != event.StatusTrue {
		n.unready += t.Sub(n.since)
	}
	if n.ready == event.StatusUnknown && to == event.StatusTrue {
		n.returned = t
	}
	switch n.ready {
	case event.StatusFalse:
		n.lastFalse = t
	case event.StatusUnknown:
		n.lastUnknown = t
	}
	n.ready, n.since, n.sinceSeen = to, t, true
	n.transitions[to]++
	switch to {
	case event.StatusFalse:
		finding.Trigger = n.trigger(CauseNodeNotReady)
	case event.StatusUnknown:
		finding.Trigger, finding.Renewed = n.trigger(CauseNodeHeartbeatLost), n.heartbeat.shown
	}
	f.report(finding)
	f.resolveTurnsOf(n)
}

// turnedUnseen counts what a relist proves: the status is as it was, but
// lastTransitionTime moved, so it left and came back while the watch was broken. For nodes that
// time is sound: kubelet and node controller set it on a change of the status and only then.
// Where it was in between is not known: from Ready it is taken to be Unknown, else True.
func (f *Tracker) turnedUnseen(n *node, t time.Time) {
	between := event.StatusTrue
	if n.ready == event.StatusTrue {
		between = event.StatusUnknown
	}
	n.transitions[between]++
	n.transitions[n.ready]++
	// How long it was away is not known either, nor when the present stay began.
	if n.ready != event.StatusTrue {
		n.unready += t.Sub(n.since)
	}
	n.since, n.sinceSeen = t, false
	f.report(Finding{
		Time: t, Kind: NodeTurnedUnseen, Node: n.name, From: n.ready.String(), To: between.String(),
		Trigger: hashTrigger(n.uid, n.transition.UTC().Format(time.RFC3339Nano)),
	})
}

// takenForLost folds the node controller's Unknown. With that write it takes over
// the newest Lease (tryUpdateNodeHealth). And it measures the grace period: that
// lies between the last heartbeat and the Unknown, the controller's slack included.
func (f *Tracker) takenForLost(n *node, e event.Event) {
	h := &n.heartbeat
	h.saved = h.shown
	f.reportLate(f.lateOf(nil, n, e.Seen)) // two have found it silent
	seenLive := e.Type == event.Modified && f.watches[event.KindNode].live(e.Seen) && !f.blindToHeartbeats()
	if !seenLive || h.guessed || h.last.IsZero() || h.last.Before(f.beats.measured) {
		return
	}
	f.grace.sample(e.Seen.Sub(h.last), e.Seen)
	f.graceChanged()
}

// forgetNode drops a Node and all that was counted of it; its Lease stays if there is one.
func (f *Tracker) forgetNode(n *node) {
	f.report(Finding{Time: f.now, Kind: NodeRemoved, Node: n.name})
	f.beats.marks.forget(n)
	lease := heartbeat{saved: n.heartbeat.saved, shown: n.heartbeat.shown}
	*n = node{name: n.name, hasLease: n.hasLease, leaseGeneration: n.leaseGeneration, heartbeat: lease}
	f.forgetNodeIfGone(n)
}

func (f *Tracker) forgetNodeIfGone(n *node) {
	if !n.exists && !n.hasLease {
		delete(f.nodes, n.name)
		f.order.nodes = nil
	}
}

func (f *Tracker) sweepNodes(e event.Event) {
	var gone []*node
	for _, n := range f.nodes {
		if n.exists && n.generation != f.generation(e) {
			gone = append(gone, n)
		}
	}
	slices.SortFunc(gone, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	for _, n := range gone {
		f.forgetNode(n)
	}
}
