package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// world is a simulated cluster with the replicas of kubeflap that watch it.
type world struct {
	*clustertest.Cluster
	// zero is when the story begins.
	zero     time.Time
	replicas []*replica
	// others are clusters that the same Prometheus observes.
	others []*world
	// busy holds the times at which something happens.
	busy []time.Time
}

// lead is how long the clusters run before the story begins.
const lead = time.Hour

// newWorld returns a cluster with a kubeflap that has listed all objects.
func newWorld(c *clustertest.Cluster) *world {
	w := &world{Cluster: c, zero: c.Now.Add(lead)}
	w.add("a", c.Watchers[0])
	c.Start()
	return w
}

// add adds a replica of kubeflap.
func (w *world) add(name string, watcher *clustertest.Watcher) *replica {
	r := &replica{name: name, world: w, watcher: watcher}
	watcher.Sink = r.receive
	w.replicas = append(w.replicas, r)
	r.begin()
	w.After(time.Second, r.tick)
	w.After(time.Minute, watcher.Bookmark)
	return r
}

// happens schedules what happens to the replicas.
func (w *world) happens(t *testing.T, a clustertest.Act) {
	t.Helper()
	if a.Verb == "replica" {
		w.add(a.Args[0], w.Watch()).watcher.Start()
		return
	}
	i := slices.IndexFunc(w.replicas, func(r *replica) bool { return r.name == a.Verb })
	if i < 0 {
		t.Fatalf("there is no %s", a.Verb)
	}
	if a = a.Shift(); !w.replicas[i].happens(a) && !w.replicas[i].watcher.Does(a) {
		t.Fatalf("a replica cannot %s", a.Verb)
	}
}

// busyAt says that something happens at some seconds of the cluster. Around these times, Prometheus scrapes at its
// interval. At other times, most scrapes and evaluations are skipped.
func (w *world) busyAt(seconds ...float64) {
	for _, s := range seconds {
		w.busy = append(w.busy, clustertest.Begin.Add(clustertest.Seconds(s)))
	}
}

func (w *world) isBusy(t time.Time) bool {
	return slices.ContainsFunc(w.busy, func(b time.Time) bool {
		d := t.Sub(b)
		return d > -2*time.Minute && d < 16*time.Minute
	})
}

// runUntil runs the clusters.
func (w *world) runUntil(t time.Time) {
	w.RunUntil(t.Sub(clustertest.Begin).Seconds())
	for _, other := range w.others {
		other.runUntil(t)
	}
}

// replayed returns a cluster in which the events of a recording happen. After the end of the recording, the nodes that
// were alive then live on.
func replayed(t *testing.T, file string) *world {
	t.Helper()
	from := try(recording.Open(Root + "/" + file + ".jsonl.gz"))(t)
	defer from.Close()
	var w *world
	leases := map[string]*event.Lease{}
	for e, err := range from.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if w == nil {
			w = &world{Cluster: clustertest.New(1, 2)}
			w.Now, w.zero = e.Seen, e.Seen.Add(time.Second) // the first lists come before the first scrape
			r := &replica{name: "a", world: w}
			r.begin()
			w.replicas = append(w.replicas, r)
		}
		w.busy = append(w.busy, e.Seen)
		w.After(e.Seen.Sub(w.Now), func() { w.replicas[0].receive(e) })
		if lease, ok := e.Object.(*event.Lease); ok {
			leases[lease.Name] = lease
		}
	}
	last := w.busy[len(w.busy)-1]
	var liveOn func()
	liveOn = func() {
		for _, lease := range leases {
			if renewed := *lease; last.Sub(lease.RenewTime) < time.Minute {
				renewed.RenewTime = w.Now
				w.replicas[0].receive(event.Event{Seen: w.Now, Kind: event.KindLease, Type: event.Modified, Object: &renewed})
			}
		}
		for _, k := range event.Kinds() {
			w.replicas[0].receive(event.Event{Seen: w.Now, Kind: k, Type: event.Bookmark})
		}
		w.After(10*time.Second, liveOn)
	}
	w.After(last.Sub(w.Now), liveOn)
	return w
}
