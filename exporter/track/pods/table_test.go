package pods

import (
	"math/rand/v2"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestTable compares the table with a map. The UIDs have few different beginnings, so that many belong in the same slot.
func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pods, want := newTable(), map[event.UID]*Pod{}
	for range 5_000 {
		p := &Pod{ID: event.UID{7: byte(r.IntN(50)), 15: byte(r.IntN(20))}}
		if r.IntN(5) < 3 {
			pods.put(p)
			want[p.ID] = p
		} else {
			pods.remove(p.ID)
			delete(want, p.ID)
		}
		if pods.pods != len(want) || pods.slots[pods.slot(p.ID)] != want[p.ID] {
			t.Fatalf("%d pods, want %d", pods.pods, len(want))
		}
	}
	for id, p := range want {
		if pods.slots[pods.slot(id)] != p {
			t.Error("a pod is missing")
		}
	}
}
