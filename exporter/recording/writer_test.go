package recording

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func lease(seconds float64) event.Event {
	seen := noon.Add(time.Duration(seconds * float64(time.Second)))
	return event.Event{Seen: seen, Kind: event.KindLease, Type: event.Modified, Object: &event.Lease{
		Meta:      event.Meta{Namespace: "kube-node-lease", Name: "node-1"},
		RenewTime: seen.Add(-50 * time.Millisecond), DurationSeconds: 40,
	}}
}

func TestRecordingIsReadableText(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Recorded: noon, Kubernetes: "v1.36.3", Title: "a <lost> heartbeat"}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []event.Event{
		lease(0.1),
		{Seen: noon.Add(time.Second), Kind: event.KindPod, Type: event.Down, Reason: "expired"},
	} {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	const want = `{"kubeflap":"recording","version":2,"recorded":"2026-03-01T12:00:00Z","kubernetes":"v1.36.3","title":"a <lost> heartbeat","anonymised":false}
{"seen":"2026-03-01T12:00:00.1Z","kind":"leases","type":"modified","object":{"namespace":"kube-node-lease","name":"node-1","renew":"2026-03-01T12:00:00.05Z","durationSeconds":40}}
{"seen":"2026-03-01T12:00:01Z","kind":"pods","type":"down","reason":"expired"}
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestExistingFileIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "there.jsonl")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Create(path, Header{})
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got error %v", err)
	}
	if content, _ := os.ReadFile(path); string(content) != "precious" {
		t.Errorf("the file now holds %q", content)
	}
}

// TestFileIsCompressedByItsName reads a recording while its writer is still open, and after it was closed.
func TestFileIsCompressedByItsName(t *testing.T) {
	for name, magic := range map[string]string{"plain.jsonl": `{"kubeflap"`, "small.jsonl.gz": "\x1f\x8b"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := Create(path, Header{Title: name})
		if err != nil {
			t.Fatal(err)
		}
		events := func() (n int, failure error) {
			r, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for _, failure = range r.Events() {
				if failure == nil {
					n++
				}
			}
			if r.Header().Title != name {
				t.Errorf("%s: header %+v", name, r.Header())
			}
			return n, failure
		}
		if err := errors.Join(w.Write(lease(0)), w.Write(lease(1)), w.Write(lease(2)), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if n, err := events(); n != 3 || errors.Is(err, ErrCutShort) != strings.HasSuffix(name, ".gz") {
			t.Errorf("%s: %d events, error %v", name, n, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if n, err := events(); n != 3 || err != nil {
			t.Errorf("%s: %d events in the end, error %v", name, n, err)
		}
		if content, _ := os.ReadFile(path); !strings.HasPrefix(string(content), magic) {
			t.Errorf("%s begins with %.12q", name, content)
		}
	}
}

func TestWriterRefusesWhatNoReaderTakes(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{}, false)
	if err != nil {
		t.Fatal(err)
	}
	before := b.Len()
	pod := &event.Pod{Meta: event.Meta{Name: "web"}}
	for name, ev := range map[string]event.Event{
		"no time":                {Kind: event.KindPod, Type: event.Added, Object: pod},
		"a time long ago":        {Seen: time.Unix(-1, 0), Kind: event.KindPod, Type: event.Added, Object: pod},
		"a time to come":         {Seen: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), Kind: event.KindPod, Type: event.Added, Object: pod},
		"no kind":                {Seen: noon, Type: event.Added, Object: pod},
		"an unknown kind":        {Seen: noon, Kind: 99, Type: event.Added, Object: pod},
		"no type":                {Seen: noon, Kind: event.KindPod, Object: pod},
		"no object":              {Seen: noon, Kind: event.KindPod, Type: event.Added},
		"an object too many":     {Seen: noon, Kind: event.KindPod, Type: event.Down, Object: pod},
		"another kind's object":  {Seen: noon, Kind: event.KindNode, Type: event.Added, Object: pod},
		"an object without name": {Seen: noon, Kind: event.KindPod, Type: event.Added, Object: &event.Pod{}},
	} {
		if err := w.Write(ev); err == nil || b.Len() != before {
			t.Errorf("%s: error %v, %d bytes written", name, err, b.Len()-before)
		}
	}
	if err := w.Write(lease(1)); err != nil {
		t.Errorf("a good event after them: %v", err)
	}
}

// disk is a writer that fails after a number of writes.
type disk int

var errFull = errors.New("no space left on device")

func (d *disk) Write(p []byte) (int, error) {
	if *d == 0 {
		return 0, errFull
	}
	*d--
	return len(p), nil
}

func TestFailureToWriteLasts(t *testing.T) {
	space := disk(2) // there is space for the header and an event
	w, err := NewWriter(&space, Header{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(lease(1)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Write(lease(2)); !errors.Is(err, errFull) {
			t.Errorf("got error %v", err)
		}
		space = 1 // there is space again, but the previous line may be incomplete
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("close: got error %v", err)
	}
}
