package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// fakeService is a Deployment's Service, with the objects of the endpoints and endpointslice controllers.
type fakeService struct {
	event.Service
	slice     event.EndpointSlice
	endpoints event.Endpoints
	pods      []*fakePod
	// byHand is set if the addresses are manually managed, so that no controller writes them.
	byHand bool
}

type fakePod struct {
	event.Pod
	service *fakeService
	ip      string
	started time.Time
}

func (s *fakeCluster) service(name string, selector bool) *fakeService {
	v := &fakeService{Service: event.Service{Meta: metaOf("service", "shop", name), Type: "ClusterIP"}, byHand: !selector}
	if selector {
		v.Selector = map[string]string{"app": name}
	}
	v.slice = event.EndpointSlice{
		Meta: metaOf("slice", "shop", name+"-abcde"), Service: name, Owner: v.UID, ManagedBy: "endpointslice-controller.k8s.io", Writer: "kube-controller-manager",
	}
	v.endpoints = event.Endpoints{Meta: metaOf("endpoints", "shop", name), Writer: "kube-controller-manager"}
	s.services = append(s.services, v)
	return v
}

// objects returns the Service's Endpoints and slice. A Service with manual Endpoints has no slice.
func (v *fakeService) objects() []event.Object {
	if v.byHand {
		return []event.Object{&v.endpoints}
	}
	return []event.Object{&v.endpoints, &v.slice}
}

// fill writes the addresses like the controllers.
func (v *fakeService) fill() {
	v.slice.Addresses, v.endpoints.Addresses = nil, nil
	for _, p := range v.pods {
		if p.Labels["app"] != v.Selector["app"] {
			continue
		}
		leaves := !p.DeletionTimestamp.IsZero()
		a := event.Address{UID: p.UID, IP: p.ip, Ready: (p.Ready.Status == event.StatusTrue || v.PublishNotReady) && !leaves, Terminating: leaves}
		v.slice.Addresses = append(v.slice.Addresses, a)
		if !leaves {
			v.endpoints.Addresses = append(v.endpoints.Addresses, a)
		}
	}
}

// syncSoon runs the controllers after a short delay.
func (s *fakeCluster) syncSoon(v *fakeService) {
	if v.byHand {
		return
	}
	s.after(30*time.Millisecond, func() {
		v.fill()
		s.sendToWatch(event.Modified, &v.endpoints)
		s.sendToWatch(event.Modified, &v.slice)
	})
}

// serviceOn adds a Service with a ready pod on each of some nodes. Nodes are numbered from 1.
func (s *fakeCluster) serviceOn(name string, nodes ...int) []*fakePod {
	v := s.service(name, true)
	for _, i := range nodes {
		v.start(s, s.nodes[i-1]).serve()
	}
	v.fill()
	return v.pods
}

// slice writes a slice of another writer beside those of a Service, with the addresses of pods and manual ones.
func (s *fakeCluster) slice(name, service, manager string, addresses ...string) {
	o := &event.EndpointSlice{Meta: metaOf("slice", "shop", name), Service: service, ManagedBy: manager, Writer: "someone"}
	for _, word := range addresses {
		if strings.Contains(word, "/") {
			p := act{args: []string{word}}.pods(s)[0]
			o.Addresses = append(o.Addresses, event.Address{UID: p.UID, IP: p.ip, Ready: true})
		} else {
			o.Addresses = append(o.Addresses, byHand(word)...)
		}
	}
	typ := event.Added
	if i := s.sliceNamed(name); i >= 0 {
		typ, s.others = event.Modified, slices.Delete(s.others, i, i+1)
	}
	s.others = append(s.others, o)
	s.sendToWatch(typ, o)
}

func (s *fakeCluster) sliceNamed(name string) int {
	return slices.IndexFunc(s.others, func(o event.Object) bool { return o.Metadata().Name == name })
}

// edit changes the Endpoints of the Service shop/web as another writer, or as the controller that restores them.
func (s *fakeCluster) edit(writer, how string) {
	v := s.named("web")
	v.fill()
	v.endpoints.Writer = writer
	switch a := &v.endpoints.Addresses; how {
	case "adding":
		*a = append(*a, byHand("10.9.9.9")...)
	case "removing":
		*a = (*a)[1:]
	case "unready":
		(*a)[0].Ready = false
	}
	s.sendToWatch(event.Modified, &v.endpoints)
}

// deletesService deletes a Service at the given second, and its other objects shortly afterwards.
func (s *fakeCluster) deletesService(second float64, v *fakeService) {
	s.at(second, func() {
		s.services = slices.DeleteFunc(s.services, func(x *fakeService) bool { return x == v })
		s.sendToWatch(event.Deleted, &v.Service)
		s.after(time.Second, func() {
			for _, o := range v.objects() {
				s.sendToWatch(event.Deleted, o)
			}
		})
	})
}

func (s *fakeCluster) podsOn(n *fakeNode) (all []*fakePod) {
	for _, v := range s.services {
		for _, p := range v.pods {
			if p.Node == n.Name {
				all = append(all, p)
			}
		}
	}
	return all
}

