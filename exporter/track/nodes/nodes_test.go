package nodes

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestNodesThatComeAndGoBeforeLeasesAreListedLeaveNothingBehind(t *testing.T) {
	w := watches.New()
	x := New(controlplane.New(40*time.Second, w, &transition.List{}), w, &transition.List{})
	node := &event.Node{Meta: event.Meta{UID: event.ParseUID("node/node-1"), Name: "node-1"}, Ready: &event.Condition{Status: event.StatusTrue}}
	for i := range 100 {
		for _, typ := range []event.Type{event.Added, event.Deleted} {
			x.Apply(event.Event{Seen: zero.Add(time.Duration(i) * time.Second), Kind: event.KindNode, Type: typ, Object: node}, node)
		}
	}
	w.AdvanceTo(zero.Add(time.Hour))
	for _, do := w.Due(w.Now()); do != nil; _, do = w.Due(w.Now()) {
		do()
	}
	if len(x.nodes) != 0 {
		t.Errorf("%d nodes are left", len(x.nodes))
	}
}
