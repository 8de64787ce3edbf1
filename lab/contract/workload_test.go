package contract

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// workload is a Deployment and its Service.
type workload struct {
	*event.Service
	// owner is the Deployment. A DaemonSet has none.
	owner *event.Workload
	slice *event.EndpointSlice
	pods  []*event.Pod
	ips   map[*event.Pod]string
	// revision is the pod-template-hash of new pods.
	revision int
	// recreate is set if a pod stops before its replacement starts, as with the strategy Recreate.
	recreate bool
	// daemon is set if this is a DaemonSet, with one pod on each node.
	daemon bool
	// startup is how long a pod takes to become Ready. If it is 0, a pod takes some seconds.
	startup time.Duration
	// delay is how long the endpointslice controller takes. If it is 0, it takes less than a second.
	delay time.Duration
	// others has the pods that the Service selects, if it selects those of another workload.
	others *workload
	// forgotten is a pod whose readiness the kubelet does not restore.
	forgotten *event.Pod
}

func (c *cluster) deploy(namespace, name string, replicas int) *workload {
	w := &workload{
		Service:  &event.Service{Meta: idOf(namespace, name), Type: "ClusterIP", Selector: map[string]string{"app": name}},
		revision: 1, recreate: replicas == 1, ips: map[*event.Pod]string{},
	}
	w.slice = &event.EndpointSlice{
		Meta: idOf(namespace, name+"-slice"), Service: name, Owner: w.UID, ManagedBy: "endpointslice-controller.k8s.io",
	}
	w.owner = &event.Workload{Meta: idOf(namespace, name), Resource: event.KindDeployment, Selector: w.Selector}
	c.workloads = append(c.workloads, w)
	c.orders(w, replicas)
	c.tell(event.Added, w.Service)
	c.tell(event.Added, copyOf(w.slice))
	for range replicas {
		c.start(w, nil)
	}
	return w
}

// orders changes the spec of the Deployment.
func (c *cluster) orders(w *workload, replicas int) {
	o := *w.owner
	o.Replicas, o.Generation = int32(replicas), o.Generation+1
	w.owner = &o
	c.tell(event.Modified, w.owner)
}

// daemons adds a DaemonSet with a Service, for example an exporter.
func (c *cluster) daemons(namespace, name string) {
	w := c.deploy(namespace, name, 0)
	c.tell(event.Deleted, w.owner)
	w.daemon = true
	for _, n := range c.sorted() {
		c.startOn(w, n, nil)
	}
}

// workload returns the workload with a name.
func (c *cluster) workload(name string) *workload {
	return c.workloads[slices.IndexFunc(c.workloads, func(w *workload) bool { return w.Name == name })]
}

// start starts a pod. The parameter then is called when the pod is Ready.
func (c *cluster) start(w *workload, then func()) { c.startOn(w, c.anyNode(), then) }

func (c *cluster) startOn(w *workload, n *node, then func()) {
	hash := fmt.Sprintf("%d", w.revision)
	p := &event.Pod{
		Meta: idOf(w.Namespace, c.named(w.Name+"-"+hash)), Phase: "Pending", Node: n.Name, Owner: "ReplicaSet/" + w.Name + "-" + hash,
		Ready:      &event.Condition{Status: event.StatusFalse, LastTransitionTime: c.now},
		Containers: []event.Container{{Name: "app", Image: "app:" + hash, State: "waiting"}},
		Labels:     map[string]string{"app": w.Name, "pod-template-hash": hash},
	}
	if w.daemon {
		p.Owner, p.Labels = "DaemonSet/"+w.Name, map[string]string{"app": w.Name, "controller-revision-hash": hash}
	}
	w.pods = append(w.pods, p)
	c.tell(event.Added, clone(p))
	c.in(2*time.Second, func() {
		if !p.DeletionTimestamp.IsZero() {
			return
		}
		p.Phase, w.ips[p] = "Running", fmt.Sprintf("10.%d.%d.%d", c.serial>>16&255, c.serial>>8&255, c.serial&255)
		p.Containers[0].State, p.Containers[0].Started = "running", c.now
		c.tell(event.Modified, clone(p))
		c.syncs(w)
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
	if to != event.StatusTrue {
		p.Ready.Reason = "ContainersNotReady"
	}
	p.ContainersReady, p.Containers[0].Ready = to, to == event.StatusTrue
	c.tell(event.Modified, clone(p))
	c.syncs(w)
}

// fails makes the readiness probes of some pods fail for a time.
func (c *cluster) fails(w *workload, pods int, d time.Duration) {
	for _, p := range slices.Clone(w.pods[:pods]) {
		c.setReady(w, p, event.StatusFalse)
		c.in(d, func() {
			if p.DeletionTimestamp.IsZero() {
				c.setReady(w, p, event.StatusTrue)
			}
		})
	}
}

// syncs updates the slice of a workload soon.
func (c *cluster) syncs(w *workload) {
	c.in(w.delay+c.between(10*time.Millisecond, time.Second), func() { c.sync(w) })
}

// sync updates the slice of a workload, as the endpointslice controller does.
func (c *cluster) sync(w *workload) {
	var all []event.Address
	of := cmp.Or(w.others, w)
	for _, p := range of.pods {
		if of.ips[p] == "" {
			continue
		}
		is, leaves := p.Ready.Status == event.StatusTrue, !p.DeletionTimestamp.IsZero()
		all = append(all, event.Address{UID: p.UID, IP: of.ips[p], Ready: is && !leaves, Terminating: leaves})
	}
	if w.slice.Addresses = all; c.has(w.slice) {
		c.tell(event.Modified, copyOf(w.slice))
	}
}

func (c *cluster) has(o event.Object) bool {
	m := o.Metadata()
	_, ok := c.objects[objectKey{o.Kind(), m.Namespace + "/" + m.Name + "/" + m.UID.String()}]
	return ok
}

// stop deletes a pod. It disappears some seconds later.
func (c *cluster) stop(w *workload, p *event.Pod, disruption string) {
	if !p.DeletionTimestamp.IsZero() {
		return
	}
	p.DeletionTimestamp, p.Disruption = c.now.Add(30*time.Second), disruption
	c.tell(event.Modified, clone(p))
	c.syncs(w)
	c.in(c.between(3*time.Second, 20*time.Second), func() { c.remove(w, p) })
}

func (c *cluster) remove(w *workload, p *event.Pod) {
	w.pods = slices.DeleteFunc(w.pods, func(x *event.Pod) bool { return x == p })
	delete(w.ips, p)
	c.tell(event.Deleted, clone(p))
	c.sync(w)
}

// rollOut replaces the pods one by one, as a Deployment with maxUnavailable 0 does. If recreate is set, it stops a pod
// before it starts a new one.
func (c *cluster) rollOut(w *workload) {
	w.revision++
	c.orders(w, int(w.owner.Replicas))
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
	c.orders(w, to)
	for i := len(w.pods) - 1; i >= to; i-- {
		c.stop(w, w.pods[i], "")
	}
	for range to - len(w.pods) {
		c.start(w, nil)
	}
}

// deletes deletes a Service. If its namespace is deleted, its pods are deleted, too.
func (c *cluster) deletes(w *workload, namespace bool) {
	c.tell(event.Deleted, w.Service)
	c.tell(event.Deleted, copyOf(w.slice))
	c.workloads = slices.DeleteFunc(c.workloads, func(x *workload) bool { return x == w })
	if !namespace {
		return
	}
	c.tell(event.Deleted, w.owner)
	for _, p := range slices.Clone(w.pods) {
		c.stop(w, p, "")
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
