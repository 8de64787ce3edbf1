package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// unrelated adds 500 objects to the events of a recording that have nothing to do with what happens there, and flap. As
// long as nothing arrives in the recording, nothing arrives of them either, and lists contain them.
type unrelated struct {
	random *rand.Rand
	// objects are in the order of their creation. The addresses of services[i] are the pods with the label app=other-i.
	objects  []event.Object
	services []*otherService
	due      []otherFlap
	serial   int
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

// otherService is a Deployment with a Service.
type otherService struct {
	workload  event.Workload
	service   event.Service
	slice     event.EndpointSlice
	endpoints event.Endpoints
	pods      []*event.Pod
}

// otherFlap is what happens at some time.
type otherFlap struct {
	at time.Time
	do func(at time.Time)
}

// ofOthers reports whether a namespace or a node is one of the unrelated ones.
func ofOthers(name string) bool { return strings.HasPrefix(name, "other-") }

// besideUnrelated returns the events with unrelated objects. model is the name of a healthy node, or empty.
func besideUnrelated(events []event.Event, model string, seed uint64) []event.Event {
	u := &unrelated{random: rand.New(rand.NewPCG(seed, 3)), model: model}
	begin, lasts := events[0].Seen, events[len(events)-1].Seen.Sub(events[0].Seen)
	moment := func() time.Time { return begin.Add(time.Duration(u.random.Int64N(int64(lasts) + 1))) }
	for i := range 20 {
		v := u.service(i, begin)
		for _, p := range v.pods {
			for range 2 {
				u.flaps(moment(), func(at time.Time) { u.flap(v, p, at) })
			}
		}
	}
	for i := range u.nodes {
		u.flaps(moment(), func(at time.Time) { u.complain(&u.nodes[i], at) })
	}
	for _, at := range lonely(events) {
		u.flaps(at, u.fallSilent)
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
func (u *unrelated) service(i int, begin time.Time) *otherService {
	name := fmt.Sprintf("other-%d", i)
	labels := map[string]string{"app": name}
	v := &otherService{
		workload: event.Workload{Meta: metaOf("deployment", name, name), Resource: event.KindDeployment, Replicas: 20, Selector: labels, Generation: 1},
		service:  event.Service{Meta: metaOf("service", name, name), Type: "ClusterIP", Selector: labels},
	}
	v.slice = event.EndpointSlice{
		Meta: metaOf("slice", name, name+"-x2x4z"), Service: name, Owner: v.service.UID, ManagedBy: "endpointslice-controller.k8s.io", Writer: "kube-controller-manager",
	}
	v.endpoints = event.Endpoints{Meta: metaOf("endpoints", name, name), Writer: "kube-controller-manager"}
	u.objects = append(u.objects, &v.workload, &v.service, &v.slice, &v.endpoints)
	for j := range 20 {
		p := &event.Pod{
			Meta: metaOf("pod", name, fmt.Sprintf("%s-5d4f7c8b9-%05d", name, j)), Node: fmt.Sprintf("other-%d", j), Phase: "Running", Owner: "ReplicaSet/" + name + "-5d4f7c8b9",
			Labels: labels, Ready: &event.Condition{Status: event.StatusTrue, LastTransitionTime: begin.Add(-time.Hour).Truncate(time.Second)}, ContainersReady: event.StatusTrue,
			Containers: []event.Container{{Name: "app", Image: "app:1", ID: "1", Ready: true, State: "running", Started: begin.Add(-time.Hour)}},
		}
		v.pods = append(v.pods, p)
		u.objects = append(u.objects, p)
	}
	v.fill()
	u.services = append(u.services, v)
	return v
}

func (v *otherService) fill() {
	v.slice.Addresses = nil
	for _, p := range v.pods {
		v.slice.Addresses = append(v.slice.Addresses, event.Address{
			UID: p.UID, IP: "10.7." + strings.TrimPrefix(v.service.Name, "other-") + "." + strconv.Itoa(len(v.slice.Addresses)),
			Node: p.Node, Ready: p.Ready.Status == event.StatusTrue,
		})
	}
	v.endpoints.Addresses = v.slice.Addresses
}

// flaps schedules something.
func (u *unrelated) flaps(at time.Time, do func(time.Time)) {
	i, _ := slices.BinarySearchFunc(u.due, at, func(f otherFlap, at time.Time) int { return f.at.Compare(at) })
	u.due = slices.Insert(u.due, i, otherFlap{at, do})
}

// runUntil lets everything happen that is due, unless nothing arrives from the cluster.
func (u *unrelated) runUntil(t time.Time) {
	for len(u.due) > 0 && !u.due[0].at.After(t) && u.due[0].at.Sub(u.heartbeat) < 12*time.Second {
		x := u.due[0]
		u.due = u.due[1:]
		if at := u.all[len(u.all)-1].Seen; x.at.Before(at) {
			x.at = at
		}
		x.do(x.at)
	}
}

// flap makes a pod not ready for some seconds.
func (u *unrelated) flap(v *otherService, p *event.Pod, at time.Time) {
	if p.Ready.Status != event.StatusTrue {
		return
	}
	u.turn(v, p, at, event.StatusFalse)
	u.flaps(at.Add(time.Duration(2+u.random.IntN(20))*time.Second), func(at time.Time) { u.turn(v, p, at, event.StatusTrue) })
}

func (u *unrelated) turn(v *otherService, p *event.Pod, at time.Time, to event.Status) {
	p.Ready = &event.Condition{Status: to, LastTransitionTime: at.Truncate(time.Second)}
	if to == event.StatusFalse {
		p.Ready.Reason = "ContainersNotReady"
	}
	p.ContainersReady, p.Containers[0].Ready = to, to == event.StatusTrue
	v.fill()
	for _, o := range []event.Object{p, &v.slice, &v.endpoints} {
		u.emit(event.Event{Seen: at, Kind: o.Kind(), Type: event.Modified, Object: o})
	}
}

// emit adds an event with a copy of its object, if its watch works.
func (u *unrelated) emit(e event.Event) {
	u.serial++
	e.Object.Metadata().ResourceVersion = "other" + strconv.Itoa(u.serial)
	if u.synced[e.Kind] {
		e.Object = copyObject(e.Object)
		u.all = append(u.all, e)
	}
}

// list adds the objects to a list.
func (u *unrelated) list(synced event.Event) {
	for _, o := range u.objects {
		if o.Kind() == synced.Kind {
			u.all = append(u.all, event.Event{Seen: synced.Seen, Kind: synced.Kind, Type: event.Listed, Object: copyObject(o)})
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
		o, n := copyObject(e.Object), &u.nodes[i]
		*o.Metadata() = metaOf(e.Kind.String(), e.Object.Metadata().Namespace, fmt.Sprintf("other-%d", i))
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
func (u *unrelated) turnNode(n *event.Node, at time.Time, to event.Status, reason, message string) {
	if n.Name == "" {
		return // the model was not listed yet, or there is none
	}
	n.Ready = &event.Condition{Status: to, Reason: reason, Message: message, LastTransitionTime: at.Truncate(time.Second), LastHeartbeatTime: at.Truncate(time.Second)}
	u.emit(event.Event{Seen: at, Kind: event.KindNode, Type: event.Modified, Object: n})
}

// complain lets a kubelet report its node as not ready for half a minute.
func (u *unrelated) complain(n *event.Node, at time.Time) {
	if n.Ready == nil || n.Ready.Status != event.StatusTrue {
		return
	}
	u.turnNode(n, at, event.StatusFalse, "KubeletNotReady", "container runtime is down")
	u.flaps(at.Add(30*time.Second), func(at time.Time) { u.turnNode(n, at, event.StatusTrue, "KubeletReady", "") })
}

// fallSilent lets the first node send no heartbeat for 55 s, so that the node controller marks it.
func (u *unrelated) fallSilent(at time.Time) {
	n := &u.nodes[0]
	if n.Ready == nil || n.Ready.Status != event.StatusTrue {
		return
	}
	u.silent = true
	u.flaps(at.Add(44*time.Second), func(at time.Time) { u.turnNode(n, at, event.StatusUnknown, "NodeStatusUnknown", "") })
	u.flaps(at.Add(55*time.Second), func(at time.Time) { u.silent = false })
	u.flaps(at.Add(67*time.Second), func(at time.Time) { u.turnNode(n, at, event.StatusTrue, "KubeletReady", "") })
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
