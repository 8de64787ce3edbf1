// Package nodes tracks the heartbeats and Ready conditions of a cluster's nodes, and the node monitor grace period.
package nodes

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/departure"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Nodes holds a cluster's nodes.
type Nodes struct {
	heartbeats
	// `pods` counts the running pods of each node, except DaemonSet pods and static pods.
	pods map[string]int
	// `cordoned` says since when earlier processes saw Nodes cordoned.
	cordoned map[event.UID]departure.Past
	// initialCheckDone is set after kubeflap has searched the first lists for lost nodes.
	initialCheckDone bool
}

// node combines a Node and its Lease. Either of them can arrive first.
type node struct {
	name string
	uid  event.UID
	// exists reports whether kubeflap has seen the Node. A Lease can exist without its Node.
	exists, hasLease bool
	// `created` is the time at which kubeflap first saw the Node.
	created   time.Time
	heartbeat heartbeat
	condition
	period period
	Counters

	// `boot` is a hash of the bootID, or 0 if the Node never reported it.
	boot    uint64
	kubelet kubelet
	// `troubled` is the last time at which a heartbeat became late or the node became not Ready.
	troubled time.Time
	// `departure` is kept for departedFor after the deletion of the Node at `deleted`.
	departure departure.Departure
	deleted   time.Time
	labels    []label
}

// New returns an empty Nodes.
func New(controlPlane *controlplane.ControlPlane, watches *watches.Watches, found *transition.List) *Nodes {
	return &Nodes{
		pods: map[string]int{},
		heartbeats: heartbeats{health: health{
			sight: sight{watches: watches}, found: found, nodes: map[string]*node{},
			controlPlane: controlPlane, grace: &controlPlane.Grace, reads: &controlPlane.Reads,
		}},
	}
}

func (x *Nodes) getOrCreate(name string) *node {
	n := x.nodes[name]
	if n == nil {
		n = &node{name: name}
		x.nodes[name], x.sorted = n, nil
	}
	return n
}

// Apply handles a Node event. `turned` is true if the status of the Ready condition changed.
func (x *Nodes) Apply(e event.Event, o *event.Node) (turned bool) {
	if e.Type == event.Deleted {
		if n := x.nodes[o.Name]; n != nil && n.uid == o.UID {
			x.forget(n)
		}
		return false
	}
	n := x.getOrCreate(o.Name)
	x.noteMachine(n, e, o)
	x.noteLabels(n, o)
	if n.exists {
		n.departure.Note(e, o, false, n.troubled, n.ready == event.StatusTrue)
		x.statusHeartbeat(n, e, o.Ready)
		another := n.noteReason(o)
		turned = x.applyReady(n, e, o.Ready)
		x.reportReasons(n, e.Seen, o, another && !turned)
		return turned
	}
	n.uid, n.exists, n.created, n.departure = o.UID, true, e.Seen, departure.Departure{}
	n.departure.SetPods(x.pods[o.Name], false, e.Seen)
	n.condition = firstCondition(e, o, x.watches.First(e))
	n.departure.Note(e, o, true, n.troubled, n.ready == event.StatusTrue)
	if earlier, ok := x.cordoned[n.uid]; ok {
		n.departure.Restore(earlier)
	}
	n.period = period{n.wasLost, n.wasLost && n.departure.Announced(e.Seen) != ""}
	x.firstHeartbeat(n, e, o.Ready)
	x.reportReasons(n, e.Seen, o, n.noteReason(o) && !n.wasLost)
	return false
}

// noteMachine reports a reboot, or another version of the kubelet.
func (x *Nodes) noteMachine(n *node, e event.Event, o *event.Node) {
	if updateHash(&n.boot, o.BootID) && n.exists {
		x.found.Add(transition.NodeRebooted{OfNode: n.at(e.Seen), Reported: n.kubelet.reported})
	}
	if n.kubelet.setVersion(o.KubeletVersion) && n.exists {
		x.found.Add(transition.KubeletUpgraded{OfNode: n.at(e.Seen), Reported: n.kubelet.reported})
	}
}

// noteLabels records a node's labels, if they are known.
func (x *Nodes) noteLabels(n *node, o *event.Node) {
	if o.Labels == nil {
		return
	}
	if _, ok := o.Labels["kubernetes.azure.com/agentpool"]; ok {
		x.grace.SetAKS()
	}
	if labels := labelsOf(o); !slices.Equal(n.labels, labels) {
		n.labels, x.labelled = labels, nil
	}
}

// CountPods adds `by` to the number of pods on a node. The parameter left is set if a pod left because it was deleted. The
// caller must exclude DaemonSet pods and static pods.
func (x *Nodes) CountPods(name string, by int, left bool) {
	if x.pods[name] += by; x.pods[name] == 0 {
		delete(x.pods, name)
	}
	if n := x.nodes[name]; n != nil {
		n.departure.SetPods(x.pods[name], left, x.watches.Now())
	}
}

// PodEvicted records that a pod was evicted from a node through the Eviction API.
func (x *Nodes) PodEvicted(name string, t time.Time) {
	if n := x.nodes[name]; n != nil {
		n.departure.Evicted(t)
	}
}

// forget drops a Node and its counts, but keeps the Lease.
func (x *Nodes) forget(n *node) {
	now := x.watches.Now()
	earliest := x.watches.NotBefore(event.KindNode, now)
	x.endSilence(n, earliest, false)
	x.found.Add(transition.NodeRemoved{OfNode: n.at(now), Earliest: earliest})
	x.checks.forget(n)
	n.exists, x.labelled = false, nil
	x.noteIntervals()
	var lease heartbeat
	lease.controllerRenewTime, lease.apiRenewTime = n.heartbeat.controllerRenewTime, n.heartbeat.apiRenewTime
	lease.leaseSeconds = n.heartbeat.leaseSeconds
	*n = node{name: n.name, hasLease: n.hasLease, heartbeat: lease, departure: n.departure, deleted: now}
	x.watches.Schedule(now.Add(departedFor), watches.RankForget, func() { x.forgetIfGone(n) })
	x.forgetIfGone(n)
}

// departedFor is the time after a Node's deletion for which the announcement of its departure explains the losses of its
// pods. The pod garbage collector deletes the pods of a deleted Node after about a minute (gcCheckPeriod and
// quarantineTime in pkg/controller/podgc).
const departedFor = 10 * time.Minute

func (x *Nodes) forgetIfGone(n *node) {
	if n.exists || n.hasLease {
		return
	}
	n.heartbeat = heartbeat{}
	if x.watches.Now().Sub(n.deleted) >= departedFor && x.nodes[n.name] == n {
		delete(x.nodes, n.name)
		x.sorted = nil
	}
}

func (x *health) inOrder() []*node {
	if x.sorted == nil {
		x.sorted = slices.SortedFunc(maps.Values(x.nodes), func(a, b *node) int { return strings.Compare(a.name, b.name) })
	}
	return x.sorted
}

// at begins a transition of the node at t.
func (n *node) at(t time.Time) transition.OfNode { return n.foundAt(t, t) }

// foundAt begins a transition of the node at t that was found later.
func (n *node) foundAt(t, found time.Time) transition.OfNode {
	return transition.OfNode{At: transition.At{Time: t, Waited: found.Sub(t)}, Node: n.name}
}
