package flightrecorder_test

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// manyPods is the number of pods in the first list of a large cluster, several times the size of the queue.
const manyPods = 100_000

func largePod(n int) *event.Pod {
	name := fmt.Sprintf("web-7d4b9c6f5-%05d", n)
	return &event.Pod{
		Meta: event.Meta{UID: event.UID{1, byte(n >> 16), byte(n >> 8), byte(n)}, Namespace: fmt.Sprintf("team-%d", n%500), Name: name, ResourceVersion: fmt.Sprint(1_000_000 + n)},
		Node: fmt.Sprintf("node-%d", n%5000), Phase: "Running", Owner: "ReplicaSet/web-7d4b9c6f5", ContainersReady: event.StatusTrue,
		Ready:      &event.Condition{Status: event.StatusTrue, LastTransitionTime: time.Unix(1_800_000_000, 0)},
		Containers: []event.Container{{Name: "app", Image: "registry.example/app:1", ID: "containerd://" + name, Ready: true, State: "running"}},
		Labels:     map[string]string{"app": "web", "pod-template-hash": "7d4b9c6f5", "tier": "front", "team": fmt.Sprint(n % 500)},
	}
}

// listPods sends a list as fast as possible, like a watcher.
func listPods(r *flightrecorder.Recorder, n int) {
	send := func(what event.Type, object event.Object) {
		ev := event.Event{Seen: time.Now(), Kind: event.KindPod, Type: what, Object: object}
		r.Record(ev)
		r.Pace(ev)
	}
	send(event.Listing, nil)
	for i := range n {
		send(event.Listed, largePod(i))
	}
	send(event.Synced, nil)
}

// TestTheFirstListOfALargeCluster checks that a list that is larger than the queue loses no event, although it arrives
// faster than it can be written.
func TestTheFirstListOfALargeCluster(t *testing.T) {
	s, n := settings(t), manyPods
	if testing.Short() {
		n /= 4 // this is still larger than the queue
	}
	r, stop, _ := start(t, s)
	began := time.Now()
	listPods(r, n)
	t.Logf("listed in %s", time.Since(began).Round(time.Millisecond))
	if status := r.Status(); status.Lost > 0 || status.Gaps > 0 {
		t.Fatalf("%d events lost, %d gaps", status.Lost, status.Gaps)
	}
	stop()
	if got := len(read(t, s.Dir, began.Add(-time.Second), time.Now())); got != n+2 {
		t.Errorf("%d events recorded, want %d", got, n+2)
	}
}

// TestAListDoesNotWaitForADiskThatHangs checks that nothing but the first object waits, and that objects that do not
// belong to a list never wait.
func TestAListDoesNotWaitForADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := flightrecorder.New(settings(t), slog.New(slog.DiscardHandler)) // it does not run, so nothing leaves the queue
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		listPods(r, 40_000)
		if took := time.Since(began).Round(10 * time.Millisecond); took != 5*time.Second {
			t.Errorf("it took %s, want 5 s", took)
		}
		began = time.Now()
		for i := range 1000 {
			ev := event.Event{Seen: time.Now(), Kind: event.KindPod, Type: event.Modified, Object: largePod(i)}
			r.Record(ev)
			r.Pace(ev)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("watch events waited: %s", took)
		}
	})
}

// BenchmarkTheFirstList reports the time per object of a large list.
func BenchmarkTheFirstList(b *testing.B) {
	for b.Loop() {
		r, stop, _ := start(b, flightrecorder.Settings{Dir: b.TempDir(), Size: 1 << 30, Age: time.Hour})
		began := time.Now()
		listPods(r, manyPods)
		b.ReportMetric(float64(time.Since(began).Nanoseconds())/manyPods, "ns/object")
		stop()
	}
}
