package correlate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// evicts makes the taint eviction controller delete a node's pods at the given second. The parameter toleration is the
// tolerationSeconds of the pods, or -1 if unknown, as in some recordings.
func (c *cluster) evicts(second, node, pods int, toleration int64) *cluster {
	pod := func(i int) *event.Pod {
		p := &event.Pod{Meta: event.Meta{UID: event.ParseUID(fmt.Sprintf("pod-%d", i)), Namespace: "shop", Name: fmt.Sprintf("web-%d", i)}}
		p.Node, p.Phase = c.nodes[node-1].object.Name, "Running"
		if toleration >= 0 {
			p.ToleratesUnreachable, p.ToleratesNotReady = &event.Toleration{Seconds: toleration}, &event.Toleration{Seconds: toleration}
		}
		return p
	}
	c.writes[1] = func() {
		for i := range pods {
			c.is(event.Added, pod(i+1))
		}
	}
	c.writes[second] = func() {
		for i := range pods {
			p := pod(i + 1)
			p.Disruption, p.DeletionTimestamp = "DeletionByTaintManager", c.now
			c.is(event.Modified, p)
			c.is(event.Modified, p) // this is the event when the pod's containers have ended
		}
	}
	return c
}

// TestEvictionsAfterTheFlapAreEvidenceOfTheNodesIncident replays the fifth post-mortem: a grace period of 10 s, and
// evictions 10 s after Unknown.
func TestEvictionsAfterTheFlapAreEvidenceOfTheNodesIncident(t *testing.T) {
	has := func(x incident.Incident, text string) bool {
		for _, e := range x.Evidence {
			if strings.Contains(e.Text, text) {
				return true
			}
		}
		return false
	}
	for _, c := range []struct {
		name       string
		toleration int64
		want       string
	}{
		{"they tolerated the taint for 10 s", 10, "12 pods (shop/web-1 first): evicted 10s after the node turned Unknown (tolerationSeconds 10)"},
		{"a recording without the tolerations", -1, "12 pods (shop/web-1 first): evicted 10s after the node turned Unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := newCluster(5, 40).silence(100, 200, 2).evicts(150, 2, 12, c.toleration).runs(170)
			if len(all) != 1 {
				t.Fatalf("%d incidents", len(all))
			}
			x := all[0]
			if x.Evicted != 12 || !has(x, c.want) || !strings.Contains(x.Summary, "12 pods were evicted") {
				t.Errorf("evicted %d, summary %q, evidence %v", x.Evicted, x.Summary, x.Evidence)
			}
		})
	}
	t.Run("a drain of a node that is Ready is none", func(t *testing.T) {
		all := newCluster(5, 40).silence(100, 200, 2).evicts(150, 3, 12, 10).runs(170)
		if len(all) != 1 || all[0].Evicted != 0 {
			t.Errorf("%d incidents, the first with %d evictions", len(all), all[0].Evicted)
		}
	})
}
