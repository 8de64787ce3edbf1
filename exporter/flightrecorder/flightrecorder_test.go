package flightrecorder_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
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
	}
	return &event.Pod{Meta: meta, Node: "node-1", Phase: "Running", Owner: fmt.Sprint("ReplicaSet/", c.Uint64())}
}

var kinds = []event.Kind{event.KindNode, event.KindLease, event.KindPod}

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
func (c *cluster) change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := kinds[c.IntN(len(kinds))]
	uid := uidOf(kind, c.IntN(12))
	before, known := c.objects[uid]
	switch {
	case !known:
		c.objects[uid] = c.write(kind, uid)
		c.send(kind, event.Added, c.objects[uid], "")
	case kind != event.KindLease && c.IntN(5) == 0:
		delete(c.objects, uid)
		c.send(kind, event.Deleted, before, "")
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

// withoutRaceDetector skips a test that runs in virtual time, one goroutine after the other, and takes long with the race
// detector.
func withoutRaceDetector(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector cannot find anything in it")
	}
}

// run starts a recorder in a synctest bubble and returns a function that stops it. log receives the recorder's log.
func run(t *testing.T, s flightrecorder.Settings) (r *flightrecorder.Recorder, stop func(), log *strings.Builder) {
	t.Helper()
	r, end, log := start(t, s)
	return r, func() {
		synctest.Wait()
		end()
	}, log
}

// start starts a recorder and returns a function that stops it. log receives the recorder's log.
func start(t testing.TB, s flightrecorder.Settings) (r *flightrecorder.Recorder, stop func(), log *strings.Builder) {
	t.Helper()
	log = &strings.Builder{}
	r, err := flightrecorder.New(s, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return r, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}, log
}

func read(t *testing.T, dir string, from, to time.Time) (all []event.Event) {
	t.Helper()
	events, _, err := flightrecorder.Read(t.Context(), dir, from, to)
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

func TestWhatIsRecordedIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		r, stop, _ := run(t, s)
		c, start := newCluster(1, r), now()
		c.list()
		for range 500 {
			time.Sleep(time.Second)
			c.change()
		}
		stop()
		for _, from := range []time.Time{start, {}} {
			if got := read(t, s.Dir, from, now()); !reflect.DeepEqual(got, c.sent) {
				t.Errorf("from %v: %d events, want the %d that were recorded", from, len(got), len(c.sent))
			}
		}
		files, err := filepath.Glob(filepath.Join(s.Dir, "*"))
		if err != nil || len(files) < 2 {
			t.Fatalf("files %v, %v", files, err)
		}
		for _, path := range files {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, want 0600: %v", path, info.Mode(), err)
			}
		}
	})
}

// checkState checks that events begin with lists of exactly the objects in want. It returns the events after the lists.
func checkState(t *testing.T, got []event.Event, want map[event.UID]event.Object) (rest []event.Event) {
	t.Helper()
	listed, synced := map[event.UID]event.Object{}, 0
	for i, ev := range got {
		switch ev.Type {
		case event.Listed:
			listed[ev.Object.Metadata().UID] = ev.Object
		case event.Synced:
			synced++
		}
		if synced == len(kinds) {
			rest = got[i+1:]
			break
		}
	}
	if !reflect.DeepEqual(listed, want) {
		t.Errorf("the state has %d objects that differ from the %d of the cluster", len(listed), len(want))
	}
	return rest
}

