package recording

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestWrittenLinesAreDecodedInOneStep checks that both ways to decode a line give the same event, and that lines with
// an object take the fast one.
func TestWrittenLinesAreDecodedInOneStep(t *testing.T) {
	for seed := range uint64(20) {
		random := filler{Rand: rand.New(rand.NewPCG(seed, 1)), full: seed == 0, zone: time.UTC}
		random.text = func() string { return fmt.Sprintf(`a "kind":"pods",\"object":{ %d`, random.Int()) }
		for _, ev := range random.everything() {
			text := []byte(encoded(t, ev))
			want, err := decodeAny(text)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := decodeWritten(text)
			if ok != ev.Type.HasObject() || ok && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %t\n%+v, want\n%+v", text, ok, got.Object, want.Object)
			}
		}
	}
}

// TestOtherLinesAreNotDecodedInOneStep checks lines that are left to decodeAny, which refuses them or accepts them in
// another order.
func TestOtherLinesAreNotDecodedInOneStep(t *testing.T) {
	const good = `{"seen":"2026-03-01T12:00:00Z","kind":"nodes","type":"added","object":{"name":"a"}}`
	if _, ok := decodeWritten([]byte(good)); !ok {
		t.Fatal("a good line is not decoded")
	}
	for _, change := range [][2]string{
		{`"kind":"nodes",`, ``},
		{`nodes`, `knots`},
		{`"kind":"nodes"`, `"kind": "nodes"`},
		{`added`, `bookmark`},
		{`{"name":"a"}`, `null`},
		{`"name":"a"`, ``},
		{`"a"}}`, `"a"}`},
		{`2026-03-01T12:00:00Z`, `1926-03-01T12:00:00Z`},
		{`"type"`, `"kind":"pods","type"`},
		{`{"name":"a"}}`, `{"name":"a"},"object":null}`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if got, ok := decodeWritten([]byte(text)); ok {
			t.Errorf("%s is decoded as %+v", text, got)
		}
	}
}
