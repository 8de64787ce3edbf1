package recording

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// flap returns the three events of a pod that loses or regains readiness, one of 15 pods of its Service.
func flap(n int) []event.Event {
	const pods = 15
	ready, service, pod := n%2 == 1, n/2%300, n/600%pods
	namespace := fmt.Sprintf("team-%d", service%40)
	name := fmt.Sprintf("service-%d", service)
	uid := func(kind event.Kind, of int) event.UID {
		return event.UID{byte(kind), byte(service >> 8), byte(service), byte(of), byte(of * 41), byte(service * 77), byte(of * 13), byte(of * service), 9, byte(of * 3), byte(service * 5), 4, 7, 1, byte(of * 7), byte(service * 11)}
	}
	meta := func(kind event.Kind, of int) event.Meta {
		return event.Meta{UID: uid(kind, of), Namespace: namespace, Name: name, ResourceVersion: fmt.Sprint(4_000_000 + n)}
	}
	addresses := make([]event.Address, pods)
	for i := range addresses {
		addresses[i] = event.Address{UID: uid(event.KindPod, i), IP: fmt.Sprintf("10.%d.%d.%d", service>>8, service&255, i), Node: fmt.Sprintf("node-%d", (service*pods+i)%1000), Ready: i != pod || ready}
	}
	seen := noon.Add(time.Duration(n) * 100 * time.Millisecond)
	object := &event.Pod{
		Meta: meta(event.KindPod, pod), Node: "node-17", Phase: "Running", Ready: &event.Condition{Status: event.StatusTrue, LastTransitionTime: seen},
		ContainersReady: event.StatusTrue, Owner: "ReplicaSet/" + name + "-7d4b9c6f5", Labels: map[string]string{"app": name, "pod-template-hash": "7d4b9c6f5"},
		Containers: []event.Container{{Name: "app", Image: "registry.example/app:1", ID: "containerd://" + uid(event.KindPod, pod).String(), Ready: ready, State: "running", Started: noon}},
	}
	if !ready {
		object.Ready.Status, object.Ready.Reason, object.Ready.Message = event.StatusFalse, "ContainersNotReady", "containers with unready status: [app]"
	}
	return []event.Event{
		{Seen: seen, Kind: event.KindPod, Type: event.Modified, Object: object},
		{Seen: seen, Kind: event.KindEndpoints, Type: event.Modified, Object: &event.Endpoints{Meta: meta(event.KindEndpoints, 0), Writer: "kube-controller-manager", Addresses: addresses}},
		{Seen: seen, Kind: event.KindEndpointSlice, Type: event.Modified, Object: &event.EndpointSlice{Meta: meta(event.KindEndpointSlice, 0), Service: name, ManagedBy: "endpointslice-controller.k8s.io", Writer: "kube-controller-manager", Addresses: addresses}},
	}
}

// BenchmarkWriteFlaps measures a second of a cluster of 1,000 nodes in which ten pods per second change their
// readiness: 100 renewals, 30 events, and a flush.
func BenchmarkWriteFlaps(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "flaps.jsonl.gz"), Header{Recorded: noon})
	if err != nil {
		b.Fatal(err)
	}
	renewal := func(node int, seen time.Time) event.Event {
		return event.Event{Seen: seen, Kind: event.KindLease, Type: event.Modified, Object: &event.Lease{
			Meta:      event.Meta{UID: event.UID{1, byte(node >> 8), byte(node)}, Namespace: "kube-node-lease", Name: fmt.Sprint("node-", node), ResourceVersion: fmt.Sprint(4_000_000 + seen.Sub(noon)/time.Millisecond)},
			RenewTime: seen.Add(-50 * time.Millisecond), DurationSeconds: 40,
		}}
	}
	for node := range 1000 {
		if err := w.Write(renewal(node, noon)); err != nil {
			b.Fatal(err)
		}
	}
	const seconds = 1200
	var events [seconds][]event.Event
	for s := range seconds {
		for i := range 10 {
			events[s] = append(events[s], flap(s*10+i)...)
		}
		for i := range 100 {
			events[s] = append(events[s], renewal((s*100+i)%1000, events[s][29].Seen.Add(time.Duration(i)*time.Millisecond)))
		}
	}
	base, s := w.Size(), 0
	b.ReportAllocs()
	for b.Loop() {
		shift := time.Duration(s/seconds) * seconds * time.Second
		for _, ev := range events[s%seconds] {
			ev.Seen = ev.Seen.Add(shift)
			if err := w.Write(ev); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		s++
	}
	b.ReportMetric(float64(w.Size()-base)/float64(b.N), "B-written/s")
}
