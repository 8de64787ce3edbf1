package silence

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// TestRestoredSilences restores the silences of an hour at noon. At 11:00, the observation begins.
func TestRestoredSilences(t *testing.T) {
	eleven := time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return eleven.Add(time.Duration(minutes) * time.Minute) }
	var earlier Store
	earlier.Begin(at(0))
	for i := range 3 {
		earlier.Add(&Silence{Node: fmt.Sprint("node-", i), Began: at(10 * i), Ended: at(10*i + 1), Judgement: NewJudgement(verdict.Node)})
	}
	earlier.Add(&Silence{Node: "ongoing", Began: at(40)})
	earlier.Add(&Silence{Node: "deleted", Began: at(50), Deleted: at(51)})
	text, err := json.Marshal(earlier.Past(at(60)))
	if err != nil {
		t.Fatal(err)
	}
	var past Past
	if err := json.Unmarshal(text, &past); err != nil {
		t.Fatal(err)
	}
	// Nobody watches until 14:00.
	var h Store
	h.Restore(past, at(180))
	h.Begin(at(181))
	if len(h.all) != 4 || h.all[0].Judgement.Verdict() != verdict.Node {
		t.Errorf("%d silences, want the 4 that had ended, with their verdicts", len(h.all))
	}
	if observed := h.Observed(at(240)); observed != 2*time.Hour {
		t.Errorf("observed for %s, want two hours", observed)
	}
}

func TestUpgradesAreForgotten(t *testing.T) {
	var u Upgrades
	for i := range 1000 {
		u.Note([]string{"node-1", "node-2"}[i%2], at(float64(60*i)))
	}
	if len(u) != 121 {
		t.Errorf("%d are kept", len(u))
	}
	u.Note("node-3", at(48*3600))
	if len(u) != 1 {
		t.Errorf("two days later: %v", u)
	}
}

// TestLateHeartbeatsDisplaceNoSilence checks that the silences of lost nodes are remembered although many nodes are late.
func TestLateHeartbeatsDisplaceNoSilence(t *testing.T) {
	var h Store
	h.Add(&Silence{Node: "node-1", Began: at(0), Ended: at(60)})
	for i := range 2 * maxRemembered {
		h.Add(&Silence{Node: "node-2", Began: at(float64(i)), Ended: at(float64(i + 30)), Short: true})
	}
	if h.all[0].Short || len(h.all) != maxRemembered || h.all[1].Began != at(maxRemembered+1) {
		t.Errorf("%d silences, the oldest: %+v, %+v", len(h.all), h.all[0], h.all[1])
	}
}
