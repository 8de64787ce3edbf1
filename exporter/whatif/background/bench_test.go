package background_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/whatif/background"
)

// large is a cluster of 1,000 nodes with 10,000 pods in 500 Services. It writes the files of a flight recorder.
type large struct {
	b       *testing.B
	w       *recording.Writer
	dir     string
	at      time.Time
	version int
	files   int
}

const (
	largeNodes   = 1000
	largePods    = 10 * largeNodes
	largeService = 20 // pods in a Service
)

func (l *large) meta(kind event.Kind, n int) event.Meta {
	l.version++
	return event.Meta{
		UID:       event.UID{byte(kind), byte(n >> 16), byte(n >> 8), byte(n), byte(n * 31), byte(n * 17), byte(n * 7)},
		Namespace: fmt.Sprint("team-", n%50), Name: fmt.Sprintf("%s-%d", kind, n), ResourceVersion: fmt.Sprint(l.version),
	}
}

func (l *large) write(what event.Type, kind event.Kind, object event.Object) {
	if err := l.w.Write(event.Event{Seen: l.at, Kind: kind, Type: what, Object: object}); err != nil {
		l.b.Fatal(err)
	}
}

// file begins a file: the first one of a generation, or the next one.
func (l *large) file(role string) {
	if l.w != nil {
		if err := l.w.Close(); err != nil {
			l.b.Fatal(err)
		}
	}
	var err error
	name := fmt.Sprintf("%s-%06d-%s.jsonl.gz", l.at.UTC().Format("20060102T150405.000000Z"), l.files+1, role)
	l.w, err = recording.CreateDense(filepath.Join(l.dir, name), recording.Header{Recorded: l.at})
	if err != nil {
		l.b.Fatal(err)
	}
}

func (l *large) lease(n int) *event.Lease {
	m := l.meta(event.KindLease, n)
	m.Namespace, m.Name = "kube-node-lease", fmt.Sprint("node-", n)
	return &event.Lease{Meta: m, RenewTime: l.at.Add(-5 * time.Millisecond).Truncate(time.Microsecond), DurationSeconds: 40}
}

func (l *large) node(n int, status event.Status) *event.Node {
	m := l.meta(event.KindNode, n)
	m.Namespace, m.Name = "", fmt.Sprint("node-", n)
	return &event.Node{
		Meta: m, Ready: &event.Condition{Status: status, LastHeartbeatTime: l.at.Truncate(time.Second)}, BootID: "boot",
		Labels: map[string]string{"topology.kubernetes.io/zone": fmt.Sprint("zone-", n%3)},
	}
}

func (l *large) pod(n int, status event.Status) *event.Pod {
	return &event.Pod{
		Meta: l.meta(event.KindPod, n), Node: fmt.Sprint("node-", n%largeNodes), Phase: "Running", Owner: fmt.Sprint("ReplicaSet/web-", n/largeService),
		Ready: &event.Condition{Status: status}, ContainersReady: event.StatusTrue, ToleratesUnreachable: &event.Toleration{Seconds: 300},
		Containers: []event.Container{{Name: "app", Image: "registry.example/app:1", ID: fmt.Sprint("containerd://", n), Ready: true, State: "running"}},
		Labels:     map[string]string{"app": fmt.Sprint("web-", n/largeService), "pod-template-hash": "7d4b9c6f5"},
	}
}

func (l *large) slice(service int, unready int) *event.EndpointSlice {
	s := &event.EndpointSlice{Meta: l.meta(event.KindEndpointSlice, service), Service: fmt.Sprint("services-", service)}
	for i := range largeService {
		n := service*largeService + i
		pod := l.meta(event.KindPod, n)
		s.Addresses = append(s.Addresses, event.Address{UID: pod.UID, IP: fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255), Node: fmt.Sprint("node-", n%largeNodes), Ready: n != unready})
	}
	return s
}

