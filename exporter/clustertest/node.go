package clustertest

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Node is a machine with its kubelet, and the node controller's data about it.
type Node struct {
	event.Node
	// Gone is set if the node is deleted.
	Gone    bool
	cluster *Cluster
	lease   event.Lease
	// silent holds the periods in which the kubelet cannot reach the API. late holds delays of single renewals, each
	// with the time from which it applies.
	silent  []span
	late    []lateness
	renewed time.Time
	// clock is the time by which the node's clock is ahead. It is negative if the clock is behind.
	clock time.Duration

	probed          time.Time
	renewal, report time.Time // the node controller's cache holds these times
	view            time.Time // view is the renewTime that the node controller's watch has delivered
}

type lateness struct {
	from float64
	d    time.Duration
}

// AddNode adds a Ready node.
func (c *Cluster) AddNode() *Node {
	i := len(c.Nodes)
	n := &Node{cluster: c, Node: event.Node{
		Meta: Meta("node", "", nodeNamed(i+1)), Created: c.Now.Add(-24 * time.Hour), KubeletVersion: c.Version, BootID: "boot-1",
		Ready:  &event.Condition{Status: event.StatusTrue, Reason: "KubeletReady", LastTransitionTime: c.Now.Add(-time.Hour), LastHeartbeatTime: c.Now.Add(-time.Minute)},
		Labels: map[string]string{"topology.kubernetes.io/zone": string(rune('a' + i%3)), "node.kubernetes.io/instance-type": "m5.large"},
	}}
	n.lease = event.Lease{Meta: Meta("lease", "kube-node-lease", n.Name), RenewTime: c.Now.Add(-Seconds(float64(i%10) + 0.5)), DurationSeconds: int32(c.interval.Seconds() * 4)}
	c.Nodes = append(c.Nodes, n)
	return n
}

// join starts a kubelet.
func (n *Node) join() {
	c := n.cluster
	n.lease.RenewTime = c.Now.Add(-(c.Now.Sub(n.lease.RenewTime) % c.interval))
	n.renewed = n.lease.RenewTime
	n.lease.DurationSeconds = int32(c.interval.Seconds() * 4)
	n.KubeletVersion = c.Version
	n.probed, n.renewal, n.view, n.report = c.Now, n.lease.RenewTime, n.lease.RenewTime, n.Ready.LastHeartbeatTime
	c.After(n.lease.RenewTime.Add(c.interval).Sub(c.Now)%c.interval+50*time.Millisecond, n.beat)
	if c.leases {
		c.After(c.Between(10, 300), n.reportStatus)
	}
}

// silentUntil returns the time at which a silent kubelet reaches the API again, or 0 if it is not silent.
func (n *Node) silentUntil(t float64) float64 {
	for _, x := range n.silent {
		if x.has(t) {
			return x.to
		}
	}
	return 0
}

// beat sends a heartbeat. It renews the Lease or, without Leases, reports the status.
func (n *Node) beat() {
	c := n.cluster
	if n.Gone {
		return
	}
	if back := max(n.silentUntil(c.Second()), c.stalled()); back > 0 {
		if back < forever {
			c.After(Seconds(back-c.Second())+c.Between(0, 1.5), n.beat)
		}
		return
	}
	n.renewed = c.Now
	if c.leases {
		n.lease.RenewTime = c.Now.Add(n.clock)
		c.Tell(event.Modified, &n.lease)
	} else {
		n.Ready.LastHeartbeatTime = c.Now.Add(n.clock).Truncate(time.Second)
		c.Tell(event.Modified, &n.Node)
	}
	if n.Ready.Status == event.StatusUnknown {
		c.After(c.Between(0.1, 2), n.returns)
	}
	next := c.interval + c.Between(0, 0.04*c.interval.Seconds())
	for i, l := range n.late {
		if l.from <= c.Second() {
			next = l.d
			n.silent = append(n.silent, span{c.Second() + 0.001, c.Second() + l.d.Seconds()})
			n.late = slices.Delete(n.late, i, i+1)
			break
		}
	}
	c.After(next, n.beat)
}

// reportStatus reports a node's status every five minutes, even if it is unchanged.
func (n *Node) reportStatus() {
	c := n.cluster
	if n.Gone {
		return
	}
	if n.silentUntil(c.Second()) == 0 && c.stalled() == 0 {
		n.Ready.LastHeartbeatTime = c.Now.Add(n.clock).Truncate(time.Second)
		c.Tell(event.Modified, &n.Node)
	}
	c.After(5*time.Minute, n.reportStatus)
}

