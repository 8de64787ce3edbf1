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
	"github.com/kubeflap/kubeflap/exporter/track/grace"
	"github.com/kubeflap/kubeflap/exporter/track/machine"
	"github.com/kubeflap/kubeflap/exporter/track/restart"
	"github.com/kubeflap/kubeflap/exporter/track/rhythm"
	"github.com/kubeflap/kubeflap/exporter/track/shared"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Nodes holds a cluster's nodes.
type Nodes struct {
	heartbeats
	grace grace.Finder
	nodes map[string]*node
	// `former` identifies the machines of deleted Nodes.
	former machine.Former
	// `pods` counts the running pods of each node, except DaemonSet pods and static pods.
	pods map[string]int
	// `sorted` holds the nodes, sorted by name. Adding or removing a node resets it to nil.
	sorted []*node
	// intervals counts the nodes by heartbeat interval. `settings` holds the last reported facts about the grace
	// period.
	intervals grace.Intervals
	settings  transition.GracePeriodKnown
	// `cordoned` says since when earlier processes saw Nodes cordoned.
	cordoned map[event.UID]departure.Past
}

// node combines a Node and its Lease. Either of them can arrive first.
type node struct {
	name string
	uid  event.UID
	// exists reports whether kubeflap has seen the Node. A Lease can exist without its Node.
	exists, hasLease bool
	created          time.Time
	heartbeat        heartbeat

	machine machine.Identity
	// version is a hash of the kubelet's version, or 0. `troubled` is the last time at which a heartbeat became late or
	// the node became not Ready.
	version   uint64
	troubled  time.Time
	departure departure.Departure
	labels    shared.Labels
	// markedInTime counts how often the node controller set the node to Unknown although the newest heartbeat was
	// younger than the grace period.
	markedInTime uint64
	kubelet      restart.Kubelet
	// `returned` is the time of the last change of Ready from Unknown to True.
	returned time.Time
	condition
}

// New returns an empty Nodes. gracePeriod is the node monitor grace period set by the user, or 0.
func New(gracePeriod time.Duration, controlPlane *controlplane.ControlPlane, watches *watches.Watches, found *transition.List) *Nodes {
	x := &Nodes{
		heartbeats: heartbeats{watches: watches, found: found, labelled: shared.Counts{}}, grace: grace.New(gracePeriod),
		nodes: map[string]*node{}, pods: map[string]int{},
	}
	x.overdue.controlPlane = controlPlane
	x.isManaged = x.grace.IsManaged
	x.graceChanged()
	return x
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
	n.kubelet.SetVersion(o.KubeletVersion)
	if n.machine.Note(o) && n.exists {
		x.found.Add(transition.NodeRebooted{At: at(e.Seen), Node: n.name})
	}
	if m, ok := x.former.Compare(n.name, &n.machine, e.Seen); ok {
		x.found.Add(transition.NodeReturned{At: at(e.Seen), Node: n.name, Machine: m})
	}
	if updateHash(&n.version, o.KubeletVersion) && n.exists {
		x.found.Add(transition.KubeletUpgraded{At: at(e.Seen), Node: n.name})
	}
	x.noteLabels(n, o)
	if !n.exists {
		n.uid, n.exists, n.created = o.UID, true, e.Seen
		n.departure.SetPods(x.pods[o.Name])
		n.condition = firstCondition(e, o.Ready)
		n.departure.Note(e, o, n.troubled, n.ready == event.StatusTrue)
		if earlier, ok := x.cordoned[n.uid]; ok {
			n.departure.Restore(earlier)
		}
		x.firstHeartbeat(n, e, o.Ready)
		x.noteInterval(n)
		return false
	}
	n.departure.Note(e, o, n.troubled, n.ready == event.StatusTrue)
	x.statusHeartbeat(n, e, o.Ready)
	return x.applyReady(n, e, o.Ready)
}

// noteLabels records a node's labels, if they are known.
func (x *Nodes) noteLabels(n *node, o *event.Node) {
	if o.Labels == nil {
		return
	}
	if _, ok := o.Labels["kubernetes.azure.com/agentpool"]; ok {
		x.grace.SetAKS()
		x.reportGracePeriod()
	}
	n.labels = x.labelled.Replace(n.labels, shared.Of(o))
}

// CountPods adds `by` to the number of pods on a node. The caller must exclude DaemonSet pods and static pods.
func (x *Nodes) CountPods(name string, by int) {
	if x.pods[name] += by; x.pods[name] == 0 {
		delete(x.pods, name)
	}
	if n := x.nodes[name]; n != nil {
		n.departure.SetPods(x.pods[name])
	}
}

// updateHash stores the hash of a value, and reports whether the value differs from the previous one.
func updateHash(hash *uint64, reported string) bool {
	if reported == "" {
		return false
	}
	was := *hash
	*hash = event.Hash(reported)
	return was != 0 && was != *hash
}

// forget drops a Node and its counts, but keeps the Lease.
func (x *Nodes) forget(n *node) {
	now := x.watches.Now()
	earliest := x.watches.NotBefore(event.KindNode, now)
	x.addSilence(&x.silences, n, earliest, false)
	x.found.Add(transition.NodeRemoved{At: at(now), Node: n.name, Earliest: earliest})
	x.former.NodeDeleted(n.name, n.machine, now)
	x.checks.Forget(n)
	x.overdue.forget(n)
	x.labelled.Replace(n.labels, nil)
	n.exists = false
	x.noteInterval(n)
	lease := heartbeat{controllerRenewTime: n.heartbeat.controllerRenewTime, apiRenewTime: n.heartbeat.apiRenewTime, rhythm: rhythm.Kubelet{Duration: n.heartbeat.rhythm.Duration, Renewals: n.heartbeat.rhythm.Renewals}}
	*n = node{name: n.name, hasLease: n.hasLease, heartbeat: lease}
	x.forgetIfGone(n)
}

func (x *Nodes) forgetIfGone(n *node) {
	if !n.exists && !n.hasLease {
		delete(x.nodes, n.name)
		x.sorted = nil
	}
}

func (x *Nodes) inOrder() []*node {
	if x.sorted == nil {
		x.sorted = slices.SortedFunc(maps.Values(x.nodes), func(a, b *node) int { return strings.Compare(a.name, b.name) })
	}
	return x.sorted
}

func at(t time.Time) transition.At { return transition.At{Time: t} }
