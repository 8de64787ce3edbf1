package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// unrelated adds 500 objects to the events of a recording that have nothing to do with what happens there, and flap. As
// long as nothing arrives in the recording, nothing arrives of them either, and lists contain them.
type unrelated struct {
	// cluster has the Services and their pods. Its nodes only say where the pods run.
	cluster *clustertest.Cluster
	// model is a healthy node of the recording, or empty. The other nodes do as it does, apart from their own flaps: nodes
	// holds their state. silent is set while the first of them is silent.
	model  string
	nodes  [5]event.Node
	silent bool

	all []event.Event
	// synced holds the resources whose watches work. heartbeat is when the last heartbeat arrived.
	synced    [event.NumKinds]bool
	heartbeat time.Time
}

// ofOthers reports whether a namespace or a node is one of the unrelated ones.
func ofOthers(name string) bool { return strings.HasPrefix(name, "other-") }

// besideUnrelated returns the events with unrelated objects. model is the name of a healthy node, or empty.
func besideUnrelated(events []event.Event, model string, seed uint64) []event.Event {
	begin := events[0].Seen
	c := clustertest.New(seed, 3)
	u := &unrelated{cluster: c, model: model}
	c.Now, c.Watchers[0].Sink, c.Watchers[0].Watching = begin, u.emit, true
	lasts := events[len(events)-1].Seen.Sub(begin).Seconds()
	moment := func() time.Duration { return c.Between(0, lasts) }
	for i := range 20 {
		c.Nodes = append(c.Nodes, &clustertest.Node{Node: event.Node{Meta: event.Meta{Name: fmt.Sprintf("other-%d", i)}}, Gone: true})
	}
	for i := range 20 {
		for _, p := range u.service(fmt.Sprintf("other-%d", i)).Pods {
			c.After(moment(), func() { u.flap(p) })
			c.After(moment(), func() { u.flap(p) })
		}
	}
	for i := range u.nodes {
		c.After(moment(), func() { u.complain(&u.nodes[i]) })
	}
	for _, at := range lonely(events) {
		c.After(at.Sub(begin), u.fallSilent)
	}
	for _, e := range events {
		u.runUntil(e.Seen)
		if e.Type == event.Synced {
			u.list(e)
		}
		u.all = append(u.all, e)
		u.follow(e)
	}
	return u.all
}

// service adds a Deployment with 20 pods, and the objects that it needs.
func (u *unrelated) service(name string) *clustertest.Service {
	c := u.cluster
	v := c.Service(name, name, true)
	c.Others = append(c.Others, &event.Workload{Meta: clustertest.Meta("deployment", name, name), Resource: event.KindDeployment, Replicas: 20, Selector: v.Selector, Generation: 1})
	for _, n := range c.Nodes {
		p := v.Start(n)
		p.Serve()
		p.Ready.LastTransitionTime = c.Now.Add(-time.Hour).Truncate(time.Second)
	}
	v.Fill()
	return v
}

// runUntil lets everything happen that is due, unless nothing arrives from the cluster.
func (u *unrelated) runUntil(t time.Time) {
	if limit := u.heartbeat.Add(12 * time.Second); limit.Before(t) {
		t = limit
	}
	if t.After(u.cluster.Now) {
		u.cluster.RunUntil(t.Sub(storyBegin).Seconds())
	}
}

// flap makes a pod not ready for some seconds.
func (u *unrelated) flap(p *clustertest.Pod) {
	if p.Ready.Status != event.StatusTrue {
		return
	}
	p.SetReady(false, "ContainersNotReady")
	u.cluster.After(u.cluster.Between(2, 22), func() { p.SetReady(true, "") })
}

// emit adds an event, if its watch works. No event is older than the last one, and no resource version can be compared with
// those of the recording.
func (u *unrelated) emit(e event.Event) {
	e.Object.Metadata().ResourceVersion = "other" + e.Object.Metadata().ResourceVersion
	if last := u.all[len(u.all)-1].Seen; e.Seen.Before(last) {
		e.Seen = last
	}
	if u.synced[e.Kind] {
		u.all = append(u.all, e)
	}
}

// list adds the objects to a list.
func (u *unrelated) list(synced event.Event) {
	for _, o := range u.cluster.Objects() {
		if o.Kind() == synced.Kind {
			u.all = append(u.all, event.Event{Seen: synced.Seen, Kind: synced.Kind, Type: event.Listed, Object: clustertest.Copy(o)})
		}
	}
}

