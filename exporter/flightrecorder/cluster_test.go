package flightrecorder_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// cluster is a cluster of random objects. It keeps the events that it has sent to the recorder.
type cluster struct {
	*rand.Rand
	mu      sync.Mutex // mu is needed because the recorder lists while the cluster changes
	objects map[event.UID]event.Object
	version int
	sent    []event.Event
	to      *flightrecorder.Recorder
}

func newCluster(seed uint64, to *flightrecorder.Recorder) *cluster {
	return &cluster{Rand: rand.New(rand.NewPCG(seed, 7)), objects: map[event.UID]event.Object{}, to: to, version: 100}
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func (c *cluster) send(kind event.Kind, what event.Type, object event.Object, reason event.Reason) {
	ev := event.Event{Seen: now(), Kind: kind, Type: what, Object: object, Reason: reason}
	c.sent = append(c.sent, ev)
	c.to.Record(ev)
}

func (c *cluster) write(kind event.Kind, uid event.UID) event.Object {
	c.version++
	meta := event.Meta{UID: uid, Namespace: "shop", Name: fmt.Sprintf("%v-%x", kind, uid[15]), ResourceVersion: fmt.Sprint(c.version)}
	switch kind {
	case event.KindLease:
		return &event.Lease{Meta: meta, RenewTime: now().Add(-time.Duration(c.IntN(5000)) * time.Microsecond), DurationSeconds: 40}
	case event.KindNode:
		return &event.Node{Meta: meta, Unschedulable: c.IntN(2) == 0, BootID: fmt.Sprint(c.Uint64())}
	case event.KindDeployment:
		return &event.Workload{Meta: meta, Resource: kind, Replicas: c.Int32N(3), Generation: int64(c.version)}
	}
	return &event.Pod{Meta: meta, Node: "node-1", Phase: "Running", Owner: fmt.Sprint("ReplicaSet/", c.Uint64())}
}

var kinds = []event.Kind{event.KindNode, event.KindLease, event.KindPod, event.KindDeployment}

func uidOf(kind event.Kind, n int) event.UID { return event.UID{0: byte(kind), 15: byte(n)} }

// list sends the lists of all resources.
func (c *cluster) list() {
	for _, kind := range kinds {
		c.send(kind, event.Listing, nil, "")
		for _, object := range c.known(kind) {
			c.send(kind, event.Listed, object, "")
		}
		c.send(kind, event.Synced, nil, "")
	}
}

func (c *cluster) known(kind event.Kind) (all []event.Object) {
	for _, object := range c.objects {
		if object.Kind() == kind {
			all = append(all, object)
		}
	}
	slices.SortFunc(all, func(a, b event.Object) int { return cmp.Compare(a.Metadata().Name, b.Metadata().Name) })
	return all
}

// change creates, changes or deletes a random object.
func (c *cluster) change() { c.changeOf(kinds[c.IntN(len(kinds))]) }

func (c *cluster) changeOf(kind event.Kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	uid := uidOf(kind, c.IntN(12))
	switch {
	case c.objects[uid] == nil:
		c.objects[uid] = c.write(kind, uid)
		c.send(kind, event.Added, c.objects[uid], "")
	case kind != event.KindLease && c.IntN(5) == 0:
		delete(c.objects, uid)
		c.send(kind, event.Deleted, c.write(kind, uid), "") // a deletion has a version, too
	default:
		c.objects[uid] = c.write(kind, uid)
		c.send(kind, event.Modified, c.objects[uid], "")
	}
}

// api lists the objects as the API server would.
func (c *cluster) api(_ context.Context, kind event.Kind, each func(event.Object)) (string, error) {
	c.mu.Lock()
	all, version := c.known(kind), fmt.Sprint(c.version)
	c.mu.Unlock()
	for _, object := range all {
		each(object)
	}
	return version, nil
}

func settings(t *testing.T) flightrecorder.Settings {
	return flightrecorder.Settings{Dir: filepath.Join(t.TempDir(), "data"), Size: 256 << 20, Age: 30 * 24 * time.Hour}
}

// files returns the paths of the segments in the order of their names.
func files(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// withoutRaceDetector skips a test that runs in virtual time, one goroutine after the other, and takes long with the race
// detector.
func withoutRaceDetector(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector cannot find anything in it")
	}
}

// run starts a recorder in a synctest bubble and returns a function that stops it.
func run(t *testing.T, s flightrecorder.Settings) (r *flightrecorder.Recorder, stop func()) {
	t.Helper()
	r, err := flightrecorder.New(s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return r, func() {
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

func read(t *testing.T, dir string, from, to time.Time) (all []event.Event) {
	t.Helper()
	events, err := flightrecorder.Read(dir, from, to)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	return all
}
