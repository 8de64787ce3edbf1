package contract

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

type node struct {
	*event.Node
	lease  *event.Lease
	silent bool
	// clock is how far the clock of the node is ahead.
	clock time.Duration
}

// join adds a node. It becomes Ready after some seconds. The kubelet renews its Lease every 10 s, and up to 4 % later.
func (c *cluster) join() *node {
	name := c.named("node")
	n := &node{Node: &event.Node{
		Meta: idOf("", name), KubeletVersion: c.version, BootID: "boot",
		Ready: &event.Condition{Status: event.StatusFalse, LastTransitionTime: c.now},
	}}
	c.nodes[name] = n
	c.tell(event.Added, n.Node)
	c.renew(n, event.Added)
	c.in(c.between(5*time.Second, 40*time.Second), func() { c.turnReady(n, event.StatusTrue, "KubeletReady") })
	c.in(c.between(0, 10*time.Second), func() { c.beat(n) })
	return n
}

func (c *cluster) renew(n *node, t event.Type) {
	n.lease = &event.Lease{Meta: idOf("kube-node-lease", n.Name), RenewTime: c.now.Add(n.clock), DurationSeconds: 40}
	c.tell(t, n.lease)
}

func (c *cluster) beat(n *node) {
	if c.nodes[n.Name] != n {
		return
	}
	if !n.silent && !c.stalled {
		c.renew(n, event.Modified)
	}
	c.in(10*time.Second+c.between(0, 400*time.Millisecond), func() { c.beat(n) })
}

// write changes a node.
func (c *cluster) write(n *node, change func(*event.Node)) {
	if c.nodes[n.Name] != n {
		return
	}
	o := *n.Node
	o.Taints = slices.Clone(o.Taints)
	change(&o)
	n.Node = &o
	c.tell(event.Modified, n.Node)
}

func (c *cluster) turnReady(n *node, to event.Status, reason string) {
	c.write(n, func(o *event.Node) {
		o.Ready = &event.Condition{Status: to, Reason: reason, LastTransitionTime: c.now.Truncate(time.Second), LastHeartbeatTime: o.Ready.LastHeartbeatTime}
	})
}

