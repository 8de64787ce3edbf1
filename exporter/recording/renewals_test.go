package recording

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// heartbeats returns several rounds of renewals by n nodes. Each round also contains one pod change.
func heartbeats(n, rounds int) (events []event.Event) {
	version := 1000
	for round := range rounds {
		for node := range n {
			seen := noon.Add(time.Duration(round)*10*time.Second + time.Duration(node)*3*time.Millisecond)
			version += 3
			ev := event.Event{Seen: seen, Kind: event.KindLease, Type: event.Modified, Object: &event.Lease{
				Meta:      event.Meta{UID: event.UID{15: byte(node + 1)}, Namespace: "kube-node-lease", Name: fmt.Sprint("node-", node), ResourceVersion: fmt.Sprint(version)},
				RenewTime: seen.Add(-50 * time.Microsecond), DurationSeconds: 40,
			}}
			events = append(events, ev)
		}
		events = append(events, event.Event{Seen: noon.Add(time.Duration(round+1) * 9 * time.Second), Kind: event.KindPod, Type: event.Modified, Object: &event.Pod{
			Meta: event.Meta{UID: event.UID{1: byte(round)}, Namespace: "shop", Name: "web"},
		}})
	}
	return events
}

func readAll(t *testing.T, path string) (events []event.Event) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for ev, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

func TestACompressedRecordingHasTheSameEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heartbeats.jsonl.gz")
	w, err := Create(path, Header{Recorded: noon})
	if err != nil {
		t.Fatal(err)
	}
	want := heartbeats(20, 6)
	for _, ev := range want {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, path); !reflect.DeepEqual(got, want) {
		t.Errorf("got %d events, want the %d that were written", len(got), len(want))
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != w.Size() {
		t.Errorf("size %d, want that of the file: %v, %v", w.Size(), info.Size(), err)
	}
}

func TestManyRenewalsHaveOneLine(t *testing.T) {
	var compressed bytes.Buffer
	w, err := NewWriter(&compressed, Header{Recorded: noon}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range heartbeats(3, 2) {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(&compressed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 1+3+1+1+1 {
		t.Errorf("want a header, three Leases, a pod, one line for three renewals and a pod, got\n%s", text)
	}
	if !strings.HasPrefix(lines[0], `{"kubeflap":"recording","version":2,`) {
		t.Errorf("header %s, want version 2", lines[0])
	}
}

// TestEventsBeforeTheCutAreRead checks that the reader returns all events before an incomplete last line, as left by a
// killed process.
func TestEventsBeforeTheCutAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heartbeats.jsonl.gz")
	w, err := Create(path, Header{Recorded: noon})
	if err != nil {
		t.Fatal(err)
	}
	want := heartbeats(20, 6)
	for i, ev := range want {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
		if i == 100 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for cut := range 20 {
		r, err := NewReader(strings.NewReader(string(text[:len(text)-cut])), "cut")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, readErr := range r.Events() {
			if err = readErr; err == nil {
				n++
			}
		}
		if !errors.Is(err, ErrCutShort) {
			t.Errorf("%d bytes missing: error %v, want that it is cut short", cut, err)
		}
		if cut == 0 && n != 101 {
			t.Errorf("%d events, want the 101 that were flushed", n)
		}
	}
}

func BenchmarkWriteHeartbeats(b *testing.B) {
	w, err := NewWriter(io.Discard, Header{Recorded: noon}, true)
	if err != nil {
		b.Fatal(err)
	}
	events := heartbeats(100, 100)
	for b.Loop() {
		for _, ev := range events {
			if err := w.Write(ev); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
}
