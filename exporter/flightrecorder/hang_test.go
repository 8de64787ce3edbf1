package flightrecorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

func node(n, version int) *event.Node {
	id := fmt.Sprint("node-", n)
	return &event.Node{Meta: event.Meta{UID: event.ParseUID(id), Name: id, ResourceVersion: fmt.Sprint(version)}, BootID: fmt.Sprint(version)}
}

// disk is an output that hangs until the channel works is closed.
type disk struct {
	hangs bool
	works chan struct{}
}

func (d *disk) Write(p []byte) (int, error) {
	if d.hangs {
		<-d.works
	}
	return len(p), nil
}

// TestADiskThatHangs blocks the writes of a segment. Record must not wait. What is lost must be counted, and the segment
// after the gap must have complete lists.
func TestADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes = 10
		version := 0
		var log strings.Builder
		r, err := New(Settings{
			Dir: t.TempDir(), Size: 256 << 20, Age: time.Hour,
			List: func(_ context.Context, _ event.Kind, each func(event.Object)) (string, error) {
				for n := range nodes {
					each(node(n, version-n))
				}
				return fmt.Sprint(version), nil
			},
		}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		w := &writer{recorder: r}
		w.state = newState(Segment{Begins: time.Now(), path: filepath.Join(r.settings.Dir, "hangs")})
		hangs := &disk{works: make(chan struct{})}
		w.open, err = recording.NewWriter(hangs, recording.Header{}, true)
		if err = errors.Join(err, os.WriteFile(w.state.segment.path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		hangs.hangs = true
		w.newest = time.Now()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.run(ctx) }()

		send := func(what event.Type, object event.Object) {
			r.Record(event.Event{Seen: time.Now(), Kind: event.KindNode, Type: what, Object: object})
		}
		change := func() {
			version++
			send(event.Modified, node(version%nodes, version))
		}
		send(event.Listing, nil)
		send(event.Synced, nil)
		time.Sleep(2 * time.Second) // the writer hangs
		began, sent := time.Now(), queueLimit+1000
		for range sent {
			change()
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("Record waited for %v", waited)
		}
		status := r.Status()
		if status.Recording || !errors.Is(status.Err, errTooSlow) || status.Gaps != 1 || status.Lost < uint64(sent-queueLimit) || status.Lost > uint64(sent-queueLimit+10) {
			t.Errorf("%+v, want that all but %d of %d events are lost", status, queueLimit, sent)
		}
		close(hangs.works)
		time.Sleep(time.Minute)
		synctest.Wait()
		at := time.Now()
		change()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if again := r.Status(); !again.Recording || again.Gaps != 1 || again.Lost != status.Lost || strings.Count(log.String(), "resumed recording") != 1 {
			t.Errorf("%+v, want that it records again; log %s", again, &log)
		}
		stop()
		if err := errors.Join(<-ended, w.close()); err != nil {
			t.Error(err)
		}
		events, err := Read(t.Context(), r.settings.Dir, at, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var text string
		for ev, err := range events {
			if err != nil {
				t.Fatal(err)
			}
			text += ev.Type.String() + " "
			if o, ok := ev.Object.(*event.Node); ok {
				text += o.BootID + " "
			}
		}
		want := "listing "
		for n := range nodes {
			want += fmt.Sprintf("listed %d ", version-1-n)
		}
		if want += fmt.Sprintf("synced modified %d ", version); text != want {
			t.Errorf("read %s, want %s", text, want)
		}
	})
}

// TestARecorderThatHangsDoesNotDelayTheEnd stops a recorder that hangs.
func TestARecorderThatHangsDoesNotDelayTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		works := make(chan struct{})
		r, err := New(Settings{Dir: t.TempDir(), Size: 1 << 20, Age: time.Hour, Head: func(time.Time) json.RawMessage {
			<-works
			return nil
		}}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		r.Record(event.Event{Seen: time.Now(), Kind: event.KindNode, Type: event.Listing})
		time.Sleep(time.Minute)
		began := time.Now()
		stop()
		if err := <-ended; err != nil || time.Since(began) > endWithin {
			t.Errorf("it ended after %v, %v", time.Since(began), err)
		}
		close(works)
		synctest.Wait() // what was not written yet is written, before the directory is removed
	})
}

// TestTheFirstListsFitIntoTheQueue checks that the lists of 1,000 nodes and 30,000 pods are not lost, even if nothing of
// them is written before they are complete.
func TestTheFirstListsFitIntoTheQueue(t *testing.T) {
	const nodes, pods, services, perService = 1000, 30_000, 2000, 15
	r, err := New(Settings{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	addresses := make([]event.Address, perService)
	for _, list := range []struct {
		n      int
		object event.Object
	}{
		{nodes, &event.Node{}},
		{nodes, &event.Lease{}},
		{pods, &event.Pod{}},
		{services, &event.Service{}},
		{services, &event.EndpointSlice{Addresses: addresses}},
		{services, &event.Endpoints{Addresses: addresses}},
	} {
		r.Record(event.Event{Kind: list.object.Kind(), Type: event.Listing})
		for range list.n {
			r.Record(event.Event{Kind: list.object.Kind(), Type: event.Listed, Object: list.object})
		}
		r.Record(event.Event{Kind: list.object.Kind(), Type: event.Synced})
	}
	if status := r.Status(); status.Lost > 0 {
		t.Errorf("%d events are lost", status.Lost)
	}
}
