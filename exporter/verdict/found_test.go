package verdict

import (
	"testing"
	"time"
)

func TestSilencesFromBeforeTheWatchAreComparedHoweverOldAndAreNoRate(t *testing.T) {
	var h History
	h.Begin(at(0))
	for i, began := range []time.Duration{-72 * time.Hour, -72*time.Hour + 4*time.Second, -72*time.Hour + 9*time.Second} {
		h.Add(&Silence{Node: silent(0, 0, 0)[i].Node, Began: at(0).Add(began), Found: Found{Is: true}})
	}
	h.Add(&Silence{Node: "node-8", Began: at(-600), Found: Found{Is: true}})
	h.Add(&Silence{Node: "node-9", Began: at(-30 * 3600), Found: Found{Is: true}, Ended: at(10)})
	all := h.AfterOrLasting(at(-3600))
	if len(all) != 4 {
		t.Fatalf("silences that last or are young: %d, want 4", len(all))
	}
	if r := h.Rate(at(7200), 9); r.Silences != 0 {
		t.Errorf("silences that count for the rate: %d, want 0", r.Silences)
	}
	for _, s := range all {
		want := SharedPath
		if s.Node == "node-8" {
			want = Node
		}
		f := loss(9, []*Silence{s})
		f.Recent = all
		if d := OfNodes(f); d.Verdict != want {
			t.Errorf("%s: %s, want %s", s.Node, d.Verdict, want)
		}
	}
}
