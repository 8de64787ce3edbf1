package correlate

import (
	"math"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

func TestStoriesOfClustersWithoutLeases(t *testing.T) {
	far := math.Inf(1)
	const unseen = "kubeflap sees no Leases"
	for _, c := range []struct {
		name  string
		story func() []incident.Incident
		want  string
		says  string
	}{
		{"a healthy hour, with reports each 10 s", func() []incident.Incident {
			return newClusterWith(9, 40, event.ReasonAbsent, 10).runs(3600)
		}, "", ""},
		{"a healthy hour, with reports each 5 min", func() []incident.Incident {
			return newClusterWith(9, 40, event.ReasonForbidden, 300).runs(3600)
		}, "", ""},
		{"reports each 10 s, and one node dies", func() []incident.Incident {
			return newClusterWith(9, 40, event.ReasonAbsent, 10).silence(600, far, 2).runs(720)
		}, "1 node", "other 8 nodes"},
		{"reports each 10 s, and three of nine fall silent together", func() []incident.Incident {
			return newClusterWith(9, 40, event.ReasonAbsent, 10).silence(600, 670, 1, 4, 7).runs(800)
		}, "1 shared_path", "3 of 9 nodes fell silent"},
		{"reports each 10 s, and the node controller marks three nodes in time", func() []incident.Incident {
			return newClusterWith(9, 40, event.ReasonAbsent, 10).marks(600, 1, 2, 3).runs(700)
		}, "1 controller_manager", "set 3 nodes to Unknown"},
		{"reports each 10 s, and nobody may see the Lease of the node that dies", func() []incident.Incident {
			return newClusterWith(9, 40, event.ReasonForbidden, 10).silence(600, 660, 2).runs(800)
		}, "1 node", "other 8 nodes"},
		// Status reports alone do not decide these cases.
		{"reports each 5 min, and one node dies", func() []incident.Incident {
			return newClusterWith(9, 40, event.ReasonForbidden, 300).silence(1000, 1100, 2).runs(1500)
		}, "1 undecided", unseen},
		{"reports each 5 min, and the node controller marks a node in time", func() []incident.Incident {
			return newClusterWith(9, 40, event.ReasonForbidden, 300).marks(1000, 2).runs(1500)
		}, "1 undecided", unseen},
		// These cases do not depend on heartbeats.
		{"reports each 5 min, and an autoscaler removes a node", func() []incident.Incident {
			return newClusterWith(9, 40, event.ReasonForbidden, 300).on(1000, 1, tainted).silence(1005, far, 1).deletes(1100, 1).runs(1300)
		}, "1 planned", "the taint"},
		{"reports each 5 min, and a node reboots", func() []incident.Incident {
			return newClusterWith(9, 40, event.ReasonForbidden, 300).silence(1000, 1100, 1).on(1099, 1, func(o *event.Node) { o.BootID = "another" }).runs(1500)
		}, "1 node_rebooted", "bootID"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := c.story()
			equal(t, "verdicts", verdictsOf(all), c.want)
			said := ""
			for _, x := range all {
				for _, considered := range x.Considered {
					said += considered.Because + "\n"
				}
			}
			if !strings.Contains(said, c.says) || t.Failed() {
				t.Errorf("want %q in what was considered:\n%s", c.says, said)
			}
		})
	}
}
