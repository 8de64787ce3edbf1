package flightrecorder

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPrune checks which segments of 10 bytes stay. A segment is written as its number and its start in hours.
func TestPrune(t *testing.T) {
	zero := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		size int64
		age  time.Duration
		all  string
		want string
	}{
		"all are small and young":            {100, 10 * time.Hour, "1@0 2@2 3@4", "1@0 2@2 3@4"},
		"too large":                          {20, 10 * time.Hour, "1@0 2@2 3@4", "2@2 3@4"},
		"the newest is too large":            {5, 10 * time.Hour, "1@0 2@2 3@4", "3@4"},
		"too old":                            {100, 3 * time.Hour, "1@0 2@2 3@4 4@6 5@8", "2@2 3@4 4@6 5@8"},
		"only the newest":                    {5, time.Hour, "1@0", "1@0"},
		"after a long pause":                 {100, 3 * time.Hour, "1@0 2@2 3@100", "1@0 2@2 3@100"},
		"two hours after a long pause":       {100, 3 * time.Hour, "1@0 2@2 3@100 4@102", "2@2 3@100 4@102"},
		"the clock is ahead at the start":    {100, 3 * time.Hour, "1@0 2@2 3@9000", "1@0 2@2 3@9000"},
		"the clock was ahead at a start":     {100, 3 * time.Hour, "1@0 2@2 3@9000 4@4", "1@0 2@2 3@9000 4@4"},
		"the clock is behind":                {100, 3 * time.Hour, "1@90 2@92 3@0", "1@90 2@92 3@0"},
		"too large, and from the future":     {20, 10 * time.Hour, "1@9 2@0 3@1", "2@0 3@1"},
		"too old, after one from the future": {100, 3 * time.Hour, "1@90 2@0 3@2 4@4 5@6 6@8", "1@90 2@0 3@2 4@4 5@6 6@8"},
		"the future has passed":              {100, 3 * time.Hour, "1@7 2@0 3@2 4@10 5@12", "3@2 4@10 5@12"},
		"the same age":                       {100, 2 * time.Hour, "1@0 2@2 3@4 4@6", "2@2 3@4 4@6"},
		"nothing":                            {100, 0, "", ""},
	} {
		var all []Segment
		for _, text := range strings.Fields(test.all) {
			number, hours, _ := strings.Cut(text, "@")
			s := Segment{path: t.TempDir() + "/" + text, Size: 10}
			s.number, _ = strconv.Atoi(number)
			n, err := strconv.Atoi(hours)
			if err != nil {
				t.Fatal(err)
			}
			s.Begins = zero.Add(time.Duration(n) * time.Hour)
			all = append(all, s)
		}
		kept, err := prune(all, test.size, test.age)
		var got []string
		for _, s := range kept {
			got = append(got, s.path[strings.LastIndex(s.path, "/")+1:])
		}
		if text := strings.Join(got, " "); err != nil || text != test.want {
			t.Errorf("%s: kept %q, %v, want %q", name, text, err, test.want)
		}
	}
}
