package flightrecorder

import (
	"strings"
	"testing"
	"time"
)

// TestPrune checks which files of 10 bytes stay. The names contain the number, the role and the start in hours.
func TestPrune(t *testing.T) {
	zero := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		size   int64
		oldest int // in hours
		all    string
		want   string
	}{
		"all are small and young":          {100, -1, "1start0 2next1 3state2 3next2", "1start0 2next1 3state2 3next2"},
		"too large":                        {20, -1, "1start0 2next1 3state2 3next2", "3state2 3next2"},
		"the newest is too large":          {5, -1, "1start0 2next1 3state2 3next2", "3state2 3next2"},
		"too old":                          {100, 2, "1start0 2next1 3state2 3next2 4start5", "3state2 3next2 4start5"},
		"only the newest":                  {5, 9, "1start0 2next1", "1start0 2next1"},
		"without a base":                   {100, 3, "1next0 2next1 3start2 4start5", "3start2 4start5"},
		"too large, and from the future":   {20, -1, "1start9 2start0 3next1", "2start0 3next1"},
		"too old after one of the future":  {100, 5, "1start9 2start0 3start1 4start6 5next7", "1start9 3start1 4start6 5next7"},
		"the clock was behind for a while": {100, 5, "1start6 2next7 3start-90 4state9 4next9", "1start6 2next7 3start-90 4state9 4next9"},
		"nothing":                          {100, 0, "", ""},
	} {
		var all []file
		for _, text := range strings.Fields(test.all) {
			f := file{path: t.TempDir() + "/" + text, size: 10}
			digits := strings.IndexFunc(text, func(r rune) bool { return r > '9' })
			f.number = int(text[0] - '0')
			f.role = role(strings.Trim(text[digits:], "-0123456789"))
			hours, err := time.ParseDuration(text[digits+len(f.role):] + "h")
			if err != nil {
				t.Fatal(err)
			}
			f.begins = zero.Add(hours)
			all = append(all, f)
		}
		kept, err := prune(all, test.size, zero.Add(time.Duration(test.oldest)*time.Hour))
		var got []string
		for _, f := range kept {
			got = append(got, f.path[strings.LastIndex(f.path, "/")+1:])
		}
		if text := strings.Join(got, " "); err != nil || text != test.want {
			t.Errorf("%s: kept %q, %v, want %q", name, text, err, test.want)
		}
	}
}
