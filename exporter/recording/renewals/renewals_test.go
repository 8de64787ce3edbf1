package renewals_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording/renewals"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)).Round(time.Microsecond))
}

func lease(node int, seconds float64, version string) *event.Lease {
	return &event.Lease{
		Meta:      event.Meta{UID: event.UID{15: byte(node)}, Namespace: "kube-node-lease", Name: fmt.Sprint("node-", node), ResourceVersion: version},
		RenewTime: at(seconds), DurationSeconds: 40,
	}
}

func renewal(node int, seconds float64, version string) event.Event {
	return event.Event{Seen: at(seconds), Kind: event.KindLease, Type: event.Modified, Object: lease(node, seconds-0.004, version)}
}

func listed(node int, version string) event.Event {
	return event.Event{Seen: at(0), Kind: event.KindLease, Type: event.Listed, Object: lease(node, -3, version)}
}

func TestRenewalsComeBackAsTheyWere(t *testing.T) {
	var written, read renewals.Leases
	for _, ev := range []event.Event{listed(1, "100"), listed(2, "90"), listed(3, "")} {
		written.Note(ev)
		read.Note(ev)
	}
	want := []event.Event{
		renewal(2, 1.5, "101"), renewal(1, 2, "105"), renewal(1, 12, "104"),
		renewal(3, 11.999, ""), // the event was seen before its predecessor, because the clock was set back
	}
	batch := renewals.NewBatch(&written)
	for _, ev := range want {
		if !batch.Add(ev) {
			t.Fatalf("%+v is not added", ev)
		}
	}
	text, err := batch.Line()
	if err != nil {
		t.Fatal(err)
	}
	const wantText = `{"renewals":[[1,0,4000,11],[0,500000,4000,4],[0,10000000,4000,-1],[2,-1000,4000]],"seen":"2026-03-01T12:00:01.5Z"}` + "\n"
	if string(text) != wantText {
		t.Errorf("line %s, want %s", text, wantText)
	}
	if !renewals.IsBatch(text) || !batch.Empty() {
		t.Error("the line is not recognised, or the batch keeps its renewals")
	}
	got, err := read.Events(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
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
		"renewed years before": changed(func(_ *event.Event, l *event.Lease) { l.RenewTime = at(-2 * 366 * 86400) }),
		"not a Lease":          {Seen: at(2), Kind: event.KindNode, Type: event.Modified, Object: &event.Node{}},
		"no object":            {Seen: at(2), Kind: event.KindLease, Type: event.Bookmark},
	} {
		var leases renewals.Leases
		leases.Note(listed(1, "100"))
		if renewals.NewBatch(&leases).Add(ev) {
			t.Errorf("%s: added", name)
		}
	}
}

func TestWrongLinesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":                `{"renewals":[[`,
		"too few numbers":        `{"renewals":[[0,1]],"seen":"2026-03-01T12:00:00Z"}`,
		"unknown Lease":          `{"renewals":[[1,0,0,1]],"seen":"2026-03-01T12:00:00Z"}`,
		"negative Lease":         `{"renewals":[[-1,0,0,1]],"seen":"2026-03-01T12:00:00Z"}`,
		"without version":        `{"renewals":[[0,0,0]],"seen":"2026-03-01T12:00:00Z"}`,
		"offset over a year":     `{"renewals":[[0,9223372036854775807,0,1]],"seen":"2026-03-01T12:00:00Z"}`,
		"offset below minus one": `{"renewals":[[0,0,-9223372036854775808,1]],"seen":"2026-03-01T12:00:00Z"}`,
	} {
		var leases renewals.Leases
		leases.Note(listed(1, "100"))
		if got, err := leases.Events([]byte(text)); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func TestABatchIsBounded(t *testing.T) {
	var leases renewals.Leases
	leases.Note(listed(1, "100"))
	batch, n := renewals.NewBatch(&leases), 0
	for batch.Add(renewal(1, float64(n), fmt.Sprint(101+n))) {
		n++
	}
	if n != 1000 {
		t.Errorf("%d renewals in one line, want 1000", n)
	}
}

// FuzzEvents reads arbitrary lines. Reading must not panic, and the events must be unchanged after writing and reading
// them again.
func FuzzEvents(f *testing.F) {
	f.Add(`{"renewals":[[1,0,4000,11],[0,500000,4000,4]],"seen":"2026-03-01T12:00:01.5Z"}`)
	f.Add(`{"renewals":[[0,0,0,-200]],"seen":"0001-01-01T00:00:00Z"}`)
	f.Fuzz(func(t *testing.T, text string) {
		leases := func() *renewals.Leases {
			var l renewals.Leases
			l.Note(listed(1, "100"))
			l.Note(listed(2, "7"))
			return &l
		}
		events, err := leases().Events([]byte(text))
		if err != nil {
			return
		}
		writer, reader := leases(), leases()
		batch := renewals.NewBatch(writer)
		for _, ev := range events {
			if !batch.Add(ev) {
				return // an example is a version below 0
			}
		}
		again, err := batch.Line()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := reader.Events(again); err != nil || !reflect.DeepEqual(got, events) {
			t.Fatalf("%s became %s: %+v, %v", text, again, got, err)
		}
	})
}
