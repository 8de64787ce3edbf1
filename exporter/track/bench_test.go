package track

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// apply measures Apply with events that it repeats.
func apply(b *testing.B, f *Tracker, events ...event.Event) {
	b.Helper()
	b.ReportAllocs()
	at := zero
	for i := 0; b.Loop(); i++ {
		e := events[i%len(events)]
		at = at.Add(time.Millisecond)
		e.Seen = at
		f.Apply(e)
	}
}

func listed(f *Tracker, kind event.Kind, objects ...event.Object) {
	f.Apply(event.Event{Seen: zero, Kind: kind, Type: event.Listing})
	for _, o := range objects {
		f.Apply(event.Event{Seen: zero, Kind: kind, Type: event.Listed, Object: o})
	}
	f.Apply(event.Event{Seen: zero, Kind: kind, Type: event.Synced})
}

func changed(o event.Object) event.Event {
	return event.Event{Kind: o.Kind(), Type: event.Modified, Object: o}
}

// hundred returns a slice with 100 addresses, the controller's maximum per slice. mark is put in front of the first
// address.
func hundred(mark string) *event.EndpointSlice {
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("web-%d", i)
	}
	names[0] = mark + names[0]
	return slice("a", "web", names...)
}

// BenchmarkLeaseRenewal simulates 5,000 nodes that renew every 10 s, which makes 500 events per second.
func BenchmarkLeaseRenewal(b *testing.B) { renewals(b, 10*time.Second) }

// BenchmarkLateLeaseRenewal simulates an overloaded etcd that accepts a renewal only every 30 s, so each renewal is
// late. The nodes have 50,000 addresses.
func BenchmarkLateLeaseRenewal(b *testing.B) { renewals(b, 30*time.Second) }

func renewals(b *testing.B, interval time.Duration) {
	const count = 5000
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

// BenchmarkReadyOnLostNode measures the query for Ready pods on lost nodes while one of 5,000 nodes is lost. The
// cluster has 150,000 pods.
func BenchmarkReadyOnLostNode(b *testing.B) {
	const nodes, pods = 5000, 150000
	f := New(grace40)
	var all, leases, running []event.Object
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		all, leases = append(all, aNode(name, ready, 0)), append(leases, lease(name, 0))
	}
	for i := range pods {
		p := aPod(fmt.Sprintf("web-%d", i), ready)
		p.Node = fmt.Sprintf("node-%d", i%nodes)
		running = append(running, p)
	}
	listed(f, event.KindNode, all...)
	listed(f, event.KindLease, leases...)
	listed(f, event.KindPod, running...)
	for i := 1; i < nodes; i++ {
		f.Apply(event.Event{Seen: zero.Add(30 * time.Second), Kind: event.KindLease, Type: event.Modified, Object: lease(fmt.Sprintf("node-%d", i), 30)})
	}
	at := zero.Add(60 * time.Second)
	if got := f.Misreported(at, nil); len(got) != 1 || got[0].Pods != pods/nodes {
		b.Fatalf("misreported: %v", got)
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Misreported(at, nil)
	}
}

func BenchmarkPodUnchanged(b *testing.B) {
	f := New(grace40)
	p := aPod("web-1", ready, running("app:1", 0), event.Container{Name: "sidecar", Image: "proxy:7", Ready: true})
	listed(f, event.KindPod, p)
	apply(b, f, changed(p))
}

func BenchmarkSliceUnchanged(b *testing.B) {
	f := New(grace40)
	listed(f, event.KindService, aService("web", true))
	listed(f, event.KindEndpointSlice, hundred(""))
	apply(b, f, changed(hundred("")))
}

func BenchmarkSliceWithAFlip(b *testing.B) {
	f := New(grace40)
	listed(f, event.KindService, aService("web", true))
	listed(f, event.KindEndpointSlice, hundred(""))
	apply(b, f, changed(hundred("-")), changed(hundred("")))
}

// BenchmarkNodeWhileReadinessLossesWait changes a node while pods of other nodes wait for their nodes' events. The cost
// must not depend on the number of waiting pods.
func BenchmarkNodeWhileReadinessLossesWait(b *testing.B) {
	for _, waiting := range []int{1_000, 40_000} {
		b.Run(strconv.Itoa(waiting), func(b *testing.B) {
			f := New(grace40)
			listed(f, event.KindNode, aNode("node-1", ready, 0), aNode("node-2", ready, 0))
			for i := range waiting {
				name := "web-" + strconv.Itoa(i)
				f.Apply(event.Event{Seen: zero, Kind: event.KindPod, Type: event.Added, Object: aPod(name, ready)})
				marked := aPod(name, notReady)
				marked.ContainersReady = ready
				f.Apply(event.Event{Seen: zero, Kind: event.KindPod, Type: event.Modified, Object: marked})
			}
			for b.Loop() {
				f.Apply(event.Event{Seen: zero, Kind: event.KindNode, Type: event.Modified, Object: unknownSince("node-2", 1)})
				f.Apply(event.Event{Seen: zero, Kind: event.KindNode, Type: event.Modified, Object: aNode("node-2", ready, 1)})
			}
			for i := range waiting {
				if w := f.pods.Find(id("pod/web-"+strconv.Itoa(i))).LossBefore(0, zero); !w.Undecided {
					b.Fatalf("pod %d does not wait", i)
				}
			}
		})
	}
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
	p.Node, p.Namespace = fmt.Sprintf("node-%d", i%1000), fmt.Sprintf("namespace-%d", i%100)
	p.Owner = fmt.Sprintf("ReplicaSet/workload-%d-7d9c5b8f6", i/15)
	return p
}

// BenchmarkList30000Pods measures a first list of 30,000 pods, and a later list in which 100 of them are missing.
func BenchmarkList30000Pods(b *testing.B) {
	pods := make([]event.Object, 30000)
	for i := range pods {
		pods[i] = benchPod(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		f := New(grace40)
		listed(f, event.KindPod, pods...)
		listed(f, event.KindPod, pods[100:]...)
	}
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

// BenchmarkWorkloadUnchanged measures an event that changes only a Deployment's status.
func BenchmarkWorkloadUnchanged(b *testing.B) {
	f := New(grace40)
	listed(f, event.KindDeployment, benchWorkload(1))
	apply(b, f, changed(benchWorkload(1)))
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

// BenchmarkPodWhileLossesWait measures a pod's event while many losses wait for their evidence.
func BenchmarkPodWhileLossesWait(b *testing.B) {
	for _, waiting := range []int{1_000, 10_000, 40_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			f := New(grace40)
			var pods, slices []event.Object
			for i := range waiting {
				name := fmt.Sprint("web-", i)
				pods = append(pods, aPod(name, ready))
				slices = append(slices, slice(name, "web", name))
			}
			listed(f, event.KindService, aService("web", true))
			listed(f, event.KindPod, append(pods, aPod("other", ready))...)
			listed(f, event.KindEndpointSlice, slices...)
			for i := range waiting {
				name := fmt.Sprint("web-", i)
				f.Apply(event.Event{Seen: zero, Kind: event.KindEndpointSlice, Type: event.Modified, Object: slice(name, "web", "-"+name)})
			}
			other := aPod("other", ready)
			b.ReportAllocs()
			for b.Loop() {
				f.Apply(event.Event{Seen: zero, Kind: event.KindPod, Type: event.Modified, Object: other})
			}
		})
	}
}
