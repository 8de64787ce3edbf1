package clustertest

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Service is a Service with its pods, and the objects of the endpoints and endpointslice controllers.
type Service struct {
	event.Service
	Pods      []*Pod
	cluster   *Cluster
	slice     event.EndpointSlice
	endpoints event.Endpoints
	// byHand is set if the addresses are manually managed, so that no controller writes them.
	byHand bool
	workload
}

// Service adds a Service, with a selector for its own pods or without one.
func (c *Cluster) Service(namespace, name string, selector bool) *Service {
	v := &Service{cluster: c, Service: event.Service{Meta: Meta("service", namespace, name), Type: "ClusterIP"}, byHand: !selector}
	if selector {
		v.Selector = map[string]string{"app": name}
	}
	v.slice = event.EndpointSlice{
		Meta: Meta("slice", namespace, name+"-abcde"), Service: name, Owner: v.UID, ManagedBy: "endpointslice-controller.k8s.io", Writer: "kube-controller-manager",
	}
	v.endpoints = event.Endpoints{Meta: Meta("endpoints", namespace, name), Writer: "kube-controller-manager"}
	c.Services = append(c.Services, v)
	return v
}

// named returns the Service with a name.
func (c *Cluster) named(name string) *Service {
	return c.Services[slices.IndexFunc(c.Services, func(v *Service) bool { return v.Name == name })]
}

// objects returns the Service's Endpoints and slice. A Service with manual Endpoints has no slice.
func (v *Service) objects() []event.Object {
	if v.byHand {
		return []event.Object{&v.endpoints}
	}
	return []event.Object{&v.endpoints, &v.slice}
}

// Fill writes the addresses like the controllers.
func (v *Service) Fill() {
	v.slice.Addresses, v.endpoints.Addresses = nil, nil
	for _, p := range v.selected() {
		leaves := !p.DeletionTimestamp.IsZero()
		a := event.Address{UID: p.UID, IP: p.ip, Ready: (p.Ready.Status == event.StatusTrue || v.PublishNotReady) && !leaves, Terminating: leaves}
		v.slice.Addresses = append(v.slice.Addresses, a)
		if !leaves {
			v.endpoints.Addresses = append(v.endpoints.Addresses, a)
		}
	}
}

// selected returns the pods that the Service selects: its own, or those of another one. Pods that have failed do not count.
func (v *Service) selected() []*Pod {
	of := v
	if i := slices.IndexFunc(v.cluster.Services, func(x *Service) bool { return x.Name == v.Selector["app"] }); i >= 0 {
		of = v.cluster.Services[i]
	}
	return slices.DeleteFunc(slices.Clone(of.Pods), func(p *Pod) bool { return p.Labels["app"] != v.Selector["app"] || p.Phase == "Failed" })
}

// sync runs the controllers after a short delay.
func (v *Service) sync() {
	if v.byHand {
		return
	}
	v.cluster.After(v.delay+30*time.Millisecond, func() {
		if !slices.Contains(v.cluster.Services, v) {
			return
		}
		v.Fill()
		v.cluster.Tell(event.Modified, &v.endpoints)
		v.cluster.Tell(event.Modified, &v.slice)
	})
}

// changes writes a new spec of the Service.
func (v *Service) changes(how func(*event.Service)) {
	how(&v.Service)
	v.cluster.Tell(event.Modified, &v.Service)
	v.sync()
}

// deletes deletes the Service, and its other objects shortly afterwards.
func (v *Service) deletes() {
	c := v.cluster
	c.Services = slices.DeleteFunc(c.Services, func(x *Service) bool { return x == v })
	c.Tell(event.Deleted, &v.Service)
	c.After(time.Second, func() {
		for _, o := range v.objects() {
			c.Tell(event.Deleted, o)
		}
	})
}

// edit changes the Endpoints as another writer, or as the controller that restores them.
func (v *Service) edit(writer, how string) {
	v.Fill()
	v.endpoints.Writer = writer
	switch a := &v.endpoints.Addresses; how {
	case "adding":
		*a = append(*a, byHand("10.9.9.9")...)
	case "removing":
		*a = (*a)[1:]
	case "unready":
		(*a)[0].Ready = false
	}
	v.cluster.Tell(event.Modified, &v.endpoints)
}

// write writes Endpoints by hand. Of the writer -, nothing is known.
func (v *Service) write(writer string, addresses ...string) {
	writer = strings.TrimPrefix(writer, "-")
	v.endpoints.Addresses = addressesIn(v.cluster, addresses)
	v.endpoints.Writer, v.endpoints.LastApplied = writer, writer == kubectlApply
	v.endpoints.OtherWriter = v.endpoints.Writer
	v.cluster.Tell(event.Modified, &v.endpoints)
}

const kubectlApply = "kubectl-client-side-apply"

// addressesIn returns the addresses of pods, such as web/1, and manual ones.
func addressesIn(c *Cluster, words []string) (all []event.Address) {
	for _, word := range words {
		if strings.Contains(word, "/") {
			p := Act{Args: []string{word}}.pods(c)[0]
			all = append(all, event.Address{UID: p.UID, IP: p.ip, Ready: true})
		} else {
			all = append(all, byHand(word)...)
		}
	}
	return all
}

func byHand(ips ...string) (all []event.Address) {
	for _, ip := range ips {
		all = append(all, event.Address{UID: event.AddressUID(ip), IP: ip, ByHand: true, Ready: true})
	}
	return all
}

// slice writes a slice of another writer beside those of a Service, with the addresses of pods and manual ones.
func (c *Cluster) slice(name, service, manager string, addresses ...string) {
	o := &event.EndpointSlice{Meta: Meta("slice", "shop", name), Service: service, ManagedBy: manager, Writer: "someone"}
	if strings.HasSuffix(manager, ".k8s.io") {
		o.Writer = "kube-controller-manager"
	}
	o.Addresses = addressesIn(c, addresses)
	typ := event.Added
	if i := c.sliceNamed(name); i >= 0 {
		typ, c.Others = event.Modified, slices.Delete(c.Others, i, i+1)
	}
	c.Others = append(c.Others, o)
	c.Tell(typ, o)
}

// unslice deletes such a slice.
func (c *Cluster) unslice(name string) {
	i := c.sliceNamed(name)
	o := c.Others[i]
	c.Others = slices.Delete(c.Others, i, i+1)
	c.Tell(event.Deleted, o)
}

func (c *Cluster) sliceNamed(name string) int {
	return slices.IndexFunc(c.Others, func(o event.Object) bool { return o.Metadata().Name == name })
}
