package recording

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
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

func TestManyRenewalsHaveOneLine(t *testing.T) {
	var compressed bytes.Buffer
	w, err := NewWriter(&compressed, Header{Recorded: noon}, true)
	if err != nil {
		t.Fatal(err)
	}
	want := heartbeats(3, 2)
	for _, ev := range want {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(bytes.NewReader(compressed.Bytes()), "heartbeats")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, r); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
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

// afterNoon returns a time with a precision of microseconds.
func afterNoon(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)).Round(time.Microsecond))
}

func leaseOf(node int, seconds float64, version string) *event.Lease {
	return &event.Lease{
		Meta:      event.Meta{UID: event.UID{15: byte(node)}, Namespace: "kube-node-lease", Name: fmt.Sprint("node-", node), ResourceVersion: version},
		RenewTime: afterNoon(seconds), DurationSeconds: 40,
	}
}

func renewal(node int, seconds float64, version string) event.Event {
	return event.Event{Seen: afterNoon(seconds), Kind: event.KindLease, Type: event.Modified, Object: leaseOf(node, seconds-0.004, version)}
}

func listedLease(node int, version string) event.Event {
	return event.Event{Seen: noon, Kind: event.KindLease, Type: event.Listed, Object: leaseOf(node, -3, version)}
}

// knowing returns an empty batch after some events.
func knowing(events ...event.Event) *batch {
	b := &batch{}
	for _, ev := range events {
		b.note(ev)
	}
	return b
}

