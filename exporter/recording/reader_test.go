package recording

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	goodHeader = `{"kubeflap":"recording","version":2}` + "\n"
	goodEvent  = `{"seen":"2026-03-01T12:00:00Z","kind":"pods","type":"added","object":{"name":"web"}}` + "\n"
)

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// drain reads all events. It returns their number and the error that ended the recording.
func drain(in io.Reader) (int, error) {
	r, err := NewReader(in, "test.jsonl")
	if err != nil {
		return 0, err
	}
	count := 0
	for _, err := range r.Events() {
		if err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}

func TestDamageIsNamedWithItsLine(t *testing.T) {
	half := zipped(goodHeader + strings.Repeat(goodEvent, 3))
	for _, c := range []struct {
		name, text string
		events     int
		want       string
	}{
		{"an empty file", "", 0, `recording test.jsonl is empty`},
		{"another JSON file", "{\"kind\":\"List\"}\n", 0, `recording test.jsonl, line 1: not a kubeflap recording: the first line is not a recording header`},
		{"no JSON at all", "hello", 0, `recording test.jsonl, line 1: not a kubeflap recording: the first line is not a recording header`},
		{"an old version", `{"kubeflap":"recording","version":1}`, 0, `recording test.jsonl, line 1: the format version is 1, but this kubeflap only reads version 2`},
		{"a version to come", `{"kubeflap":"recording","version":3,"title":5}`, 0, `recording test.jsonl, line 1: the format version is 3, but this kubeflap only reads version 2`},
		{"no version", `{"kubeflap":"recording"}`, 0, `recording test.jsonl, line 1: the format version is 0, but this kubeflap only reads version 2`},
		{"a header with a wrong field", `{"kubeflap":"recording","version":2,"title":5}`, 0, `recording test.jsonl, line 1: bad JSON: cannot unmarshal number into Go struct field Header.title of type string`},
		{"bad JSON", goodHeader + goodEvent + "{\"kind\":\"pods\"]\n" + goodEvent, 1, `recording test.jsonl, line 3: bad JSON: invalid character ']' after object key:value pair`},
		{"the object before the kind", goodHeader + `{"object":{"name":"web","labels":{"kind":"frontend"}},"type":"added","kind":"pods","seen":"2026-03-01T12:00:00Z"}` + "\n[]\n", 1, `recording test.jsonl, line 3: the field "kind" is missing`},
		{"two events in a line", goodHeader + strings.TrimSpace(goodEvent) + goodEvent, 0, `recording test.jsonl, line 2: bad JSON: invalid character '{' after top-level value`},
		{"a line that is no object", goodHeader + "[]\n", 0, `recording test.jsonl, line 2: the field "kind" is missing`},
		{"a cut line", goodHeader + goodEvent + goodEvent[:50], 1, `recording test.jsonl, line 3: the recording is cut short here`},
		{"an unknown kind", goodHeader + strings.Replace(goodEvent, "pods", "plods", 1), 0, `recording test.jsonl, line 2: unknown kind "plods"`},
		{"an unknown type", goodHeader + strings.Replace(goodEvent, "added", "vanished", 1), 0, `recording test.jsonl, line 2: bad JSON: unknown event type "vanished"`},
		{"no kind", goodHeader + strings.Replace(goodEvent, "kind", "kin", 1), 0, `recording test.jsonl, line 2: the field "kind" is missing`},
		{"another kind before the kind", goodHeader + strings.Replace(goodEvent, `"seen"`, `"new":{"kind":"nodes"},"seen"`, 1), 0, `recording test.jsonl, line 2: the field "kind" occurs twice`},
		{"no type", goodHeader + strings.Replace(goodEvent, "type", "typ", 1), 0, `recording test.jsonl, line 2: the field "type" is missing`},
		{"no time", goodHeader + strings.Replace(goodEvent, "seen", "see", 1), 0, `recording test.jsonl, line 2: the field "seen" is missing`},
		{"a time without Kubernetes", goodHeader + strings.Replace(goodEvent, "2026", "1969", 1), 0, `recording test.jsonl, line 2: the field "seen" is 1969-03-01T12:00:00Z, which is not between 1970 and 2200`},
		{"the end of the calendar", goodHeader + strings.Replace(goodEvent, "2026-03-01T12:00:00Z", "9999-12-31T23:59:59-12:00", 1), 0, `recording test.jsonl, line 2: the field "seen" is 10000-01-01T11:59:59Z, which is not between 1970 and 2200`},
		{"a bad time", goodHeader + strings.Replace(goodEvent, "T12", " 12", 1), 0, `recording test.jsonl, line 2: bad JSON: parsing time "2026-03-01 12:00:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse " 12:00:00Z" as "T"`},
		{"no object", goodHeader + strings.Replace(goodEvent, "object", "objekt", 1), 0, `recording test.jsonl, line 2: the field "object" is missing`},
		{"an object that is null", goodHeader + strings.Replace(goodEvent, `{"name":"web"}`, "null", 1), 0, `recording test.jsonl, line 2: the field "object" is missing`},
		{"an object that is a list", goodHeader + strings.Replace(goodEvent, `{"name":"web"}`, "[]", 1), 0, `recording test.jsonl, line 2: bad JSON: cannot unmarshal array into Go struct field line.object of type event.Pod`},
		{"an object of wrong shape", goodHeader + strings.Replace(goodEvent, `"web"`, "5", 1), 0, `recording test.jsonl, line 2: bad JSON: cannot unmarshal number into Go struct field Pod.object.Meta.name of type string`},
		{"an object with a bad uid", goodHeader + strings.Replace(goodEvent, "name", "uid", 1), 0, `recording test.jsonl, line 2: bad JSON: a uid must be a UUID`},
		{"an object without name", goodHeader + strings.Replace(goodEvent, "name", "names", 1), 0, `recording test.jsonl, line 2: the object has no name`},
		{"a gzip stream that ends early", half[:len(half)-9], 3, `recording test.jsonl, line 5: the recording is cut short here`},
		{"a gzip stream with a wrong checksum", half[:len(half)-8] + "\x00\x00\x00\x00\x00\x00\x00\x00", 3, `recording test.jsonl, line 5: the compressed data is damaged: gzip: invalid checksum`},
		{"a gzip stream with something behind", half + "something else", 3, `recording test.jsonl, line 5: the compressed data is damaged: gzip: invalid header`},
		{"a gzip stream that ends at once", "\x1f\x8b", 0, `recording test.jsonl: the recording is cut short here`},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := drain(strings.NewReader(c.text))
			if err == nil || err.Error() != c.want || events != c.events {
				t.Errorf("got %d events and error\n%v\nwant %d and\n%s", events, err, c.events, c.want)
			}
		})
	}
}