// setReady writes a node's Ready condition.
func (n *Node) setReady(to event.Status, reason string) {
	c := n.cluster
	n.Ready.Status, n.Ready.Reason = to, reason
	n.Ready.LastTransitionTime = c.Now.Truncate(time.Second)
	if to != event.StatusUnknown {
		n.Ready.LastHeartbeatTime = c.Now.Add(n.clock).Truncate(time.Second)
	}
	c.Tell(event.Modified, &n.Node)
}

// returns makes a node Ready after it was Unknown. Some seconds later, the kubelet corrects its pods.
func (n *Node) returns() {
	c := n.cluster
	if n.Gone || n.silentUntil(c.Second()) > 0 || n.Ready.Status == event.StatusTrue {
		return
	}
	n.Taints = slices.DeleteFunc(n.Taints, func(t event.Taint) bool { return t.Key == "node.kubernetes.io/unreachable" })
	n.setReady(event.StatusTrue, "KubeletReady")
	c.After(c.Between(1, 8), func() {
		for _, p := range n.pods() {
			if p.Ready.Status == event.StatusFalse && p.Ready.Reason == "" && p.DeletionTimestamp.IsZero() {
				p.Ready.Status, p.Ready.LastTransitionTime = event.StatusTrue, p.started
				p.changed()
			} else if p.Disruption == evictedByTaint {
				p.remove()
			}
		}
	})
}

// silence cuts the kubelet off from the API for a period.
func (n *Node) silence(from, to float64) { n.silent = append(n.silent, span{from, to}) }

// pods returns the pods on the node.
func (n *Node) pods() (all []*Pod) {
	for _, v := range n.cluster.Services {
		for _, p := range v.Pods {
			if p.Node == n.Name {
				all = append(all, p)
			}
		}
	}
	return all
}

// weakens makes some nodes silent again and again, independently of each other: on average once in the given number of
// seconds, for 43 to 58 s.
func (c *Cluster) weakens(from, to float64, nodes int, every float64) {
	for i := range nodes {
		for at := from + c.random.ExpFloat64()*every; at < min(to, 4*3600); at += 60 + c.random.ExpFloat64()*every {
			c.Nodes[i*len(c.Nodes)/nodes].silence(at, at+c.Between(43, 58).Seconds())
		}
	}
}

// deletes deletes the node, and its pods shortly afterwards.
func (n *Node) deletes() {
	c := n.cluster
	n.Gone = true
	c.Deleted++
	c.Tell(event.Deleted, &n.Node)
	c.Tell(event.Deleted, &n.lease)
	for _, p := range n.pods() {
		c.After(c.Between(20, 40), p.remove)
	}
}

// recreates creates the deleted node again with the same name. change modifies the data that the machine reports.
func (n *Node) recreates(change func(*event.Node)) {
	c := n.cluster
	n.Gone, n.UID, n.Taints = false, event.ParseUID(string(n.Name)+"/again"), nil
	n.Created = c.Now.Truncate(time.Second)
	n.Ready = &event.Condition{Status: event.StatusTrue, Reason: "KubeletReady", LastTransitionTime: n.Created, LastHeartbeatTime: c.Now.Truncate(time.Second)}
	change(&n.Node)
	c.Tell(event.Added, &n.Node)
	n.lease.UID, n.lease.RenewTime = event.ParseUID("lease/"+n.Name+"/again"), c.Now
	c.Tell(event.Added, &n.lease)
	n.join()
}

// drains evicts the pods one by one. Their replacements start on the next nodes.
func (n *Node) drains(every time.Duration) {
	pods := slices.DeleteFunc(n.pods(), func(p *Pod) bool { return p.service.daemon })
	for i, p := range pods {
		n.cluster.After(time.Duration(i)*every, func() { p.stop("EvictionByEvictionAPI"); p.replace() })
	}
}

// reboots restarts the machine, which is silent for a period. Afterwards it reports a new bootID and is not ready at
// first.
func (n *Node) reboots(from, to float64) {
	c := n.cluster
	n.silence(from, to)
	c.At(to, func() {
		if n.Gone {
			return
		}
		n.BootID += "-again"
		n.Taints = slices.DeleteFunc(n.Taints, func(t event.Taint) bool { return t.Key == "node.kubernetes.io/unreachable" })
		n.setReady(event.StatusFalse, "KubeletNotReady")
		for _, p := range n.pods() {
			c.After(c.Between(1, 4), p.restart)
		}
	})
	c.At(to+5, func() {
		if !n.Gone {
			n.setReady(event.StatusTrue, "KubeletReady")
		}
	})
}
