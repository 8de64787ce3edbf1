package track

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func listed(f *Tracker, kind event.Kind, objects ...event.Object) {
	f.Apply(event.Event{Seen: zero, Kind: kind, Type: event.Listing})
	for _, o := range objects {
		f.Apply(event.Event{Seen: zero, Kind: kind, Type: event.Listed, Object: o})
	}
	f.Apply(event.Event{Seen: zero, Kind: kind, Type: event.Synced})
}

// BenchmarkLateLeaseRenewal simulates 5,000 nodes with 50,000 addresses, and an overloaded etcd that accepts a renewal
// only every 30 s.
func BenchmarkLateLeaseRenewal(b *testing.B) {
	const count, interval = 5000, 30 * time.Second
	f := New(grace40)
	var services, pods, slices []event.Object
	for i := range 500 {
		service := fmt.Sprintf("web-%d", i)
		var names []string
		for j := range 100 {
			names = append(names, fmt.Sprintf("%s-%d", service, j))
			p := aPod(names[j], ready)
			p.Node = fmt.Sprintf("node-%d", (100*i+j)%count)
			pods = append(pods, p)
		}
		services, slices = append(services, aService(service, true)), append(slices, slice(service, service, names...))
	}
	listed(f, event.KindService, services...)
	listed(f, event.KindPod, pods...)
	listed(f, event.KindEndpointSlice, slices...)
	var nodes, leases []event.Object
	for i := range count {
		nodes = append(nodes, aNode(fmt.Sprintf("node-%d", i), ready, 0))
		leases = append(leases, lease(fmt.Sprintf("node-%d", i), 0))
	}
	listed(f, event.KindNode, nodes...)
	listed(f, event.KindLease, leases...)
	b.ReportAllocs()
	at := zero
	for i := 0; b.Loop(); i++ {
		at = at.Add(interval / count)
		l := leases[i%count].(*event.Lease)
		l.RenewTime = at
		f.Apply(event.Event{Seen: at, Kind: event.KindLease, Type: event.Modified, Object: l})
	}
}

// BenchmarkPodEvent measures an event of a pod that changes nothing: in a StatefulSet of 500 pods with a Service for each, and
// in a Deployment of 1,000 pods with one Service.
func BenchmarkPodEvent(b *testing.B) {
	for _, size := range []struct{ services, addresses int }{{500, 1}, {1, 1000}} {
		b.Run(fmt.Sprintf("%d Services of %d", size.services, size.addresses), func(b *testing.B) {
			f, last := aFamily(size.services, size.addresses)
			at := zero.Add(time.Minute)
			b.ReportAllocs()
			for b.Loop() {
				at = at.Add(10 * time.Millisecond)
				f.Apply(event.Event{Seen: at, Kind: event.KindPod, Type: event.Modified, Object: last})
			}
		})
	}
}

// aFamily returns a tracker of pods with the same template in some Services, and the last pod.
func aFamily(services, addresses int) (*Tracker, *event.Pod) {
	f := New(grace40)
	var all, pods, slices []event.Object
	for i := range services {
		s, o := aService(fmt.Sprintf("service-%d", i), true), slice(fmt.Sprintf("slice-%d", i), fmt.Sprintf("service-%d", i))
		for j := range addresses {
			p := aPod(fmt.Sprintf("web-%d", addresses*i+j), ready)
			p.Labels = maps.Clone(s.Selector)
			pods, o.Addresses = append(pods, p), append(o.Addresses, addressOf(p.Name, j))
		}
		all, slices = append(all, s), append(slices, o)
	}
	for _, some := range [][]event.Object{all, pods, slices} {
		listed(f, some[0].Kind(), some...)
	}
	f.Advance(zero.Add(time.Minute))
	return f, pods[len(pods)-1].(*event.Pod)
}

// bytesPer reports the memory that the tracker holds for each of n objects.
func bytesPer(b *testing.B, what string, n int, fill func(*Tracker)) {
	b.Helper()
	for b.Loop() {
		before := heapInUse()
		f := New(grace40)
		fill(f)
		b.ReportMetric(float64(heapInUse()-before)/float64(n), "B/"+what)
		runtime.KeepAlive(f)
	}
}