func TestWhatAReaderTolerates(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"fields to come", `{"kubeflap":"recording","version":2,"weather":{"sun":true}}` + "\n" + strings.Replace(goodEvent, `"name"`, `"hat":[1],"name"`, 1)},
		{"an object that the type does not have", goodHeader + strings.Replace(goodEvent, "added", "synced", 1)},
		{"empty lines", goodHeader + "\n \r\n" + goodEvent + "\n"},
		{"no newline at the end", goodHeader + strings.TrimSpace(goodEvent)},
		{"times in another zone", goodHeader + strings.Replace(goodEvent, "00Z", "00+05:45", 1)},
		{"compression, in several members", zipped(goodHeader) + zipped(goodEvent)},
		{"fields in another order", goodHeader + `{ "object": {"name":"web"}, "type":"added", "kind" : "pods", "seen":"2026-03-01T12:00:00Z" }`},
		{"a cluster without name", goodHeader + strings.NewReplacer("pods", "cluster", "name", "names").Replace(goodEvent)},
		{"a time at the end of the calendar, in a zone that leads over it", goodHeader + strings.Replace(goodEvent, `"name"`, `"deletion":"9999-12-31T23:59:59-12:00","name"`, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if events, err := drain(strings.NewReader(c.text)); events != 1 || err != nil {
				t.Errorf("got %d events and error %v", events, err)
			}
		})
	}
}

// TestAbsentFieldsAreUnknown checks that a replay can distinguish a pod without labels from a pod whose labels were not
// recorded.
func TestAbsentFieldsAreUnknown(t *testing.T) {
	pod, node := event.Meta{Name: "pod-1"}, event.Meta{Name: "node-1"}
	for _, want := range []event.Object{
		&event.Pod{Meta: pod},
		&event.Pod{
			Meta: pod, Labels: map[string]string{}, ToleratesNotReady: &event.Toleration{}, ToleratesUnreachable: &event.Toleration{Forever: true},
			ControllerManager: &event.ControllerManager{Flags: event.ControllerManagerFlags{MonitorPeriod: 2 * time.Second}},
		},
		&event.Node{Meta: node},
		&event.Node{Meta: node, Labels: map[string]string{}},
	} {
		ev := event.Event{Seen: noon, Kind: want.Kind(), Type: event.Added, Object: want}
		for _, ev := range []event.Event{ev, newAnonymiser().Event(ev)} {
			if got, err := decodeEvent([]byte(encoded(t, ev))); err != nil || !reflect.DeepEqual(got.Object, want) {
				t.Errorf("got %+v, %v, want %+v", got.Object, err, want)
			}
		}
	}
}

// endless is a reader of a single infinite line.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLineWithoutEndIsGivenUp(t *testing.T) {
	_, err := drain(io.MultiReader(strings.NewReader(goodHeader), endless{}))
	if want := "recording test.jsonl, line 2: the line is longer than 64 MiB"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestErrorsOfTheFileAreNotTakenForDamage(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); err == nil || strings.Count(err.Error(), "none") != 1 {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.HasSuffix(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
}

// FuzzReader checks that no input makes Reader panic, that each error is one short line, and that each event is
// unchanged after it is written and read again.
func FuzzReader(f *testing.F) {
	random := filler{Rand: rand.New(rand.NewPCG(3, 4)), full: true, zone: time.UTC, text: func() string { return "text" }}
	for _, ev := range random.everything() {
		f.Add([]byte(goodHeader + encoded(f, ev)))
	}
	f.Add([]byte(zipped(goodHeader + goodEvent)))
	f.Add([]byte(zipped(goodHeader) + zipped(goodEvent)[:30]))
	f.Fuzz(func(t *testing.T, data []byte) {
		expectLine := func(err error) {
			if message := err.Error(); len(message) > 700 || strings.ContainsAny(message, "\n\r") {
				t.Errorf("an error must be one short line: %q", message)
			}
		}
		r, err := NewReader(bytes.NewReader(data), "fuzz")
		if err != nil {
			expectLine(err)
			return
		}
		for ev, err := range r.Events() {
			if err != nil {
				expectLine(err)
				return
			}
			text := encoded(t, ev)
			if ev, err = decodeEvent([]byte(text)); err != nil {
				t.Fatalf("written but not to be read: %v", err)
			}
			if again := encoded(t, ev); text != again {
				t.Fatalf("wrote first %s and then %s", text, again)
			}
		}
	})
}