func TestRenewalsComeBackAsTheyWere(t *testing.T) {
	known := []event.Event{listedLease(1, "100"), listedLease(2, "90"), listedLease(3, "")}
	want := []event.Event{
		renewal(2, 1.5, "101"), renewal(1, 2, "105"), renewal(1, 12, "104"),
		renewal(3, 11.999, ""), // the event was seen before its predecessor, because the clock was set back
	}
	b := knowing(known...)
	for _, ev := range want {
		if !b.add(ev) {
			t.Fatalf("%+v is not added", ev)
		}
	}
	text := b.line()
	const wantText = `{"renewals":[[1,0,4000,11],[0,500000,4000,4],[0,10000000,4000,-1],[2,-1000,4000]],"seen":"2026-03-01T12:00:01.5Z"}` + "\n"
	if string(text) != wantText {
		t.Errorf("line %s, want %s", text, wantText)
	}
	if !isRenewals(text) || b.line() != nil {
		t.Error("the line is not recognised, or the batch keeps its renewals")
	}
	if got, err := knowing(known...).renewals(text); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestOtherEventsAreWrittenInFull(t *testing.T) {
	changed := func(change func(*event.Event, *event.Lease)) event.Event {
		ev := renewal(1, 2, "101")
		change(&ev, ev.Object.(*event.Lease))
		return ev
	}
	for name, ev := range map[string]event.Event{
		"unknown Lease":        renewal(9, 2, "101"),
		"added":                changed(func(ev *event.Event, _ *event.Lease) { ev.Type = event.Added }),
		"direct read":          changed(func(ev *event.Event, _ *event.Lease) { ev.Type = event.DirectReadLease }),
		"deleted":              changed(func(ev *event.Event, _ *event.Lease) { ev.Type = event.Deleted }),
		"another duration":     changed(func(_ *event.Event, l *event.Lease) { l.DurationSeconds = 10 }),
		"never renewed":        changed(func(_ *event.Event, l *event.Lease) { l.RenewTime = time.Time{} }),
		"another kind of RV":   changed(func(_ *event.Event, l *event.Lease) { l.ResourceVersion = "v5" }),
		"leading zero":         changed(func(_ *event.Event, l *event.Lease) { l.ResourceVersion = "0101" }),
		"no version any more":  changed(func(_ *event.Event, l *event.Lease) { l.ResourceVersion = "" }),
		"nanoseconds":          changed(func(ev *event.Event, _ *event.Lease) { ev.Seen = ev.Seen.Add(1) }),
		"renewed years before": changed(func(_ *event.Event, l *event.Lease) { l.RenewTime = noon.AddDate(-2, 0, 0) }),
		"not a Lease":          {Seen: afterNoon(2), Kind: event.KindNode, Type: event.Modified, Object: &event.Node{}},
		"no object":            {Seen: afterNoon(2), Kind: event.KindLease, Type: event.Bookmark},
	} {
		if knowing(listedLease(1, "100")).add(ev) {
			t.Errorf("%s: added", name)
		}
	}
}

func TestWrongLinesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":                `{"renewals":[[`,
		"no time":                `{"renewals":[[0,0,0,1]],"seen":"noon"}`,
		"no end":                 `{"renewals":[[0,0,0,1]],"seen":"2026-03-01T12:00:00Z`,
		"no entry":               `{"renewals":[[]],"seen":"2026-03-01T12:00:00Z"}`,
		"no number":              `{"renewals":[[0,0,0,1.5]],"seen":"2026-03-01T12:00:00Z"}`,
		"too few numbers":        `{"renewals":[[0,1]],"seen":"2026-03-01T12:00:00Z"}`,
		"too many numbers":       `{"renewals":[[0,0,0,1,1]],"seen":"2026-03-01T12:00:00Z"}`,
		"unknown Lease":          `{"renewals":[[1,0,0,1]],"seen":"2026-03-01T12:00:00Z"}`,
		"negative Lease":         `{"renewals":[[-1,0,0,1]],"seen":"2026-03-01T12:00:00Z"}`,
		"without version":        `{"renewals":[[0,0,0]],"seen":"2026-03-01T12:00:00Z"}`,
		"offset over a year":     `{"renewals":[[0,9223372036854775807,0,1]],"seen":"2026-03-01T12:00:00Z"}`,
		"offset below minus one": `{"renewals":[[0,0,-9223372036854775808,1]],"seen":"2026-03-01T12:00:00Z"}`,
	} {
		if got, err := knowing(listedLease(1, "100")).renewals([]byte(text)); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func TestALineOfRenewalsIsBounded(t *testing.T) {
	b := knowing(listedLease(1, "100"))
	for b.add(renewal(1, float64(b.size), fmt.Sprint(101+b.size))) {
	}
	if b.size != 1000 {
		t.Errorf("%d renewals in one line, want 1000", b.size)
	}
	text := bytes.Replace(b.line(), []byte("[["), []byte("[[0,0,0,1],["), 1)
	if _, err := knowing(listedLease(1, "100")).renewals(text); err == nil {
		t.Error("a longer line is read")
	}
}

// FuzzRenewals reads arbitrary lines. Reading must not panic, and the events must be unchanged after writing and reading
// them again.
func FuzzRenewals(f *testing.F) {
	f.Add(`[1,0,4000,11],[0,500000,4000,4]],"seen":"2026-03-01T12:00:01.5Z"}`)
	f.Add(`[0,0,0,-200]],"seen":"0001-01-01T00:00:00Z"}`)
	f.Add(`[0,9223372036854775807,-9223372036854775808,1]],"seen":""}`)
	f.Fuzz(func(t *testing.T, text string) {
		known := []event.Event{listedLease(1, "100"), listedLease(2, "7")}
		events, err := knowing(known...).renewals([]byte(`{"renewals":[` + text))
		if err != nil {
			return
		}
		writer := knowing(known...)
		for _, ev := range events {
			if !writer.add(ev) {
				return // an example is a version below 0
			}
		}
		again := writer.line()
		if got, err := knowing(known...).renewals(again); err != nil || !reflect.DeepEqual(got, events) {
			t.Fatalf("%s became %s: %+v, %v", text, again, got, err)
		}
	})
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

// BenchmarkReadHeartbeats measures the renewals of 200 nodes.
func BenchmarkReadHeartbeats(b *testing.B) {
	var text bytes.Buffer
	w, err := NewWriter(&text, Header{Recorded: noon}, true)
	if err != nil {
		b.Fatal(err)
	}
	events := heartbeats(200, 500)
	for _, ev := range events {
		if err := w.Write(ev); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(text.Bytes()), "heartbeats")
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range r.Events() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
}