func (l *large) list() {
	list := func(kind event.Kind, n int, object func(int) event.Object) {
		l.write(event.Listing, kind, nil)
		for i := range n {
			l.write(event.Listed, kind, object(i))
		}
		l.write(event.Synced, kind, nil)
	}
	list(event.KindNode, largeNodes, func(i int) event.Object { return l.node(i, event.StatusTrue) })
	list(event.KindLease, largeNodes, func(i int) event.Object { return l.lease(i) })
	list(event.KindPod, largePods, func(i int) event.Object { return l.pod(i, event.StatusTrue) })
	list(event.KindService, largePods/largeService, func(i int) event.Object { return &event.Service{Meta: l.meta(event.KindService, i)} })
	list(event.KindEndpointSlice, largePods/largeService, func(i int) event.Object { return l.slice(i, -1) })
}

// run writes heartbeats, status reports every 5 minutes, and a pod that flaps every 10 s. Node 7 falls silent at the
// end of quiet, and returns after 90 s.
func (l *large) run(quiet, all time.Duration) (incident time.Time) {
	l.file("start")
	begin := l.at
	l.list()
	const step = 10 * time.Second / largeNodes
	from, to := begin.Add(quiet), begin.Add(quiet+90*time.Second)
	for i := 0; l.at.Sub(begin) < all; i++ {
		l.at = l.at.Add(step)
		n := i % largeNodes
		if n != 7 || l.at.Before(from) || l.at.After(to) {
			l.write(event.Modified, event.KindLease, l.lease(n))
		}
		if i%30 == 0 {
			l.write(event.Modified, event.KindNode, l.node(i/30%largeNodes, event.StatusTrue))
		}
		if i%largeNodes == 0 {
			pod := i / largeNodes * 7 % largePods
			for _, status := range []event.Status{event.StatusFalse, event.StatusTrue} {
				l.write(event.Modified, event.KindPod, l.pod(pod, status))
				l.write(event.Modified, event.KindEndpointSlice, l.slice(pod/largeService, map[bool]int{true: pod, false: -1}[status == event.StatusFalse]))
			}
			if l.at.Sub(begin) > time.Duration(l.files+1)*time.Hour {
				l.files++
				l.file("next")
			}
		}
	}
	if err := l.w.Close(); err != nil {
		l.b.Fatal(err)
	}
	return from
}

// peak returns the highest growth of the heap until stop is called.
func peak() (stop func() float64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, highest := m.HeapInuse, m.HeapInuse
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			runtime.ReadMemStats(&m)
			highest = max(highest, m.HeapInuse)
			time.Sleep(20 * time.Millisecond) // each look stops the program
		}
	}()
	return func() float64 {
		cancel()
		<-ended
		return float64(highest-before) / (1 << 20)
	}
}

// BenchmarkLargeCluster reports the time and the memory of the prediction for an incident of 90 s in a cluster of 1,000
// nodes: right after the begin of a generation of recordings, and at its end, 2 hours later.
func BenchmarkLargeCluster(b *testing.B) {
	for name, quiet := range map[string]time.Duration{"first": 10 * time.Minute, "last": 2 * time.Hour} {
		b.Run(name, func(b *testing.B) {
			l := &large{b: b, dir: b.TempDir(), at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
			start := l.run(quiet, quiet+12*time.Minute)
			end := start.Add(90 * time.Second)
			for b.Loop() {
				p := background.New(l.dir, 0)
				ctx, cancel := context.WithCancel(b.Context())
				ended := make(chan error, 1)
				go func() { ended <- p.Run(ctx) }()
				heap, began := peak(), time.Now()
				given := p.For("a", start, end, end.Add(time.Hour))
				for given.Answer == nil && given.Because == "it is being computed" {
					time.Sleep(2 * time.Millisecond)
					given = p.For("a", start, end, end.Add(time.Hour))
				}
				b.ReportMetric(time.Since(began).Seconds(), "s/prediction")
				b.ReportMetric(heap(), "MiB-heap")
				if given.Answer == nil {
					b.Log(given.Because)
				} else if x := given.Answer.Settings[0]; x.NodesUnknown.AtLeast < 1 {
					b.Errorf("the silence is missing: %+v", x)
				}
				cancel()
				if err := <-ended; err != nil {
					b.Error(err)
				}
			}
		})
	}
}
