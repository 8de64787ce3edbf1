package flightrecorder_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// hanging returns settings with which the recorder hangs when it begins a segment, until the channel is closed.
func hanging(t *testing.T) (s flightrecorder.Settings, works chan struct{}) {
	s, works = settings(t), make(chan struct{})
	s.Head = func(time.Time) json.RawMessage {
		<-works
		return nil
	}
	return s, works
}

// TestADiskThatHangs checks that Record does not wait for the disk, that lost events are counted, and that the segment
// after the gap has complete lists.
func TestADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const queued, lost = 1 << 16, 1000
		s, works := hanging(t)
		n := &narrator{t: t, s: s, names: map[string]int{}, version: 100, listed: true}
		n.s.List = n.list
		var stop func()
		n.to, stop = run(t, n.s)
		n.tell("(")
		began := time.Now()
		for _, name := range "abc)" + strings.Repeat("A", queued-4+lost) {
			n.to.Record(n.event(string(name)))
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("Record waited for %v", waited)
		}
		status := n.to.Status()
		if status.Recording || status.Err == nil || status.Gaps != 1 || status.Lost != lost {
			t.Errorf("%+v, want that %d events are lost", status, lost)
		}
		close(works)
		time.Sleep(time.Minute)
		synctest.Wait()
		n.from = now()
		n.tell("B")
		if again := n.to.Status(); !again.Recording || again.Err != nil || again.Gaps != 1 || again.Lost != lost {
			t.Errorf("%+v, want that it records again", again)
		}
		stop()
		if got := letters(read(t, n.s.Dir, n.from, now())); got != "(abc)B" {
			t.Errorf("read %s", got)
		}
	})
}

// TestARecorderThatHangsDoesNotDelayTheEnd stops a recorder that hangs.
func TestARecorderThatHangsDoesNotDelayTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, works := hanging(t)
		r, stop := run(t, s)
		r.Record(event.Event{Seen: time.Now(), Kind: event.KindNode, Type: event.Listing})
		time.Sleep(time.Minute)
		began := time.Now()
		stop()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it ended after %v", took)
		}
		close(works)
		synctest.Wait() // what was not written yet is written, before the directory is removed
	})
}

// TestTheFirstListsFitIntoTheQueue checks that the lists of 1,000 nodes and 30,000 pods are not lost, even if nothing of
// them is written before they are complete.
func TestTheFirstListsFitIntoTheQueue(t *testing.T) {
	const nodes, pods, services, perService = 1000, 30_000, 2000, 15
	r, err := flightrecorder.New(flightrecorder.Settings{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
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
