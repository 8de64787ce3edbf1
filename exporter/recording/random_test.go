package recording

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// filler fills objects with random values. It uses reflection, so that the tests cover new fields of package event
// automatically.
type filler struct {
	*rand.Rand
	text func() string
	// full is set if every field gets a value. Otherwise some random fields stay empty.
	full bool
	zone *time.Location
}

func (f filler) fill(v reflect.Value) {
	if !f.full && f.IntN(4) == 0 {
		return
	}
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Unix(f.Int64N(4e9), f.Int64N(1e9)).In(f.zone)
		return
	case *event.Status:
		*at = event.Status(1 + f.IntN(2))
		return
	case *event.Kind:
		return // the event has it
	case *event.UID:
		*at = event.ParseUID(f.text())
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1 + f.Int64N(1e9))
	case reflect.Float64:
		v.SetFloat(f.Float64() * 100)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			v.SetMapIndex(reflect.ValueOf(f.text()), reflect.ValueOf(f.text()))
		}
	default:
		panic("the test cannot fill a " + v.Type().String())
	}
}

func (f filler) event(kind event.Kind, eventType event.Type) event.Event {
	ev := event.Event{Seen: time.Unix(17e8+f.Int64N(3e8), f.Int64N(1e9)).In(f.zone), Kind: kind, Type: eventType}
	if !eventType.HasObject() {
		ev.Reason = event.Reason(f.text())
		return ev
	}
	ev.Object = event.New(kind)
	f.fill(reflect.ValueOf(ev.Object).Elem())
	if meta := ev.Object.Metadata(); meta.Name == "" {
		meta.Name = "a" + f.text()
	}
	return ev
}

// everything returns events of every kind and type.
func (f filler) everything() []event.Event {
	var events []event.Event
	for _, kind := range append(append(event.Kinds(), event.KindCluster), event.OptionalKinds()...) {
		for eventType := event.Added; eventType <= event.DirectReadUnanswered; eventType++ {
			events = append(events, f.event(kind, eventType))
		}
	}
	return events
}

// recorded returns a recording of events.
func recorded(t testing.TB, compressed bool, events ...event.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{}, compressed)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(t *testing.T, r *Reader) []event.Event {
	t.Helper()
	var events []event.Event
	for ev, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

func TestWhatIsWrittenIsWhatIsRead(t *testing.T) {
	for seed := range uint64(100) {
		random := filler{Rand: rand.New(rand.NewPCG(seed, 0)), zone: time.UTC}
		runes := []rune("aZ09 -/.\"\\<>&\n\t\x00é\u2028漢🙂")
		random.text = func() string {
			text := make([]rune, random.IntN(12))
			for i := range text {
				text[i] = runes[random.IntN(len(runes))]
			}
			return string(text)
		}
		events := random.everything()
		for _, ev := range events {
			if got, want := string(appendEvent(nil, ev)), byEncodingJSON(t, ev); got != want {
				t.Fatalf("seed %d: got %swant %s", seed, got, want)
			}
		}
		r, err := NewReader(bytes.NewReader(recorded(t, false, events...)), "test")
		if err != nil {
			t.Fatal(err)
		}
		got := read(t, r)
		if len(got) != len(events) {
			t.Fatalf("seed %d: wrote %d events, read %d", seed, len(events), len(got))
		}
		for i, want := range events {
			if !reflect.DeepEqual(got[i], want) {
				t.Fatalf("seed %d:\nwrote %+v %+v\nread  %+v %+v", seed, want, want.Object, got[i], got[i].Object)
			}
		}
	}
}

// byEncodingJSON returns the line of an event as encoding/json writes it.
func byEncodingJSON(t *testing.T, ev event.Event) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line{Seen: ev.Seen.UTC(), Kind: ev.Kind, Type: ev.Type, Reason: ev.Reason, Object: ev.Object}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEncodingAllocatesNothing checks that no event needs an allocation. Otherwise, garbage
// causes most of the cost of the flight recorder.
func TestEncodingAllocatesNothing(t *testing.T) {
	random := filler{Rand: rand.New(rand.NewPCG(1, 0)), zone: time.UTC, full: true, text: func() string { return "plain" }}
	events, text := random.everything(), []byte(nil)
	for _, ev := range events {
		text = appendEvent(text, ev)
	}
	allocations := testing.AllocsPerRun(10, func() {
		text = text[:0]
		for _, ev := range events {
			text = appendEvent(text, ev)
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations for %d events", allocations, len(events))
	}
}
