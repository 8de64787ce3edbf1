package flightrecorder

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// busy makes the events of 1,000 nodes, and of Services with flapping pods.
type busy struct {
	now              time.Time
	renewals, flaps  int
	resourceVersions int
}

const podsPerService = 15

func (b *busy) meta(kind event.Kind, i int, name string) event.Meta {
	b.resourceVersions++
	return event.Meta{
		UID: event.ParseUID(fmt.Sprint(kind, i)), Namespace: fmt.Sprint("team-", i/150), Name: fmt.Sprint(name, i),
		ResourceVersion: fmt.Sprint(1_000_000 + b.resourceVersions),
	}
}

func (b *busy) lease(node int) event.Object {
	age := 3*time.Millisecond + rand.N(4*time.Millisecond)
	return &event.Lease{
		Meta: b.meta(event.KindLease, node, "node-"), RenewTime: b.now.Add(-age).Truncate(time.Microsecond), DurationSeconds: 40,
	}
}

// flap returns the new states of a pod, and of the Endpoints and the EndpointSlice of its Service.
func (b *busy) flap() []event.Object {
	service, turn := b.flaps%300, b.flaps/300
	b.flaps++
	flapping, ready := turn/2%podsPerService, turn%2 == 1
	var addresses []event.Address
	for i := range podsPerService {
		pod := service*podsPerService + i
		addresses = append(addresses, event.Address{
			UID: event.ParseUID(fmt.Sprint(event.KindPod, pod)), IP: fmt.Sprintf("10.128.%d.%d", pod>>8, pod&255),
			Ready: ready || i != flapping,
		})
	}
	pod := service*podsPerService + flapping
	digest := event.AddressUID(fmt.Sprint(pod)).String() + event.AddressUID(fmt.Sprint(-pod)).String()
	return []event.Object{
		&event.Pod{
			Meta: b.meta(event.KindPod, pod, "app-5d4f7b9c6-"), Node: fmt.Sprintf("node-%05d.example.internal", pod), Phase: "Running", Owner: "ReplicaSet/app-5d4f7b9c6",
			Ready:  &event.Condition{Reason: "ContainersNotReady", Message: "containers with unready status: [app]", LastTransitionTime: b.now.Truncate(time.Second)},
			Labels: map[string]string{"app.kubernetes.io/name": "app", "app.kubernetes.io/instance": "app", "app.kubernetes.io/version": "2.14.3", "pod-template-hash": "5d4f7b9c6"},
			Containers: []event.Container{
				{Name: "app", Image: "registry.example.com/app@sha256:" + digest, ID: "containerd://" + digest, Ready: ready, State: "running", Started: b.now.Truncate(time.Hour)},
				{Name: "proxy", Image: "registry.example.com/mesh/proxy:1.22.1", ID: "containerd://" + digest[1:], Ready: true, State: "running", Started: b.now.Truncate(time.Hour)},
			},
		},
		&event.Endpoints{Meta: b.meta(event.KindEndpoints, service, "app-"), Writer: "kube-controller-manager", Addresses: addresses},
		&event.EndpointSlice{
			Meta: b.meta(event.KindEndpointSlice, service, "app-"), Service: fmt.Sprint("app-", service), ManagedBy: "endpointslice-controller.k8s.io",
			Writer: "kube-controller-manager", Addresses: addresses,
		},
	}
}

// second returns the events of a second.
func (b *busy) second(flaps int) (all []event.Event) {
	var objects []event.Object
	for range 100 {
		objects = append(objects, b.lease(b.renewals%1000))
		b.renewals++
	}
	for range flaps {
		objects = append(objects, b.flap()...)
	}
	for _, object := range objects {
		b.now = b.now.Add(rand.N(2 * time.Second / time.Duration(len(objects))))
		all = append(all, event.Event{Seen: b.now, Kind: object.Kind(), Type: event.Modified, Object: object})
	}
	return all
}

// BenchmarkRecord measures what it costs to record a second, with heartbeats only and with 30 other events.
func BenchmarkRecord(b *testing.B) {
	for _, flaps := range []int{0, 10} {
		b.Run(fmt.Sprintf("flaps=%d", flaps), func(b *testing.B) {
			r, err := New(Settings{Dir: b.TempDir(), Size: 1 << 40, Age: 14 * 24 * time.Hour}, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			w, from := &writer{recorder: r}, &busy{now: time.Now().Round(0)}
			record := func(all []event.Event) {
				for _, ev := range all {
					r.Record(ev)
				}
				if err := w.writeQueue(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			for range 100 {
				record(from.second(flaps))
			}
			before, took := measured(b, r.settings.Dir), time.Duration(0)
			for b.Loop() {
				all, begin := from.second(flaps), time.Now()
				record(all)
				took += time.Since(begin)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/second")
			b.ReportMetric(float64(measured(b, r.settings.Dir)-before)/float64(b.N), "bytes/second")
			b.ReportMetric(0, "ns/op")
			if err := w.close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func measured(b *testing.B, dir string) int64 {
	b.Helper()
	all, err := Segments(dir)
	if err != nil {
		b.Fatal(err)
	}
	return sizeOf(all)
}
