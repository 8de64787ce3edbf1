package flightrecorder

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	dayNodes = 1000
	dayPods  = 10 * dayNodes
	// dayPart is the part of a day that the benchmark writes.
	dayPart = time.Hour
	// dayChurn is the interval between changes of pod readiness in the cluster.
	dayChurn = 10 * time.Second
)

// day writes a heartbeat of each of 1,000 nodes every 10 s, and pod churn, through a writer.
type day struct {
	b       *testing.B
	w       *writer
	rand    *rand.Rand
	version int
	events  int
}

func (d *day) write(at time.Time, what event.Type, object event.Object) {
	d.events++
	if err := d.w.write(event.Event{Seen: at, Kind: object.Kind(), Type: what, Object: object}); err != nil {
		d.b.Fatal(err)
	}
}

func (d *day) meta(kind event.Kind, n int) event.Meta {
	d.version++
	return event.Meta{
		UID: event.UID{byte(kind), byte(n >> 8), byte(n), 7, byte(n * 31), byte(n * 17)}, Namespace: "shop", Name: fmt.Sprintf("%s-%d", kind, n),
		ResourceVersion: fmt.Sprint(d.version),
	}
}

func (d *day) heartbeat(at time.Time, what event.Type, n int) {
	renew := at.Add(-time.Duration(d.rand.IntN(20000)) * time.Microsecond).Truncate(time.Microsecond) // the API has microsecond precision
	d.write(at, what, &event.Lease{Meta: d.meta(event.KindLease, n), RenewTime: renew, DurationSeconds: 40})
}

func (d *day) pod(at time.Time, what event.Type, n int) {
	d.write(at, what, &event.Pod{Meta: d.meta(event.KindPod, n), Node: fmt.Sprint("node-", n%dayNodes), Phase: "Running", Owner: fmt.Sprint("ReplicaSet/", n/50)})
}

func (d *day) list(at time.Time) {
	for _, kind := range []event.Kind{event.KindLease, event.KindPod} {
		if err := d.w.write(event.Event{Seen: at, Kind: kind, Type: event.Listing}); err != nil {
			d.b.Fatal(err)
		}
		for n := range map[event.Kind]int{event.KindLease: dayNodes, event.KindPod: dayPods}[kind] {
			if kind == event.KindLease {
				d.heartbeat(at, event.Listed, n)
			} else {
				d.pod(at, event.Listed, n)
			}
		}
		if err := d.w.write(event.Event{Seen: at, Kind: kind, Type: event.Synced}); err != nil {
			d.b.Fatal(err)
		}
	}
}

// BenchmarkADay reports bytes per node and day, time per event, and the recorder's memory.
func BenchmarkADay(b *testing.B) {
	for b.Loop() {
		r, err := New(Settings{Dir: b.TempDir(), Size: 4 << 30, Age: 48 * time.Hour}, slog.New(slog.DiscardHandler))
		if err != nil {
			b.Fatal(err)
		}
		w, err := newWriter(r)
		if err != nil {
			b.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d := &day{b: b, w: w, rand: rand.New(rand.NewPCG(1, 2))}
		at := time.Now().Add(-24 * time.Hour)
		began := time.Now()
		d.list(at)
		const step = 10 * time.Second / dayNodes
		for i := range int(dayPart / step) {
			at = at.Add(step)
			d.heartbeat(at, event.Modified, i%dayNodes)
			if i%int(dayChurn/step) == 0 {
				n := d.rand.IntN(dayPods)
				d.pod(at, event.Modified, n)
				d.pod(at, event.Modified, n)
				if err := errors.Join(w.open.Flush(), w.prune()); err != nil {
					b.Fatal(err)
				}
			}
		}
		took := time.Since(began)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if err := w.close(); err != nil {
			b.Fatal(err)
		}
		var bytes int64
		all, err := Segments(r.settings.Dir)
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range all {
			bytes += s.Size
		}
		b.ReportMetric(float64(bytes)/dayNodes*float64(24*time.Hour/dayPart), "B/node/day")
		b.ReportMetric(float64(took.Nanoseconds())/float64(d.events), "ns/event")
		b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1024, "KiB-heap")
	}
}
