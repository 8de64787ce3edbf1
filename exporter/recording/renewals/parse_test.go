package renewals

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzParse checks that the parser reads a line like encoding/json, or not at all.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"renewals":[[1,0,4000,11],[0,500000,4000,-4]],"seen":"2026-03-01T12:00:01.5Z"}` + "\n",
		`{"renewals":[[1,0,4000]],"seen":"2026-03-01T12:00:01.123456Z"}`, `{"renewals":[],"seen":"2026-03-01T12:00:01Z"}`, `{"renewals":[[01]],"seen":"2026-03-01T12:00:01Z"}`,
		`{"renewals":[[9223372036854775807,-9223372036854775808,9223372036854775808]],"seen":"2026-03-01T12:00:01Z"}`, `{"renewals":[[-0]],"seen":"2026-03-01T12:00:01Z"}`,
		`{"renewals":[[1, 2]],"seen":"2026-03-01T12:00:01Z"}`, `{"renewals":[[1,2]],"seen":"2026-03-01T12:00:01Z","seen":"2026-03-01T12:00:02Z"}`, `{"renewals":[[1,2]],"seen":"a\"}"}`,
		`{"renewals":[[1,2]]`, `{"renewals":[[1,2]],"seen":""}`, `{"renewals":[[]],"seen":"2026-03-01T12:00:01+01:00"}`, `{"renewals":[[1.5]],"seen":"2026-03-01T12:00:01Z"}`,
	} {
		f.Add(text)
	}
	var p parser
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := p.parse([]byte(text))
		var want line
		err := json.Unmarshal([]byte(text), &want)
		if ok && (err != nil || !reflect.DeepEqual(got, want)) {
			t.Fatalf("%s: %+v, want %+v, %v", text, got, want, err)
		}
	})
}

// TestWrittenLinesAreParsed checks that the parser reads what is written, so that the fast way is taken.
func TestWrittenLinesAreParsed(t *testing.T) {
	var p parser
	for text, want := range map[string]bool{
		`{"renewals":[[1,0,4000,11],[0,500000,4000,-4],[2,-1000,4000]],"seen":"2026-03-01T12:00:01.5Z"}` + "\n": true,
		`{"renewals":[[0,0,0]],"seen":"2026-03-01T12:00:01Z"}` + "\n":                                           true,
		`{"renewals":[[0, 0,0]],"seen":"2026-03-01T12:00:01Z"}` + "\n":                                          false,
	} {
		if _, ok := p.parse([]byte(text)); ok != want {
			t.Errorf("%s: %t, want %t", text, ok, want)
		}
	}
}
