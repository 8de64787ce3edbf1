package clustertest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// workload is the Deployment or the DaemonSet of a Service. A Service without one has pods that nobody replaces.
type workload struct {
	// owner is the Deployment. A DaemonSet has a pod on each node.
	owner  *event.Workload
	daemon bool
	// revision is the hash of new pods.
	revision int
	// startup is how long a pod takes to become ready. If it is 0, a pod takes some seconds.
	startup time.Duration
	// delay is by how much the controllers of the addresses are late.
	delay time.Duration
}

// deploy adds a Deployment with its Service. Its pods are on the next nodes in turn, and ready.
func (c *Cluster) deploy(name string, replicas int) {
	v := c.Service("shop", name, true)
	v.revision = 1
	v.owner = &event.Workload{Meta: Meta("deployment", "shop", name), Resource: event.KindDeployment, Selector: v.Selector, Replicas: int32(replicas), Generation: 1}
	for range replicas {
		v.Start(c.Nodes[c.next()]).Serve()
	}
	v.Fill()
}

// daemons adds a DaemonSet with its Service.
func (c *Cluster) daemons(namespace, name string) {
	v := c.Service(namespace, name, true)
	v.revision, v.daemon = 1, true
	for _, n := range c.Nodes {
		v.Start(n).Serve()
	}
	v.Fill()
}

// hash returns the end of the name of the ReplicaSet.
func (w *workload) hash() string {
	if w.revision == 0 {
		return "5d4f7c8b9"
	}
	return fmt.Sprint(w.revision)
}

// label gives a pod the labels of its workload.
func (w *workload) label(p *Pod) {
	switch {
	case w.daemon:
		p.Owner, p.Labels["controller-revision-hash"] = "DaemonSet/"+p.service.Name, w.hash()
	case w.owner != nil:
		p.Labels["pod-template-hash"] = w.hash()
	}
}

// schedulable returns the next node after another one that takes pods.
func (c *Cluster) schedulable(after int) int {
	for i := range c.Nodes {
		at := (after + 1 + i) % len(c.Nodes)
		if n := c.Nodes[at]; !n.Gone && !n.Unschedulable && len(n.Taints) == 0 && n.Ready.Status == event.StatusTrue {
			return at
		}
	}
	return after
}

// next returns the next node for a pod of a Deployment.
func (c *Cluster) next() int {
	c.last = c.schedulable(c.last)
	return c.last
}

// adds starts a pod on a node. The function then is called when it is ready.
func (v *Service) adds(n *Node, then func()) {
	p := v.Start(n)
	v.cluster.Tell(event.Added, &p.Pod)
	v.cluster.After(cmp.Or(v.startup, v.cluster.Between(4, 9)), func() {
		if p.DeletionTimestamp.IsZero() {
			p.recovers()
			then()
		}
	})
}

// orders changes the spec of the Deployment.
func (v *Service) orders(replicas int) {
	v.owner.Replicas, v.owner.Generation = int32(replicas), v.owner.Generation+1
	v.cluster.Tell(event.Modified, v.owner)
}

// rollsOut replaces the pods one by one, as a Deployment with maxUnavailable 0 does. A single pod stops before its
// replacement starts, as with the strategy Recreate.
func (v *Service) rollsOut() {
	c, old := v.cluster, slices.Clone(v.Pods)
	v.revision++
	v.orders(len(old))
	if len(old) == 1 {
		old[0].stop("")
		c.After(4*time.Second, func() { v.adds(c.Nodes[c.next()], func() {}) })
		return
	}
	var next func()
	next = func() {
		if len(old) > 0 {
			p := old[0]
			old = old[1:]
			v.adds(c.Nodes[c.next()], func() { p.stop(""); next() })
		}
	}
	next()
}

func (v *Service) scales(to int) {
	v.orders(to)
	for _, p := range v.Pods[min(to, len(v.Pods)):] {
		p.stop("")
	}
	for range to - len(v.Pods) {
		v.adds(v.cluster.Nodes[v.cluster.next()], func() {})
	}
}

// evicts evicts a pod of the node if the node is still Unknown, and starts another one.
func (n *Node) evicts(p *Pod) {
	if n.Ready.Status == event.StatusUnknown && !n.Gone && p.DeletionTimestamp.IsZero() {
		p.leaves(evictedByTaint)
		p.replace()
	}
}

const evictedByTaint = "DeletionByTaintManager"

// joins adds a node, with the pods of the DaemonSets. It becomes Ready after some seconds.
func (c *Cluster) joins() {
	n := c.AddNode()
	n.Ready.Status, n.Ready.Reason, n.Ready.LastTransitionTime = event.StatusFalse, "KubeletNotReady", c.Now
	c.Tell(event.Added, &n.Node)
	n.join()
	c.Tell(event.Added, &n.lease)
	c.After(c.Between(5, 40), func() { n.setReady(event.StatusTrue, "KubeletReady") })
	c.After(45*time.Second, func() {
		for _, v := range c.Services {
			if v.daemon {
				v.adds(n, func() {})
			}
		}
	})
}

// deletesNamespace deletes the Services with a Deployment, their Deployments and their pods.
func (c *Cluster) deletesNamespace() {
	for _, v := range slices.Clone(c.Services) {
		if v.owner == nil {
			continue
		}
		v.deletes()
		c.Tell(event.Deleted, v.owner)
		for _, p := range slices.Clone(v.Pods) {
			p.stop("")
		}
	}
}
