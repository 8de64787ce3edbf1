package correlate

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// TestEvictionsAfterTheFlapAreEvidenceOfTheNodesIncident evicts pods of two nodes. Only the first one was lost. A pod
// without a toleration comes from a recording that lacks it.
func TestEvictionsAfterTheFlapAreEvidenceOfTheNodesIncident(t *testing.T) {
	for _, c := range []struct {
		status    event.Status
		tolerates *event.Toleration
		want      string
	}{
		{event.StatusUnknown, &event.Toleration{Seconds: 10}, "12 pods (shop/web-0 first): evicted 10s after the node turned Unknown (tolerationSeconds 10)"},
		{event.StatusUnknown, nil, "12 pods (shop/web-0 first): evicted 10s after the node turned Unknown"},
		{event.StatusFalse, nil, "12 pods (shop/web-0 first): evicted 10s after the node reported Ready=False"},
	} {
		s := newScenario(t).at(0).beats("node-1", "node-2").at(40).misses(40, "node-1").turns("node-1", event.StatusTrue, event.StatusUnknown).at(50)
		for i := range 12 {
			for _, node := range []string{"node-1", "node-2"} {
				pod := transition.Pod{Namespace: "shop", Name: fmt.Sprintf("web-%d", i), Node: node}
				s.sees(transition.PodEvicted{At: s.is(), Pod: pod, Status: c.status, After: 10 * time.Second, Tolerates: c.tolerates})
			}
		}
		x := s.only()
		equal(t, "evicted", x.Evicted, 12)
		equal(t, "evidence", x.Evidence[len(x.Evidence)-1].Text, c.want)
	}
}
