package judge

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

func TestSilencesFromBeforeTheWatchAreComparedHoweverOld(t *testing.T) {
	var h silence.Store
	h.Begin(at(0))
	for i, began := range []time.Duration{-72 * time.Hour, -72*time.Hour + 4*time.Second, -72*time.Hour + 9*time.Second} {
		h.Add(&silence.Silence{Node: silent(0, 0, 0)[i].Node, Began: at(0).Add(began), Found: silence.Found{Is: true}})
	}
	h.Add(&silence.Silence{Node: "node-8", Began: at(-600), Found: silence.Found{Is: true}})
	h.Add(&silence.Silence{Node: "node-9", Began: at(-30 * 3600), Found: silence.Found{Is: true}, Ended: at(10)})
	all, _ := h.Recent(at(-3600))
	if len(all) != 4 {
		t.Fatalf("silences that last or are young: %d, want 4", len(all))
	}
	for _, s := range all {
		want := verdict.SharedPath
		if s.Node == "node-8" {
			want = verdict.Node
		}
		f := loss(9, silence.List{s})
		f.Recent = all
		if d := OfNodes(f); d.Verdict != want {
			t.Errorf("%s: %s, want %s", s.Node, d.Verdict, want)
		}
	}
}