// start creates a pod on a node. The pod is not ready at first.
func (v *fakeService) start(s *fakeCluster, n *fakeNode) *fakePod {
	s.serial++
	name := fmt.Sprintf("%s-5d4f7c8b9-%05d", v.Name, s.serial)
	p := &fakePod{service: v, started: s.now, ip: fmt.Sprintf("10.1.%d.%d", s.serial>>8, s.serial&255), Pod: event.Pod{
		Meta: metaOf("pod", "shop", name), Node: n.Name, Phase: "Running", Owner: "ReplicaSet/" + v.Name + "-5d4f7c8b9", Labels: map[string]string{"app": v.Name},
		Ready:      &event.Condition{Status: event.StatusFalse, Reason: "ContainersNotReady", LastTransitionTime: s.now},
		Containers: []event.Container{{Name: "app", Image: "app:1", ID: name + "/0", State: "running", Started: s.now}}, ContainersReady: event.StatusFalse,
	}}
	p.ToleratesUnreachable = &event.Toleration{Seconds: 300}
	p.ToleratesNotReady = p.ToleratesUnreachable
	v.pods = append(v.pods, p)
	return p
}

// serve makes a pod ready.
func (p *fakePod) serve() {
	p.Ready.Status, p.Ready.Reason, p.ContainersReady, p.Containers[0].Ready = event.StatusTrue, "", event.StatusTrue, true
}

// setReady writes the Ready condition like the kubelet.
func (p *fakePod) setReady(s *fakeCluster, to bool, reason string) {
	p.Ready.Status, p.Ready.Reason, p.Ready.LastTransitionTime = event.StatusFalse, reason, s.now.Truncate(time.Second)
	if to {
		p.serve()
		p.started = p.Ready.LastTransitionTime
	} else if reason == "ContainersNotReady" {
		p.ContainersReady, p.Containers[0].Ready = event.StatusFalse, false
	}
	s.sendToWatch(event.Modified, &p.Pod)
	s.syncSoon(p.service)
}

// mark makes a pod not ready like the node controller, which only changes Ready.
func (p *fakePod) mark(s *fakeCluster) {
	if p.Ready.Status != event.StatusTrue || !p.DeletionTimestamp.IsZero() {
		return
	}
	p.Ready.Status, p.Ready.LastTransitionTime = event.StatusFalse, s.now.Truncate(time.Second)
	s.sendToWatch(event.Modified, &p.Pod)
	s.syncSoon(p.service)
}

// restart restarts a container that stopped with its machine.
func (p *fakePod) restart(s *fakeCluster) {
	if !slices.Contains(p.service.pods, p) || !p.DeletionTimestamp.IsZero() {
		return
	}
	p.crash(s)
	s.after(s.between(3, 8), func() {
		if p.DeletionTimestamp.IsZero() {
			p.setReady(s, true, "")
		}
	})
}

// crash restarts a container, so that its pod is not ready.
func (p *fakePod) crash(s *fakeCluster) {
	c := &p.Containers[0]
	c.Restarts, c.ID, c.Started = c.Restarts+1, c.ID+"+", s.now
	c.LastReason, c.LastExitCode = "Error", 137
	p.setReady(s, false, "ContainersNotReady")
}

// stop deletes a pod, by an eviction if disruption is set. The pod disappears some seconds later.
func (p *fakePod) stop(s *fakeCluster, disruption string) {
	if !p.DeletionTimestamp.IsZero() {
		return
	}
	p.DeletionTimestamp, p.Disruption = s.now.Add(30*time.Second), disruption
	s.sendToWatch(event.Modified, &p.Pod)
	s.syncSoon(p.service)
	s.after(s.between(2, 6), func() { p.remove(s) })
}

func (p *fakePod) remove(s *fakeCluster) {
	if !slices.Contains(p.service.pods, p) {
		return
	}
	p.service.pods = slices.DeleteFunc(p.service.pods, func(x *fakePod) bool { return x == p })
	s.sendToWatch(event.Deleted, &p.Pod)
	s.syncSoon(p.service)
}

// replace starts another pod on the next schedulable node.
func (v *fakeService) replace(s *fakeCluster, p *fakePod) {
	at := slices.IndexFunc(s.nodes, func(n *fakeNode) bool { return n.Name == p.Node })
	for i := range s.nodes {
		n := s.nodes[(at+1+i)%len(s.nodes)]
		if n.gone || n.Unschedulable || len(n.Taints) > 0 || n.Ready.Status != event.StatusTrue || n.Name == p.Node {
			continue
		}
		x := v.start(s, n)
		s.sendToWatch(event.Added, &x.Pod)
		s.after(s.between(4, 9), func() { x.setReady(s, true, "") })
		return
	}
}

// updates changes the images of pods in place at the given second. The kubelet kills pod i's container kills(i) seconds
// later. The pod is then not ready for away seconds.
func (s *fakeCluster) updates(second float64, pods []*fakePod, kills func(i int) float64, away float64) {
	s.at(second, func() {
		for i, p := range pods {
			p.Containers[0].Image += "+"
			s.sendToWatch(event.Modified, &p.Pod)
			s.after(seconds(kills(i)), func() {
				p.crash(s)
				s.after(seconds(away), func() { p.setReady(s, true, "") })
			})
		}
	})
}

// write writes manual Endpoints at the given second.
func (s *fakeCluster) write(second float64, v *fakeService, ips ...string) {
	s.at(second, func() {
		v.endpoints.Addresses = byHand(ips...)
		v.endpoints.Writer, v.endpoints.LastApplied = "kubectl-client-side-apply", true
		v.endpoints.OtherWriter = v.endpoints.Writer
		s.sendToWatch(event.Modified, &v.endpoints)
	})
}

func byHand(ips ...string) (all []event.Address) {
	for _, ip := range ips {
		all = append(all, event.Address{UID: event.AddressUID(ip), IP: ip, ByHand: true, Ready: true})
	}
	return all
}
