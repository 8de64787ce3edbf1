package verdict

import (
	"fmt"
	"testing"
	"time"
)

// TestRestoredSilences restores silences in a process that starts some time after the earlier one has stopped.
func TestRestoredSilences(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	earlier := func() Past {
		var h History
		h.Begin(at(0))
		for i := range 3 {
			h.Add(&Silence{Node: fmt.Sprint("node-", i), Began: at(10 * i), Ended: at(10*i + 1), Judgement: NewJudgement(Node)})
		}
		h.Add(&Silence{Node: "ongoing", Began: at(40)})
		h.Add(&Silence{Node: "deleted", Began: at(50), Deleted: at(51)})
		return h.Past(at(60))
	}
	if got := len(earlier().Silences); got != 4 {
		t.Fatalf("%d silences are kept, want the 4 that have ended", got)
	}
	for name, c := range map[string]struct {
		begin, want int
		since       time.Time
	}{
		"after a minute":             {61, 5, at(0)},
		"after an hour":              {120, 5, at(0)},
		"after more than an hour":    {121, 1, at(121)},
		"after the clock was behind": {30, 1, at(30)},
	} {
		var h History
		h.Restore(earlier())
		h.Add(&Silence{Node: "found", Began: at(55), Found: Found{Is: true}})
		h.Begin(at(c.begin))
		h.Begin(at(c.begin + 600))
		if len(h.silences) != c.want || !h.since.Equal(c.since) {
			t.Errorf("%s: %d silences since %s, want %d since %s", name, len(h.silences), h.since, c.want, c.since)
		}
	}
}

// TestAProcessThatObservesNothing starts processes for five hours that observe nothing. Each saves the silences. They
// must be forgotten, because nobody watched for more than an hour.
func TestAProcessThatObservesNothing(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	saved := Past{Since: noon.Add(-6 * time.Hour), AsOf: noon, Silences: []Silence{{Node: "node-1", Began: noon.Add(-2 * time.Hour), Ended: noon.Add(-119 * time.Minute)}}}
	var h *History
	for after := time.Duration(0); after < 5*time.Hour; after += 10 * time.Minute {
		h = &History{}
		h.Restore(saved)
		saved = h.Past(noon.Add(after)) // without a heartbeat
	}
	h = &History{}
	h.Restore(saved)
	h.Begin(noon.Add(5 * time.Hour))
	if r := h.Rate(noon.Add(5*time.Hour), 10); r.NodeTime > 0 || r.Silences > 0 {
		t.Errorf("the rate counts %d silences in %s of observation, although nobody watched for five hours", r.Silences, r.NodeTime)
	}
}
