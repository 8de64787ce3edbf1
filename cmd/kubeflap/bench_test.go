package main

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// flapping is a cluster of flapping pods. Each Service has 15 pods.
type flapping struct {
	pipeline *pipeline
	now      time.Time
	services int
	ready    []bool
}

const podsPerService = 15

func newFlapping(services int) *flapping {
	f := &flapping{now: time.Now(), services: services, ready: make([]bool, services*podsPerService)}
	settings := trackerSettings()
	settings.incidents = 500 // this is the default of --incidents.size
	f.pipeline = newPipeline(settings, func() time.Time { return f.now }, logReporter{promslog.New(&promslog.Config{Writer: io.Discard})})
	all := map[event.Kind][]event.Object{}
	for i := range f.ready {
		f.ready[i] = true
		all[event.KindPod] = append(all[event.KindPod], f.pod(i))
	}
	for s := range services {
		all[event.KindService] = append(all[event.KindService], &event.Service{Meta: f.meta("service", s), Type: "ClusterIP", Selector: map[string]string{"app": "web"}})
		all[event.KindEndpointSlice] = append(all[event.KindEndpointSlice], f.slice(s))
		all[event.KindEndpoints] = append(all[event.KindEndpoints], f.endpoints(s))
	}
	for _, k := range event.Kinds() {
		f.pipeline.apply(event.Event{Seen: f.now, Kind: k, Type: event.Listing})
		for _, o := range all[k] {
			f.pipeline.apply(event.Event{Seen: f.now, Kind: k, Type: event.Listed, Object: o})
		}
		f.pipeline.apply(event.Event{Seen: f.now, Kind: k, Type: event.Synced})
	}
	return f
}

func (f *flapping) meta(kind string, i int) event.Meta {
	name := fmt.Sprintf("workload-%d", i)
	return event.Meta{UID: event.ParseUID(kind + name), Namespace: fmt.Sprintf("namespace-%d", i%50), Name: name}
}

func (f *flapping) pod(i int) *event.Pod {
	ready := event.StatusFalse
	if f.ready[i] {
		ready = event.StatusTrue
	}
	m := f.meta("pod", i)
	m.Namespace = f.meta("service", i/podsPerService).Namespace
	return &event.Pod{
		Meta: m, Node: fmt.Sprintf("node-%d", i%100), Phase: "Running", Owner: "ReplicaSet/web",
		Ready: &event.Condition{Status: ready, Reason: "ContainersNotReady", LastTransitionTime: f.now}, ContainersReady: ready,
		Containers: []event.Container{{Name: "web", Image: "web:1", ID: "c", Ready: f.ready[i], State: "running", Started: f.now.Add(-time.Hour)}},
	}
}

func (f *flapping) addresses(service int) []event.Address {
	all := make([]event.Address, podsPerService)
	for i := range all {
		pod := service*podsPerService + i
		all[i] = event.Address{UID: f.meta("pod", pod).UID, IP: "10.0.0.1", Node: fmt.Sprintf("node-%d", pod%100), Ready: f.ready[pod]}
	}
	return all
}

func (f *flapping) slice(s int) *event.EndpointSlice {
	return &event.EndpointSlice{
		Meta: f.meta("slice", s), Service: f.meta("", s).Name, Owner: f.meta("service", s).UID, ManagedBy: "endpointslice-controller.k8s.io",
		Writer: "kube-controller-manager", Addresses: f.addresses(s),
	}
}

func (f *flapping) endpoints(s int) *event.Endpoints {
	m := f.meta("endpoints", s)
	return &event.Endpoints{Meta: m, Writer: "kube-controller-manager", Addresses: f.addresses(s)}
}

// BenchmarkFlaps measures the cost per event of a flapping pod, its slice or its Endpoints.
func BenchmarkFlaps(b *testing.B) {
	for _, services := range []int{200, 2000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			f := newFlapping(services)
			pods := len(f.ready)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				f.now = f.now.Add(2 * time.Millisecond)
				pod := i / 3 * 7919 % pods
				var o event.Object
				switch i % 3 {
				case 0:
					f.ready[pod] = !f.ready[pod]
					o = f.pod(pod)
				case 1:
					o = f.slice(pod / podsPerService)
				case 2:
					o = f.endpoints(pod / podsPerService)
				}
				f.pipeline.apply(event.Event{Seen: f.now, Kind: o.Kind(), Type: event.Modified, Object: o})
				i++
			}
		})
	}
}
