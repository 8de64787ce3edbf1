package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// write changes a node and passes the event to the tracker.
func (c *cluster) write(n *node, change func(*event.Node)) {
	if c.nodes[n.Name] != n {
		return
	}
	o := *n.Node
	o.Taints = slices.Clone(o.Taints)
	if o.Ready != nil {
		ready := *o.Ready
		o.Ready = &ready
	}
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

// silence stops the heartbeats of a node. After the grace period, the node controller marks the node Unknown and its
// pods not ready.
func (c *cluster) silence(n *node) {
	n.silent = true
	c.in(55*time.Second, func() {
		if n.silent {
			c.mark(n)
		}
	})
}

// mark marks a node Unknown and its pods not ready, as the node controller does.
func (c *cluster) mark(n *node) {
	if c.nodes[n.Name] != n || n.Ready.Status == event.StatusUnknown {
		return
	}
	c.turnReady(n, event.StatusUnknown, "NodeStatusUnknown")
	c.podsOn(n, func(w *workload, p *event.Pod) {
		if p.Ready.Status == event.StatusTrue && p.DeletionTimestamp.IsZero() {
			p.Ready = &event.Condition{Status: event.StatusFalse, LastTransitionTime: c.now}
			c.tell(event.Modified, clone(p))
			c.in(c.between(10*time.Millisecond, time.Second), func() { c.sync(w) })
		}
	})
}

// boots ends the silence of a node by a reboot. The node is not Ready for some seconds, and the containers of its pods
// restart.
func (c *cluster) boots(n *node) {
	n.silent = false
	c.serial++
	boot := fmt.Sprint("boot-", c.serial)
	c.write(n, func(o *event.Node) { o.BootID = boot })
	c.turnReady(n, event.StatusFalse, "KubeletNotReady")
	c.podsOn(n, func(w *workload, p *event.Pod) {
		x := &p.Containers[0]
		x.ID, x.Restarts, x.Started = boot, x.Restarts+1, c.now
		p.Ready.Reason = "ContainersNotReady"
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
	c.tell(event.Deleted, &event.Lease{Meta: idOf("kube-node-lease", n.Name)})
	c.podsOn(n, func(w *workload, p *event.Pod) {
		c.in(c.between(20*time.Second, 40*time.Second), func() {
			w.pods = slices.DeleteFunc(w.pods, func(x *event.Pod) bool { return x == p })
			delete(w.ips, p)
			c.tell(event.Deleted, clone(p))
			c.sync(w)
		})
	})
}

// daemons adds a DaemonSet with a Service, for example an exporter.
func (c *cluster) daemons(namespace, name string) {
	w := c.deploy(namespace, name, 0)
	w.daemon = true
	for _, n := range c.sorted() {
		c.startOn(w, n, nil)
	}
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
func (c *cluster) sorted() (all []*node) {
	for _, n := range c.nodes {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b *node) int { return cmp.Or(len(a.Name)-len(b.Name), strings.Compare(a.Name, b.Name)) })
	return all
}
