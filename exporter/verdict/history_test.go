package verdict

import (
	"fmt"
	"testing"
	"time"
)

// TestPastSilences checks which silences a process knows that starts some time after the earlier one has stopped.
func TestPastSilences(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	var earlier History
	earlier.Observed(at(0))
	for i := range 3 {
		earlier.Add(&Silence{Node: fmt.Sprint("node-", i), Began: at(10 * i), Ended: at(10*i + 1), Judgement: NewJudgement(Node)})
	}
	earlier.Add(&Silence{Node: "ongoing", Began: at(40)})
	earlier.Add(&Silence{Node: "deleted", Began: at(50), Deleted: at(51)})
	earlier.Observed(at(60))
	for name, c := range map[string]struct {
		begin, want int
		since       time.Time
	}{
		"after a minute":             {61, 4, at(0)},
		"after an hour":              {120, 4, at(0)},
		"after more than an hour":    {121, 0, at(121)},
		"after the clock was behind": {30, 0, at(30)},
	} {
		h := earlier.Past(at(c.begin))
		h.Observed(at(c.begin))
		h.Observed(at(c.begin + 600))
		if len(h.silences) != c.want || !h.since.Equal(c.since) {
			t.Errorf("%s: %d silences since %s, want %d since %s", name, len(h.silences), h.since, c.want, c.since)
		}
		if len(h.silences) > 0 && (h.silences[0].Judgement != nil || h.silences[0] == earlier.silences[0]) {
			t.Errorf("%s: the silences have judgements, or are no copies", name)
		}
	}
}

// TestAProcessThatObservesNothing starts processes for five hours that observe nothing. Each passes on the silences.
// They must be forgotten, because nobody watched for more than an hour.
func TestAProcessThatObservesNothing(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var h History
	h.Observed(noon.Add(-6 * time.Hour))
	h.Add(&Silence{Node: "node-1", Began: noon.Add(-2 * time.Hour), Ended: noon.Add(-119 * time.Minute)})
	h.Observed(noon)
	for after := time.Duration(0); after < 5*time.Hour; after += 10 * time.Minute {
		h = h.Past(noon.Add(after)) // without a heartbeat
	}
	h.Observed(noon.Add(5 * time.Hour))
	if r := h.Rate(noon.Add(5*time.Hour), 10); r.NodeTime > 0 || r.Silences > 0 {
		t.Errorf("the rate counts %d silences in %s of observation, although nobody watched for five hours", r.Silences, r.NodeTime)
	}
}