// follow notices whether watches work, and lets the other nodes do what the model does.
func (u *unrelated) follow(e event.Event) {
	switch e.Type {
	case event.Synced, event.Up:
		u.synced[e.Kind] = true
	case event.Listing, event.Down, event.Unavailable:
		u.synced[e.Kind] = false
	}
	if e.Object == nil || e.Kind != event.KindNode && e.Kind != event.KindLease || e.Type == event.DirectReadLease {
		return
	}
	u.heartbeat = e.Seen
	if e.Object.Metadata().Name != u.model {
		return
	}
	for i := range u.nodes {
		o, n := clustertest.Copy(e.Object), &u.nodes[i]
		*o.Metadata() = clustertest.Meta(e.Kind.String(), e.Object.Metadata().Namespace, fmt.Sprintf("other-%d", i))
		o.Metadata().ResourceVersion = e.Object.Metadata().ResourceVersion
		switch x := o.(type) {
		case *event.Node:
			if x.Labels, x.ProviderID = map[string]string{"topology.kubernetes.io/zone": "other"}, ""; n.Ready != nil && n.Ready.Status != event.StatusTrue {
				complaint := *n.Ready
				complaint.LastHeartbeatTime = x.Ready.LastHeartbeatTime
				x.Ready = &complaint
			}
			*n = *x
		case *event.Lease:
			if i == 0 && u.silent {
				continue
			}
		}
		u.all = append(u.all, event.Event{Seen: e.Seen, Kind: e.Kind, Type: e.Type, Object: o})
	}
}

// turnNode changes the Ready condition of a node.
func (u *unrelated) turnNode(n *event.Node, to event.Status, reason, message string) {
	if n.Name == "" {
		return // the model was not listed yet, or there is none
	}
	at := u.cluster.Now.Truncate(time.Second)
	n.Ready = &event.Condition{Status: to, Reason: reason, Message: message, LastTransitionTime: at, LastHeartbeatTime: at}
	u.cluster.Tell(event.Modified, n)
}

// complain lets a kubelet report its node as not ready for half a minute.
func (u *unrelated) complain(n *event.Node) {
	if n.Ready == nil || n.Ready.Status != event.StatusTrue {
		return
	}
	u.turnNode(n, event.StatusFalse, "KubeletNotReady", "container runtime is down")
	u.cluster.After(30*time.Second, func() { u.turnNode(n, event.StatusTrue, "KubeletReady", "") })
}

// fallSilent lets the first node send no heartbeat for 55 s, so that the node controller marks it.
func (u *unrelated) fallSilent() {
	n := &u.nodes[0]
	if n.Ready == nil || n.Ready.Status != event.StatusTrue {
		return
	}
	u.silent = true
	u.cluster.After(44*time.Second, func() { u.turnNode(n, event.StatusUnknown, "NodeStatusUnknown", "") })
	u.cluster.After(55*time.Second, func() { u.silent = false })
	u.cluster.After(67*time.Second, func() { u.turnNode(n, event.StatusTrue, "KubeletReady", "") })
}

// lonely returns two moments in which nothing else happens to heartbeats for minutes, if there are such, and if nodes are
// marked after 40 s.
func lonely(events []event.Event) (all []time.Time) {
	const apart = 150 * time.Second
	last, busy := map[string]time.Time{}, []time.Time{events[0].Seen}
	for _, e := range events {
		switch o := e.Object.(type) {
		case *event.Cluster:
			if o.Version != "v1.31.4" {
				return nil
			}
		case *event.Pod:
			if o.ControllerManager != nil {
				return nil
			}
		case *event.Lease:
			if at := last[o.Name]; e.Seen.Sub(at) > 12*time.Second {
				busy = append(busy, at, e.Seen)
			}
			last[o.Name] = e.Seen
		default:
			if e.Type == event.Down || e.Kind == event.KindNode && e.Type == event.Deleted {
				busy = append(busy, e.Seen)
			}
		}
	}
	for _, at := range last {
		busy = append(busy, at)
	}
	slices.SortFunc(busy, time.Time.Compare)
	for i := 1; i < len(busy) && len(all) < 2; i++ {
		if at := busy[i-1].Add(apart); at.Add(apart + time.Minute).Before(busy[i]) {
			all = append(all, at)
		}
	}
	return all
}