// heapInUse returns the memory in use after two collections, because the first one leaves objects with finalizers and
// weak pointers.
func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkBytesPerPod(b *testing.B) {
	const pods = 30000
	bytesPer(b, "pod", pods, func(f *Tracker) {
		for i := range pods {
			f.Apply(event.Event{Seen: zero, Kind: event.KindPod, Type: event.Listed, Object: benchPod(i)})
		}
	})
}

func benchPod(i int) event.Object {
	p := aPod(fmt.Sprintf("workload-%d-7d9c5b8f6-x%04d", i/15, i), ready, running("app:1", 0),
		event.Container{Name: "sidecar", Image: "proxy:7", Ready: true})
	p.Node, p.Namespace = fmt.Sprintf("node-%d", i%1000), fmt.Sprintf("namespace-%d", i/15%100)
	p.Owner = fmt.Sprintf("ReplicaSet/workload-%d-7d9c5b8f6", i/15)
	return p
}

// BenchmarkBytesPerWorkload measures the workloads of a cluster with 30,000 pods.
func BenchmarkBytesPerWorkload(b *testing.B) {
	const workloads = 2000
	bytesPer(b, "workload", workloads, func(f *Tracker) {
		for i := range workloads {
			f.Apply(event.Event{Seen: zero, Kind: event.KindDeployment, Type: event.Listed, Object: benchWorkload(i)})
		}
	})
}

// benchWorkload has texts of its own, as if no cache of the decoder contained them.
func benchWorkload(i int) *event.Workload {
	name := fmt.Sprintf("workload-%d", i)
	w := aWorkload(event.KindDeployment, name, 15)
	w.Namespace, w.Selector = fmt.Sprintf("namespace-%d", i%100), map[string]string{}
	for _, label := range []string{"app.kubernetes.io/name", "app.kubernetes.io/instance"} {
		w.Selector[strings.Clone(label)] = strings.Clone(name)
	}
	return w
}

// BenchmarkCollection measures a garbage collection with the state of 1,000 nodes and 30,000 pods in 2,000 Services.
// Collections make the slowest scrapes.
func BenchmarkCollection(b *testing.B) {
	const count, services = 30000, 2000
	f := New(grace40)
	var all, slices, endpoints, pods, nodes, leases []event.Object
	for i := range 1000 {
		nodes = append(nodes, aNode(fmt.Sprintf("node-%d", i), ready, 0))
		leases = append(leases, lease(fmt.Sprintf("node-%d", i), 0))
	}
	for i := range services {
		all = append(all, aService(fmt.Sprintf("service-%d", i), true))
		var names []string
		for j := range count / services {
			p := benchPod(i*count/services + j).(*event.Pod)
			p.UID = id(fmt.Sprintf("pod/workload-%d-%d", i, j))
			pods, names = append(pods, p), append(names, fmt.Sprintf("workload-%d-%d", i, j))
		}
		o := slice(fmt.Sprintf("slice-%d", i), fmt.Sprintf("service-%d", i), names...)
		eps := handWritten(o.Service)
		eps.Addresses = o.Addresses
		slices, endpoints = append(slices, o), append(endpoints, eps)
	}
	before := heapInUse()
	for _, some := range [][]event.Object{nodes, leases, all, pods, endpoints, slices} {
		listed(f, some[0].Kind(), some...)
	}
	f.Advance(zero.Add(time.Minute))
	size := heapInUse() - before
	runtime.KeepAlive([][]event.Object{all, slices, endpoints, pods, nodes, leases})
	for b.Loop() {
		runtime.GC()
	}
	b.ReportMetric(float64(size)/count, "B/pod")
	runtime.KeepAlive(f)
}

func BenchmarkBytesPerAddress(b *testing.B) {
	const services, addresses = 2000, 15
	bytesPer(b, "address", services*addresses, func(f *Tracker) {
		for i := range services {
			s := aService(fmt.Sprintf("service-%d", i), true)
			names := make([]string, addresses)
			for j := range names {
				names[j] = fmt.Sprintf("workload-%d-%d", i, j)
			}
			o := slice(fmt.Sprintf("slice-%d", i), s.Name, names...)
			eps := handWritten(s.Name)
			eps.Addresses = o.Addresses
			for _, x := range []event.Object{s, o, eps} {
				f.Apply(event.Event{Seen: zero, Kind: x.Kind(), Type: event.Listed, Object: x})
			}
		}
	})
}
