package correlate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// freezes makes the Lease watch deliver nothing in the given period, and everything at once afterwards. kubeflap does
// not read Leases directly.
func (c *cluster) freezes(from, to float64) *cluster {
	c.frozen = [2]float64{from, to}
	return c
}

// breaks makes the Lease watch fail in the given period. Afterwards the Leases are listed again.
func (c *cluster) breaks(from, to int) *cluster {
	c.frozen = [2]float64{float64(from), float64(to)}
	c.writes[from] = func() {
		c.observe(c.tracker.Apply(event.Event{Seen: c.now, Kind: event.KindLease, Type: event.Down, Reason: event.ReasonRefused}))
	}
	c.writes[to] = func() {
		c.held = nil
		var leases []event.Object
		for _, n := range c.nodes {
			leases = append(leases, n.lease(n.last))
		}
		c.lists(event.KindLease, leases...)
	}
	return c
}

func TestIncidentsWhileKubeflapIsBlind(t *testing.T) {
	far := math.Inf(1)
	for _, c := range []struct {
		name  string
		story func() *cluster
		until int
		want  string
		says  string
	}{
		{"the watch is frozen for 70 s, and all nodes are well", func() *cluster {
			return newCluster(9, 40).freezes(300, 370)
		}, 500, "withdrawn", "Withdrawn: the watch delivered events late. The heartbeats of 9 nodes were on time"},
		{"the watch is frozen for 70 s, and one node is dead", func() *cluster {
			return newCluster(9, 40).freezes(300, 370).silence(200, far, 2)
		}, 500, "node, withdrawn", "The heartbeats of 8 nodes were on time"},
		{"etcd takes no writes for 70 s", func() *cluster {
			return newCluster(9, 40).silence(300, 370, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		}, 500, "shared_path", "9 of 9 nodes"},
		{"the watch breaks for 70 s, and all nodes are well", func() *cluster { return newCluster(9, 40).breaks(300, 370) }, 500, "", ""},
		{"the watch breaks, and the node controller marks a node meanwhile", func() *cluster {
			return newCluster(9, 40).breaks(300, 370).silence(305, 390, 2)
		}, 500, "undecided", ""},
		{"the watch breaks long after a node died", func() *cluster {
			return newCluster(9, 40).silence(200, far, 2).breaks(300, 370)
		}, 500, "node", "node-2"},
		// The list after the break shows the last renewal of each node.
		{"three nodes die one after the other while the watch is broken", func() *cluster {
			return newCluster(9, 40).holdsBack(0, 650).breaks(300, 600).silence(310, far, 1).silence(400, far, 2).silence(500, far, 3)
		}, 700, "node, node, node", ""},
		// Other nodes sent heartbeats after the break, but this one did not.
		{"a node dies while the watch is broken, and another one long before", func() *cluster {
			return newCluster(9, 40).silence(100, far, 1).breaks(300, 370).silence(310, far, 2)
		}, 500, "node, node", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := c.story()
			all := x.runs(c.until)
			var verdicts, texts []string
			counted := 0
			for _, i := range all {
				switch {
				case i.Withdrawn != "":
					verdicts = append(verdicts, "withdrawn")
					equal(t, "state", i.State, incident.StateEnded)
				default:
					verdicts = append(verdicts, i.Verdict.String())
					counted++
				}
				texts = append(texts, fmt.Sprintf("%s %v", i.Summary, i.Considered))
			}
			slices.Sort(verdicts)
			equal(t, "verdicts", strings.Join(verdicts, ", "), c.want)
			if said := strings.Join(texts, "\n"); !strings.Contains(said, c.says) || t.Failed() {
				t.Errorf("want %q in:\n%s", c.says, said)
			}
			standings, resolved := x.log.Standings(x.now)
			equal(t, "standings", len(standings), counted)
			equal(t, "resolved", len(resolved) <= counted, true)
		})
	}
}

// TestALostNodeThatReturnsWhileTheWatchIsBroken checks that the list after the break ends the incident, and that the
// silence is at least as long as the part that kubeflap saw.
func TestALostNodeThatReturnsWhileTheWatchIsBroken(t *testing.T) {
	x := newCluster(9, 40).silence(200, 340, 2).breaks(300, 370)
	all := x.runs(371)
	if len(all) != 1 {
		t.Fatalf("%d incidents, want one: %+v", len(all), all)
	}
	equal(t, "state", all[0].State, incident.StateRecovered)
	if !strings.Contains(all[0].Summary, "no heartbeat for at least ") || strings.Contains(all[0].Remedy, "is down") {
		t.Errorf("%s %s", all[0].Summary, all[0].Remedy)
	}
}
