package correlate

import (
	"math"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// holdsBack prevents the node controller from marking nodes Unknown in the given period.
func (c *cluster) holdsBack(from, to float64) *cluster {
	c.holds = append(c.holds, [2]float64{from, to})
	return c
}

// leads gives a kube-controller-manager the leader Lease from the given second on.
func (c *cluster) leads(from int, holder string) *cluster {
	if c.leaders == nil {
		c.lists(event.KindControlPlaneLease)
		c.leaders = map[int]string{}
	}
	c.leaders[from] = holder
	return c
}

func TestSilentNodesThatStayReady(t *testing.T) {
	far := math.Inf(1)
	for _, c := range []struct {
		name  string
		story func() []incident.Incident
		want  string
		says  string
	}{
		{"the breaker holds back, and one node is dead", func() []incident.Incident {
			return newCluster(9, 40).leads(0, "a").holdsBack(0, far).silence(300, far, 2).runs(420)
		}, "1 controller_manager", "left 1 silent node Ready"},
		{"two nodes die, an hour apart", func() []incident.Incident {
			return newCluster(9, 40).leads(0, "a").holdsBack(0, far).silence(300, far, 2).silence(3900, far, 5).runs(4100)
		}, "1 controller_manager", "left 2 silent nodes Ready"},
		{"a node that dies is not marked for an hour, and the leader cannot be seen", func() []incident.Incident {
			return newCluster(9, 40).holdsBack(0, far).silence(300, far, 2).runs(3900)
		}, "1 controller_manager", "left 1 silent node Ready"},
		{"the leader died with the node, and the next one gives all a fresh grace period", func() []incident.Incident {
			return newCluster(9, 40).leads(0, "a").leads(320, "b").holdsBack(0, 362).silence(300, far, 2).runs(500)
		}, "1 node", "sent no heartbeat"},
		{"the same, and the leader cannot be seen", func() []incident.Incident {
			return newCluster(9, 40).holdsBack(0, 362).silence(300, far, 2).runs(500)
		}, "1 node", "sent no heartbeat"},
		{"nobody could write for 70 s, and the node controller marks nobody", func() []incident.Incident {
			return newCluster(9, 40).leads(0, "a").holdsBack(0, far).silence(300, 370, 1, 2, 3, 4, 5, 6, 7, 8, 9).runs(500)
		}, "1 shared_path", "fell silent together"},
		{"a node is drained and shut down, and the node controller holds back", func() []incident.Incident {
			return newCluster(9, 40).leads(0, "a").holdsBack(0, far).on(300, 1, tainted).silence(340, far, 1).runs(500)
		}, "1 planned", "sent no heartbeat"},
		{"a node is slow for 52 s, and the node controller needs 12 s", func() []incident.Incident {
			return newCluster(9, 40).leads(0, "a").holdsBack(0, far).silence(300, 352, 1).runs(500)
		}, "1 node", "did not notice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := c.story()
			equal(t, "verdicts", verdictsOf(all), c.want)
			for _, x := range all {
				if !strings.Contains(x.Summary, c.says) {
					t.Errorf("%q, want %q in it", x.Summary, c.says)
				}
				if t.Failed() {
					t.Logf("%s %s: %v", x.Subject, x.Verdict, x.Considered)
				}
			}
		})
	}
}