// TestReadingBeginsWithTheStateAtItsTime checks that Read returns the state of the cluster at the requested time, then
// the later events: within a generation, at its start, and across several generations.
func TestReadingBeginsWithTheStateAtItsTime(t *testing.T) {
	withoutRaceDetector(t)
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		s.Size = 80_000 // a small limit creates many files
		r, stop, _ := run(t, s)
		c := newCluster(2, r)
		c.list()
		type moment struct {
			at      time.Time
			objects map[event.UID]event.Object
			sent    int
		}
		var moments []moment
		every := 100
		if testing.Short() {
			every = 400
		}
		for i := range 6000 {
			time.Sleep(10 * time.Second)
			if i%every == every/2 {
				moments = append(moments, moment{now(), maps.Clone(c.objects), len(c.sent)})
				time.Sleep(time.Millisecond)
			}
			c.change()
		}
		stop()
		status := r.Status()
		if status.Bytes > s.Size || status.Lost > 0 {
			t.Errorf("status %+v, want at most %d bytes and no lost event", status, s.Size)
		}
		states, err := filepath.Glob(filepath.Join(s.Dir, "*-state.jsonl.gz"))
		if err != nil || len(states) < 3 {
			t.Errorf("%d generations, want several: %v", len(states), err)
		}
		checked := 0
		for _, m := range moments {
			if m.at.Before(status.Oldest) {
				continue
			}
			rest := checkState(t, read(t, s.Dir, m.at, now()), m.objects)
			if want := c.sent[m.sent:]; !reflect.DeepEqual(rest, want) {
				t.Errorf("from %v: %d events after the state, want %d", m.at, len(rest), len(want))
			}
			checked++
		}
		if checked < 1000/every {
			t.Errorf("checked %d moments: too little is kept", checked)
		}
	})
}

func TestOldGenerationsAreDeleted(t *testing.T) {
	withoutRaceDetector(t)
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		s.Age = 8 * time.Hour
		r, stop, _ := run(t, s)
		c := newCluster(3, r)
		c.list()
		for range 24 * 60 {
			time.Sleep(time.Minute)
			c.change()
		}
		stop()
		if kept := time.Since(r.Status().Oldest); kept < 8*time.Hour || kept > 15*time.Hour {
			t.Errorf("%v are kept, want eight hours and at most a generation of six hours", kept)
		}
	})
}

// TestAWrongClockAtTheStartDeletesNothing starts a recorder whose clock may be ahead: all recordings look too old. They
// must be kept for an hour.
func TestAWrongClockAtTheStartDeletesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		if err := os.Mkdir(s.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file := func(number int) string {
			begins := now().Add(-s.Age - time.Duration(48-number)*time.Hour)
			return filepath.Join(s.Dir, fmt.Sprintf("%s-%06d-start.jsonl.gz", begins.Format("20060102T150405.000000Z"), number))
		}
		old := file(1)
		for _, path := range []string{old, file(2)} {
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, stop, _ := run(t, s)
		defer stop()
		c := newCluster(3, r)
		c.list()
		for minute := range 62 {
			time.Sleep(time.Minute)
			c.change()
			if _, err := os.Stat(old); minute < 58 && err != nil || minute == 61 && err == nil {
				t.Fatalf("after %d minutes: %v", minute+1, err)
			}
		}
	})
}

// TestAStretchWithoutARecorderIsShown stops the recorder for ten minutes. Read must report the watches as down in that
// interval, and then return the new lists.
func TestAStretchWithoutARecorderIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		r, stop, _ := run(t, s)
		c, start := newCluster(4, r), now()
		c.list()
		for range 20 {
			time.Sleep(time.Second)
			c.change()
		}
		stop()
		stopped := now()
		time.Sleep(10 * time.Minute)
		clear(c.objects)
		r, stop, _ = run(t, s)
		c.to = r
		again := len(c.sent)
		c.list()
		time.Sleep(time.Second)
		c.change()
		stop()
		got := read(t, s.Dir, start, now())
		var downs []string
		for _, ev := range got {
			if ev.Type == event.Down {
				downs = append(downs, fmt.Sprintf("%v %v %v", ev.Kind, ev.Reason, ev.Seen.Sub(stopped)))
			}
		}
		if want := []string{"nodes not recorded 0s", "leases not recorded 0s", "pods not recorded 0s"}; !slices.Equal(downs, want) {
			t.Errorf("broken watches %q, want %q", downs, want)
		}
		if !reflect.DeepEqual(got[again+len(downs):], c.sent[again:]) {
			t.Error("the events after the restart are not those that were recorded")
		}
		_, _, err := flightrecorder.Read(t.Context(), s.Dir, start.Add(-time.Hour), start.Add(-time.Minute))
		if !errors.Is(err, flightrecorder.ErrNothing) {
			t.Errorf("before the first event: %v, want %v", err, flightrecorder.ErrNothing)
		}
	})
}

func TestOnlyOneProcessRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		first, stopFirst, _ := run(t, s)
		c := newCluster(5, first)
		c.list()
		c.change()
		time.Sleep(time.Second)
		s.List = c.api
		second, stopSecond, log := run(t, s)
		time.Sleep(time.Minute)
		for range 10 {
			c.change()
			second.Record(c.sent[len(c.sent)-1])
		}
		time.Sleep(time.Minute)
		status := second.Status()
		if status.Recording || status.Lost != 10 || status.Err == nil || !strings.Contains(status.Err.Error(), "another process is recording into") {
			t.Errorf("second recorder: %+v, want that another process records, and 10 lost events", status)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines logged, want one:\n%s", n, log)
		}
		stopFirst()
		c.to = second
		time.Sleep(time.Minute)
		c.change()
		time.Sleep(2 * time.Second) // events are written once per second
		if status := second.Status(); !status.Recording {
			t.Errorf("second recorder: %+v, want that it records", status)
		}
		stopSecond()
	})
}

// TestAfterAGapTheResourcesAreListedAgain removes the directory for a while. The recorder must then list again. Watch
// events that arrive during a list must be kept, and outdated events must not replace listed objects. The API server's
// version must be written again, because older files may be deleted.
func TestAfterAGapTheResourcesAreListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		var c *cluster
		s.List = func(ctx context.Context, kind event.Kind, each func(event.Object)) (string, error) {
			var old []event.Object
			version, err := c.api(ctx, kind, func(object event.Object) {
				old = append(old, object)
				each(object)
			})
			time.Sleep(2 * time.Second)
			if len(old) > 0 {
				late := event.Event{Seen: now(), Kind: kind, Type: event.Modified, Object: stale(old[0])}
				c.to.Record(late) // the watch lags behind the list
			}
			return version, err
		}
		r, stop, log := run(t, s)
		c = newCluster(6, r)
		c.send(event.KindCluster, event.Listed, &event.Cluster{Version: "v1.37.2"}, "")
		c.list()
		for range 50 {
			time.Sleep(time.Second)
			c.change()
		}
		synctest.Wait()
		if err := errors.Join(os.Rename(s.Dir, s.Dir+".away"), os.WriteFile(s.Dir, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		for range 2 * 3600 { // the recorder notices at the next file
			time.Sleep(time.Second)
			c.change()
		}
		synctest.Wait()
		if status := r.Status(); status.Recording || status.Lost == 0 {
			t.Errorf("status %+v, want that it does not record", status)
		}
		if err := errors.Join(os.Remove(s.Dir), os.Rename(s.Dir+".away", s.Dir)); err != nil {
			t.Fatal(err)
		}
		for range 6 * 60 { // after many failures, the recorder retries every 5 minutes
			time.Sleep(time.Second)
			c.change()
		}
		time.Sleep(time.Second)
		at, objects, sent := now(), maps.Clone(c.objects), len(c.sent)
		for range 50 {
			time.Sleep(time.Second)
			c.change()
		}
		stop()
		if !r.Status().Recording || !strings.Contains(log.String(), "resumed recording") {
			t.Errorf("status %+v, want that it records again; log:\n%s", r.Status(), log)
		}
		got := read(t, s.Dir, at, now())
		isVersion := func(ev event.Event) bool {
			o, ok := ev.Object.(*event.Cluster)
			return ok && o.Version == "v1.37.2"
		}
		if !slices.ContainsFunc(got, isVersion) {
			t.Error("the API server's version is missing")
		}
		rest := checkState(t, slices.DeleteFunc(got, isVersion), objects)
		if !reflect.DeepEqual(rest, c.sent[sent:]) {
			t.Errorf("%d events after the state, want %d", len(rest), len(c.sent)-sent)
		}
	})
}

// stale returns an older version of the object.
func stale(object event.Object) event.Object {
	switch o := object.(type) {
	case *event.Node:
		old := *o
		old.ResourceVersion, old.BootID = "1", "old"
		return &old
	case *event.Pod:
		old := *o
		old.ResourceVersion, old.Phase = "1", "Pending"
		return &old
	case *event.Lease:
		old := *o
		old.ResourceVersion, old.DurationSeconds = "1", 1
		return &old
	}
	return object
}

func TestAFileIsNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := flightrecorder.New(flightrecorder.Settings{Dir: path}, slog.Default())
	if want := "--data.dir=" + path + " is not a directory"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
