package main

import (
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// TestASilentNodeThatIsStillReadyHasNotRecovered restarts kubeflap while nodes are silent, but not Unknown yet: because
// it is too early, or because etcd is stalled. The incident has not recovered, and its evidence must not say so.
func TestASilentNodeThatIsStillReadyHasNotRecovered(t *testing.T) {
	for name, c := range map[string]struct {
		cluster  *fakeCluster
		from, to float64
	}{
		"just before it is marked":         {newFakeCluster(9).silence(300, 900, 5), 335, 336},
		"etcd is stalled":                  {newFakeCluster(9).stall(300, 900), 500, 510},
		"etcd is stalled, long gap":        {newFakeCluster(9).stall(300, 1500), 500, 900},
		"etcd is stalled, for a long time": {newFakeCluster(9).stall(300, 1500), 400, 405},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRestarted(t, c.cluster)
			r.runUntil(c.from)
			before := r.only()
			r.stops = true
			r.restart(c.to)
			for _, after := range []float64{2, 5, 20, 60, 130, 200} {
				r.runUntil(c.to + after)
				for _, x := range r.incidents() {
					if x.ID == before.ID && x.State != incident.StateRunning {
						t.Errorf("%g s after the restart: %s | %s", after, described(x), x.Summary)
					}
				}
			}
			if all := r.incidents(); len(all) != 1 {
				t.Errorf("%d incidents", len(all))
			}
			for _, e := range r.incidents()[0].Evidence {
				if strings.Contains(e.Text, "recovered") {
					t.Errorf("evidence: %s", e.Text)
				}
			}
		})
	}
}
