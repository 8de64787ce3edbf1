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
	want := []event.Event{
		listedLease(1, "100"), listedLease(2, "90"), listedLease(3, ""),
		renewal(2, 1.5, "101"), renewal(1, 2, "105"), renewal(1, 12, "104"),
		renewal(3, 11.999, ""), // the event was seen before its predecessor, because the clock was set back
		{Seen: afterNoon(12), Kind: event.KindPod, Type: event.Bookmark},
		renewal(1, 13, "105"),
	}
	compressed := recorded(t, true, want...)
	unzipped, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	const line = `{"renewals":[[1,0,4000,11],[0,500000,4000,4],[0,10000000,4000,-1],[2,-1000,4000,0]],"seen":"2026-03-01T12:00:01.5Z"}` + "\n"
	if !bytes.Contains(text, []byte(line)) || bytes.Count(text, []byte("\n")) != 1+3+1+1+1 {
		t.Errorf("got\n%swant the line %s", text, line)
	}
	r, err := NewReader(bytes.NewReader(compressed), "heartbeats")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, r); !reflect.DeepEqual(got, want) {
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
		"renewed years before": changed(func(_ *event.Event, l *event.Lease) { l.RenewTime = noon.AddDate(-2, 0, 0) }),
		"not a Lease":          {Seen: afterNoon(2), Kind: event.KindNode, Type: event.Modified, Object: &event.Node{}},
		"no object":            {Seen: afterNoon(2), Kind: event.KindLease, Type: event.Bookmark},
	} {
		if knowing(listedLease(1, "100")).add(ev) {
			t.Errorf("%s: added", name)
		}
	}
}

// decoded decodes a line of renewals.
func decoded(text string, known ...event.Event) ([]event.Event, error) {
	r := Reader{leases: knowing(known...).leases}
	return r.decode([]byte(text))
}

func TestWrongLinesAreRefused(t *testing.T) {
	for name, entries := range map[string]string{
		"no JSON": "[", "no number": "[0,0,0,1.5]", "unknown Lease": "[1,0,0,1]", "negative Lease": "[-1,0,0,1]",
		"offset over a year": "[0,9223372036854775807,0,1]", "offset below minus one": "[0,0,-9223372036854775808,1]",
		"before 1970": strings.Repeat("[0,-31536000000000,0,1],", 60) + "[0,0,0,1]",
		"too many":    strings.Repeat("[0,0,0,1],", maxRenewals) + "[0,0,0,1]",
	} {
		if got, err := decoded(`{"renewals":[`+entries+`],"seen":"2026-03-01T12:00:00Z"}`, listedLease(1, "100")); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
	if got, err := decoded(`{"renewals":[[0,0,0,1]]}`, listedLease(1, "100")); err == nil {
		t.Errorf("no time: read as %+v", got)
	}
}

func TestALineOfRenewalsIsBounded(t *testing.T) {
	b := knowing(listedLease(1, "100"))
	for b.add(renewal(1, float64(b.entries), fmt.Sprint(101+b.entries))) {
	}
	if n := b.entries; n != 1000 {
		t.Errorf("%d renewals in one line, want 1000", n)
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
		events, err := decoded(`{"renewals":[`+text, known...)
		if err != nil {
			return
		}
		writer := knowing(known...)
		for _, ev := range events {
			if !writer.add(ev) {
				return // an example is a version below 0
			}
		}
		if len(events) == 0 {
			return
		}
		line := string(writer.take(nil))
		if got, err := decoded(line, known...); err != nil || !reflect.DeepEqual(got, events) {
			t.Fatalf("%s became %s: %+v, %v", text, line, got, err)
		}
	})
}
