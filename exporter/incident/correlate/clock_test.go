package correlate

import (
	"math"
	"strings"
	"testing"
)

// setsBack sets the clocks of nodes back by a number of seconds.
func (c *cluster) setsBack(second, by float64, nodes ...int) *cluster {
	for _, i := range nodes {
		c.nodes[i-1].setBack, c.nodes[i-1].by = second, by
	}
	return c
}

func TestAClockThatWasSetBackIsNamed(t *testing.T) {
	const because = "the clock of node-2 was set back by 2m"
	for _, c := range []struct {
		name  string
		story func() *cluster
		until int
		want  string
	}{
		{"by two minutes, and the node controller marks the node", func() *cluster { return newCluster(9, 40).setsBack(300, 120, 2) }, 500, "1 node"},
		{"the same, and from v1.37 the node controller holds back instead", func() *cluster {
			return newCluster(9, 40).leads(0, "a").holdsBack(0, math.Inf(1)).setsBack(300, 120, 2)
		}, 500, "1 node"},
		{"by half a minute: the grace period is longer", func() *cluster { return newCluster(9, 40).setsBack(300, 25, 2) }, 500, ""},
		{"before, and then the node dies", func() *cluster {
			return newCluster(9, 40).setsBack(300, 25, 3).silence(600, math.Inf(1), 3)
		}, 700, "1 node"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := c.story().runs(c.until)
			equal(t, "verdicts", verdictsOf(all), c.want)
			for _, x := range all {
				said := x.Summary + x.Remedy
				for _, e := range x.Evidence {
					said += e.Text
				}
				for _, h := range x.Considered {
					said += h.Because
				}
				if named := strings.Contains(said, "clock"); named != (x.Subject == "node-2") {
					t.Errorf("the clock is named %v in the incident of %s: %s", named, x.Subject, said)
				}
				if x.Subject == "node-2" && (!strings.Contains(said, because) || !strings.Contains(x.Remedy, "chronyc") || !strings.Contains(x.Summary, "clock")) {
					t.Errorf("want %q in %s", because, said)
				}
			}
		})
	}
}

// TestClocksThatWereSetBackTogetherAreOneIncident checks that nodes that follow the same wrong time server share one
// incident, whose verdict is not shared_path.
func TestClocksThatWereSetBackTogetherAreOneIncident(t *testing.T) {
	all := newCluster(9, 40).setsBack(300, 120, 1, 2, 3, 4).runs(500)
	equal(t, "verdicts", verdictsOf(all), "1 node")
	equal(t, "nodes", strings.Join(all[0].Nodes, " "), "node-1 node-2 node-3 node-4")
	equal(t, "summary", strings.HasPrefix(all[0].Summary, "The clocks of 4 of 9 nodes were set back, so the node controller ignored their heartbeats"), true)
	equal(t, "remedy", strings.HasPrefix(all[0].Remedy, "Repair the time synchronization of node-1 and 3 more"), true)
}

func TestASlowKubeletBesideClocksThatWereSetBackIsAnIncidentOfItsOwn(t *testing.T) {
	all := newCluster(9, 40).setsBack(300, 120, 1, 2, 3).silence(320, 380, 7).runs(500)
	equal(t, "verdicts", verdictsOf(all), "2 node")
}
