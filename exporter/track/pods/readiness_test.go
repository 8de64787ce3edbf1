package pods

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// TestFlappingForHours checks that a pod that loses readiness every 10 s for hours needs no more memory than after a
// minute.
func TestFlappingForHours(t *testing.T) {
	var found transition.List
	w := watches.New()
	x := New(w, &found, nodes.New(controlplane.New(0, w, &found), w, &found), func(*ReadinessLoss) {})
	id := event.ParseUID([]byte("b6a0ae2c-2f0b-4a7c-8f0a-0c2b8a3f7d11"))
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 3000 {
		now = now.Add(5 * time.Second)
		w.AdvanceTo(now)
		is := event.Condition{Status: event.StatusTrue}
		if i%2 == 1 {
			is = event.Condition{Status: event.StatusFalse, Reason: "ContainersNotReady"}
		}
		x.Apply(event.Event{Seen: now, Kind: event.KindPod, Type: event.Modified}, &event.Pod{
			Meta: event.Meta{UID: id, Namespace: "shop", Name: "web-1"}, Phase: "Running", Ready: &is,
		})
		found.Take()
	}
	kept := 0
	for loss := x.was(x.Find(id)).loss; loss != nil; loss = loss.earlier {
		kept++
	}
	if kept < 2 || kept > 5 {
		t.Errorf("%d losses are kept, want those of the last half minute", kept)
	}
}
