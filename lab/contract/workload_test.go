package contract

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func (c *cluster) deploy(namespace, name string, replicas int) *workload {
	w := &workload{
		Service:  &event.Service{Meta: idOf(namespace, name), Type: "ClusterIP", Selector: map[string]string{"app": name}},
		replicas: replicas, recreate: replicas == 1, ips: map[*event.Pod]string{},
	}
	w.slice = &event.EndpointSlice{
		Meta: idOf(namespace, name+"-slice"), Service: name, Owner: w.UID, ManagedBy: "endpointslice-controller.k8s.io",
	}
	c.workloads = append(c.workloads, w)
	c.tell(event.Added, w.Service)
	c.tell(event.Added, copyOf(w.slice))
	for range replicas {
		c.start(w, nil)
	}
	return w
}

// start starts a pod. The parameter then is called when the pod is Ready.
func (c *cluster) start(w *workload, then func()) { c.startOn(w, c.anyNode(""), then) }

func (c *cluster) startOn(w *workload, n *node, then func()) {
	p := &event.Pod{
		Meta: idOf(w.Namespace, c.name(w.Name)), Phase: "Pending", Node: n.Name, Owner: "ReplicaSet/" + w.Name,
		Ready:      &event.Condition{Status: event.StatusFalse, LastTransitionTime: c.now},
		Containers: []event.Container{{Name: "app", Image: "app:1", State: "waiting"}},
	}
	if w.daemon {
		p.Owner = "DaemonSet/" + w.Name
	}
	w.pods = append(w.pods, p)
	c.tell(event.Added, clone(p))
	c.in(2*time.Second, func() {
		p.Phase, w.ips[p] = "Running", fmt.Sprintf("10.%d.%d.%d", c.serial>>16&255, c.serial>>8&255, c.serial&255)
		p.Containers[0].State, p.Containers[0].Started = "running", c.now
		c.tell(event.Modified, clone(p))
		w.slice.Addresses = append(w.slice.Addresses, event.Address{UID: p.UID, IP: w.ips[p], Node: p.Node})
		c.tell(event.Modified, copyOf(w.slice))
	})
	c.in(cmp.Or(w.startup, c.between(6*time.Second, 25*time.Second)), func() {
		if !p.DeletionTimestamp.IsZero() {
			return
		}
		c.setReady(w, p, event.StatusTrue)
		if then != nil {
			then()
		}
	})
}

// setReady updates the readiness of a pod, as a kubelet does. Soon after, the slice is updated.
func (c *cluster) setReady(w *workload, p *event.Pod, to event.Status) {
	p.Ready = &event.Condition{Status: to, LastTransitionTime: c.now}
	p.ContainersReady, p.Containers[0].Ready = to, to == event.StatusTrue
	c.tell(event.Modified, clone(p))
	c.in(c.between(10*time.Millisecond, time.Second), func() { c.sync(w) })
}

// sync updates the slice of a workload, as the endpointslice controller does.
func (c *cluster) sync(w *workload) {
	var all []event.Address
	for _, p := range w.pods {
		if w.ips[p] == "" {
			continue
		}
		is, leaves := p.Ready.Status == event.StatusTrue, !p.DeletionTimestamp.IsZero()
		all = append(all, event.Address{UID: p.UID, IP: w.ips[p], Node: p.Node, Ready: is && !leaves, Terminating: leaves})
	}
	w.slice.Addresses = all
	c.tell(event.Modified, copyOf(w.slice))
}

func (c *cluster) stop(w *workload, p *event.Pod, disruption string) {
	if !p.DeletionTimestamp.IsZero() {
		return
	}
	p.DeletionTimestamp, p.Disruption = c.now.Add(30*time.Second), disruption
	c.tell(event.Modified, clone(p))
	c.in(c.between(10*time.Millisecond, time.Second), func() { c.sync(w) })
	c.in(c.between(3*time.Second, 20*time.Second), func() {
		w.pods = slices.DeleteFunc(w.pods, func(x *event.Pod) bool { return x == p })
		delete(w.ips, p)
		c.tell(event.Deleted, clone(p))
		c.sync(w)
	})
}

// rollOut replaces the pods one by one, as a Deployment with maxUnavailable 0 does. If recreate is set, it stops a pod
// before it starts a new one.
func (c *cluster) rollOut(w *workload) {
	old := slices.Clone(w.pods)
	if w.recreate {
		c.stop(w, old[0], "")
		c.in(4*time.Second, func() { c.start(w, nil) })
		return
	}
	var next func()
	next = func() {
		if len(old) == 0 {
			return
		}
		p := old[0]
		old = old[1:]
		c.start(w, func() { c.stop(w, p, ""); next() })
	}
	next()
}

func (c *cluster) scale(w *workload, to int) {
	for i := len(w.pods) - 1; i >= to; i-- {
		c.stop(w, w.pods[i], "")
	}
	for range to - len(w.pods) {
		c.start(w, nil)
	}
}

// clone copies a pod, because the tracker keeps the objects that it receives.
func clone(p *event.Pod) *event.Pod {
	o := *p
	o.Containers = slices.Clone(p.Containers)
	return &o
}

func copyOf(s *event.EndpointSlice) *event.EndpointSlice {
	o := *s
	o.Addresses = slices.Clone(s.Addresses)
	return &o
}