func (c *cluster) cordon(n *node) {
	c.write(n, func(o *event.Node) {
		o.Unschedulable = true
		o.Taints = append(o.Taints, event.Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"})
	})
}

func (c *cluster) uncordon(n *node) {
	c.write(n, func(o *event.Node) { o.Unschedulable, o.Taints = false, nil })
}

func (c *cluster) taint(n *node, key string) {
	c.write(n, func(o *event.Node) { o.Taints = append(o.Taints, event.Taint{Key: key, Effect: "NoSchedule"}) })
}

func (c *cluster) podsOn(n *node, do func(w *workload, p *event.Pod)) {
	for _, w := range c.workloads {
		for _, p := range slices.Clone(w.pods) {
			if p.Node == n.Name {
				do(w, p)
			}
		}
	}
}

// drain evicts the pods of a node one after another, as disruption budgets require. It does not evict pods of
// DaemonSets. It returns how long the drain takes.
func (c *cluster) drain(n *node) time.Duration {
	wait := time.Duration(0)
	c.podsOn(n, func(w *workload, p *event.Pod) {
		if w.daemon {
			return
		}
		c.in(wait, func() { c.stop(w, p, "EvictionByEvictionAPI"); c.start(w, nil) })
		wait += 30 * time.Second
	})
	return wait + 30*time.Second
}

// silence stops the heartbeats of nodes. After the grace period, the node controller marks each node Unknown and its
// pods not ready.
func (c *cluster) silence(nodes ...*node) {
	for _, n := range nodes {
		n.silent = true
		c.in(c.grace+c.between(0, 5*time.Second), func() {
			if n.silent {
				c.mark(n)
			}
		})
	}
}

// mark marks a node Unknown and its pods not ready, as the node controller does. Five minutes later, the pods are
// evicted.
func (c *cluster) mark(n *node) {
	if c.nodes[n.Name] != n || n.Ready.Status == event.StatusUnknown {
		return
	}
	c.turnReady(n, event.StatusUnknown, "NodeStatusUnknown")
	c.podsOn(n, func(w *workload, p *event.Pod) {
		if p.Ready.Status == event.StatusTrue && p.DeletionTimestamp.IsZero() {
			p.Ready = &event.Condition{Status: event.StatusFalse, LastTransitionTime: c.now}
			c.tell(event.Modified, clone(p))
			c.syncs(w)
		}
	})
	c.in(5*time.Minute, func() {
		if c.nodes[n.Name] != n || n.Ready.Status != event.StatusUnknown {
			return
		}
		c.podsOn(n, func(w *workload, p *event.Pod) {
			if w.daemon || !p.DeletionTimestamp.IsZero() {
				return
			}
			p.DeletionTimestamp, p.Disruption = c.now.Add(30*time.Second), "DeletionByTaintManager"
			c.tell(event.Modified, clone(p))
			c.syncs(w)
			c.start(w, nil)
		})
	})
}

// returns ends the silence of nodes. Their kubelets restore the readiness of their pods.
func (c *cluster) returns(nodes ...*node) {
	for _, n := range nodes {
		n.silent = false
		c.renew(n, event.Modified)
		if n.Ready.Status != event.StatusUnknown {
			continue
		}
		c.in(time.Second, func() { c.turnReady(n, event.StatusTrue, "KubeletReady") })
		c.podsOn(n, func(w *workload, p *event.Pod) {
			if p.DeletionTimestamp.IsZero() && p != w.forgotten {
				c.in(c.between(2*time.Second, 6*time.Second), func() { c.setReady(w, p, event.StatusTrue) })
			}
		})
	}
}

// boots ends the silence of a node by a reboot. The node is not Ready for some seconds, and the containers of its pods
// restart.
func (c *cluster) boots(n *node) {
	n.silent = false
	boot := c.named("boot")
	c.write(n, func(o *event.Node) { o.BootID = boot })
	c.turnReady(n, event.StatusFalse, "KubeletNotReady")
	c.podsOn(n, func(w *workload, p *event.Pod) {
		x := &p.Containers[0]
		x.ID, x.Restarts, x.Started = boot, x.Restarts+1, c.now
		c.setReady(w, p, event.StatusFalse)
		c.in(c.between(8*time.Second, 20*time.Second), func() { c.setReady(w, p, event.StatusTrue) })
	})
	c.in(6*time.Second, func() { c.turnReady(n, event.StatusTrue, "KubeletReady") })
}

// leaves deletes a node and its remaining pods.
func (c *cluster) leaves(n *node) {
	if c.nodes[n.Name] != n {
		return
	}
	delete(c.nodes, n.Name)
	c.tell(event.Deleted, n.Node)
	c.tell(event.Deleted, n.lease)
	c.podsOn(n, func(w *workload, p *event.Pod) {
		c.in(c.between(20*time.Second, 40*time.Second), func() { c.remove(w, p) })
	})
}

// stalls stops all writes to etcd for a time.
func (c *cluster) stalls(d time.Duration) {
	c.stalled = true
	c.in(d, func() {
		c.stalled = false
		for _, n := range c.sorted() {
			c.in(c.between(0, time.Second), func() { c.renew(n, event.Modified) })
		}
	})
}

// joins adds a node with the pods of the DaemonSets.
func (c *cluster) joins() {
	n := c.join()
	c.in(45*time.Second, func() {
		for _, w := range c.workloads {
			if w.daemon {
				c.startOn(w, n, nil)
			}
		}
	})
}

// sorted returns the nodes by name.
func (c *cluster) sorted() []*node {
	return slices.SortedFunc(maps.Values(c.nodes), func(a, b *node) int { return cmp.Or(len(a.Name)-len(b.Name), strings.Compare(a.Name, b.Name)) })
}

// anyNode returns a random Ready and schedulable node.
func (c *cluster) anyNode() *node {
	all := slices.DeleteFunc(c.sorted(), func(n *node) bool {
		return n.Ready.Status != event.StatusTrue || n.Unschedulable || len(n.Taints) > 0
	})
	return all[c.random.IntN(len(all))]
}
