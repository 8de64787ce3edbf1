package flightrecorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

func node(n, version int) *event.Node {
	id := fmt.Sprint("node-", n)
	return &event.Node{Meta: event.Meta{UID: event.ParseUID(id), Name: id, ResourceVersion: fmt.Sprint(version)}, BootID: fmt.Sprint(version)}
}

// FuzzSegments reads directories whose segments have arbitrary content. Reading must not fail after it began, and must
// say the same each time.
func FuzzSegments(f *testing.F) {
	segment := func(header recording.Header, types ...event.Type) []byte {
		var b bytes.Buffer
		w, err := recording.NewWriter(&b, header, false)
		if err != nil {
			f.Fatal(err)
		}
		for i, what := range types {
			ev := event.Event{Seen: time.Unix(1e9+int64(i), 0), Kind: event.KindNode, Type: what}
			if what.HasObject() {
				ev.Object = node(i%3, i)
			}
			if err := w.Write(ev); err != nil {
				f.Fatal(err)
			}
		}
		return b.Bytes()
	}
	list := []event.Type{event.Listing, event.Listed, event.Listed, event.Synced, event.Modified, event.Deleted}
	whole := segment(recording.Header{}, list...)
	for _, second := range [][]byte{
		segment(recording.Header{State: 4, Head: json.RawMessage(`{"a":1}`)}, list...), segment(recording.Header{State: -1}, list...),
		segment(recording.Header{State: 1 << 60}, list...), segment(recording.Header{}, event.Synced, event.Down, event.Up, event.Listed), nil, whole[:len(whole)-5],
	} {
		f.Add(whole, second)
		f.Add(second, whole)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		dir := t.TempDir()
		for i, text := range [][]byte{first, second} {
			if err := os.WriteFile(filepath.Join(dir, nameOf(time.Unix(1e9+int64(i)*3, 0), i+1)), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		segments, err := Segments(dir)
		if err != nil {
			t.Fatal(err)
		}
		var readings []eventSeq
		for _, s := range segments {
			_, _ = s.Head()
			if events, err := Read(dir, s.Begins, s.End()); err == nil {
				readings = append(readings, events)
			}
		}
		if events, err := Read(dir, time.Unix(1e9+2, 0), time.Unix(1e9+9, 0)); err == nil {
			readings = append(readings, events)
		}
		for _, events := range readings {
			var counts [2]int
			for i := range counts {
				for _, err := range events {
					if err != nil {
						t.Fatal(err)
					}
					counts[i]++
				}
			}
			if counts[0] != counts[1] {
				t.Errorf("%d events, and then %d", counts[0], counts[1])
			}
		}
	})
}
