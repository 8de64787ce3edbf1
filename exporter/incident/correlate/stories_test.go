package correlate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// cluster generates events: kubelets renew their Leases every 10 s, and a node controller marks silent nodes.
type cluster struct {
	*tracked
	nodes []*fakeNode
	grace float64
	// holds contains the periods in which the node controller sets no node to Unknown. leaders contains the name of
	// each new leader, by the time of the change in seconds.
	holds   [][2]float64
	leaders map[int]string
	// leaderStops is the period in which the leader does not renew its Lease.
	leaderStops [2]float64
	// servers contains, for each API server, the periods in which it does not renew its Lease.
	servers [][][2]float64
	// reports is the interval between the status reports of a node in seconds, if kubeflap sees no Leases. Otherwise it
	// is 0.
	reports int
	// frozen is the period in which the Lease watch delivers nothing. held contains the Leases that it delivers
	// afterwards.
	frozen [2]float64
	held   []event.Object
	// writes contains functions that generate additional events, by the time in seconds.
	writes map[int]func()
}

// fakeNode is a node of a cluster. silent contains the periods in which it sends no heartbeats.
type fakeNode struct {
	object   event.Node
	phase    float64
	silent   [][2]float64
	last     float64
	reported float64
	// setBack is the second at which the node's clock is set back by the given number of seconds.
	setBack, by float64
	// saved is the renewTime that the node controller holds. The controller only moves it forward.
	saved         float64
	unknown, gone bool
}

func newCluster(nodes int, grace float64) *cluster { return newClusterWith(nodes, grace, "", 0) }

// newClusterWith returns a cluster. If reason is not empty, Leases cannot be watched, and reports is the interval
// between status reports in seconds.
func newClusterWith(nodes int, grace float64, reason event.Reason, reports int) *cluster {
	c := &cluster{
		reports: reports,
		tracked: newTracked(track.Settings{BounceWindow: 2 * time.Minute, GracePeriod: seconds(grace)}), grace: grace, writes: map[int]func(){},
	}
	var objects, leases []event.Object
	for i := range nodes {
		n := &fakeNode{phase: math.Mod(float64(i)*3.7, 10)}
		n.object = event.Node{
			Meta:  event.Meta{UID: event.ParseUID(fmt.Sprintf("uid-%d", i)), Name: fmt.Sprintf("node-%d", i+1)},
			Ready: &event.Condition{Status: event.StatusTrue, LastTransitionTime: zero.Add(-time.Hour), LastHeartbeatTime: zero.Add(-time.Minute)}, BootID: "boot",
			Labels: map[string]string{"topology.kubernetes.io/zone": string(rune('a' + i%3))},
		}
		c.nodes = append(c.nodes, n)
		objects, leases = append(objects, n.copy()), append(leases, n.lease(0))
	}
	for _, k := range event.Kinds() {
		switch k {
		case event.KindNode:
			c.lists(k, objects...)
		case event.KindLease:
			if reason != "" {
				c.observe(c.tracker.Apply(event.Event{Seen: c.now, Kind: k, Type: event.Unavailable, Reason: reason}))
				continue
			}
			c.lists(k, leases...)
		default:
			c.lists(k)
		}
	}
	return c
}

// heartbeat renews a node's Lease, or reports its status if kubeflap sees no Leases.
func (c *cluster) heartbeat(n *fakeNode, t float64) {
	switch {
	case c.reports == 0 && isIn([][2]float64{c.frozen}, t):
		c.held = append(c.held, n.lease(t))
	case c.reports == 0:
		c.is(event.Modified, n.lease(t))
	case n.unknown, t-n.reported > float64(c.reports)-1:
		n.reported = t
		n.object.Ready.LastHeartbeatTime = c.now.Truncate(time.Second)
		c.is(event.Modified, n.copy())
	}
}

func (n *fakeNode) copy() *event.Node {
	o, ready := n.object, *n.object.Ready
	o.Ready = &ready
	return &o
}

func (n *fakeNode) lease(t float64) *event.Lease {
	return &event.Lease{Meta: event.Meta{UID: event.ParseUID("lease-" + n.object.Name), Namespace: "kube-node-lease", Name: n.object.Name}, RenewTime: zero.Add(seconds(n.clock(t)))}
}

// clock returns the time of the node's clock.
func (n *fakeNode) clock(t float64) float64 {
	if n.by > 0 && t >= n.setBack {
		return t - n.by
	}
	return t
}

func (n *fakeNode) isSilent(t float64) bool { return isIn(n.silent, t) }

func isIn(times [][2]float64, t float64) bool {
	return slices.ContainsFunc(times, func(s [2]float64) bool { return t >= s[0] && t < s[1] })
}

// silence makes nodes, counted from 1, send no heartbeats in the given period.
func (c *cluster) silence(from, to float64, nodes ...int) *cluster {
	for _, i := range nodes {
		c.nodes[i-1].silent = append(c.nodes[i-1].silent, [2]float64{from, to})
	}
	return c
}

// on changes a node at the given second.
func (c *cluster) on(second, node int, change func(*event.Node)) *cluster {
	before := c.writes[second]
	c.writes[second] = func() {
		if before != nil {
			before()
		}
		n := c.nodes[node-1]
		change(&n.object)
		c.is(event.Modified, n.copy())
	}
	return c
}

// deletes deletes a node at the given second.
func (c *cluster) deletes(second, node int) *cluster {
	before := c.writes[second]
	c.writes[second] = func() {
		if before != nil {
			before()
		}
		c.nodes[node-1].gone = true
		c.is(event.Deleted, c.nodes[node-1].copy())
	}
	return c
}

func (c *cluster) ready(n *fakeNode, status event.Status, reason string) {
	n.object.Ready.Status, n.object.Ready.Reason = status, reason
	n.object.Ready.LastTransitionTime = c.now.Truncate(time.Second)
	n.unknown = status == event.StatusUnknown
	c.is(event.Modified, n.copy())
}

// marks makes the node controller set nodes to Unknown at the given second, regardless of their heartbeats.
func (c *cluster) marks(second int, nodes ...int) *cluster {
	before := c.writes[second]
	c.writes[second] = func() {
		if before != nil {
			before()
		}
		for _, i := range nodes {
			c.ready(c.nodes[i-1], event.StatusUnknown, "NodeStatusUnknown")
		}
	}
	return c
}

// server returns the Lease of an API server.
func (c *cluster) server(i int) *event.ControlPlaneLease {
	name := fmt.Sprintf("%s%c", event.LeaseAPIServerPrefix, 'a'+i)
	return &event.ControlPlaneLease{Meta: event.Meta{UID: event.ParseUID(name), Namespace: "kube-system", Name: name}, Host: fmt.Sprintf("master-%d", i+1), RenewTime: c.now}
}

// controlPlane renews the Leases of the leader every 2 s and of API servers every 10 s. It sends a bookmark on each
// watch every minute.
func (c *cluster) controlPlane(tenth int) {
	if tenth%600 == 300 {
		for _, k := range event.Kinds() {
			c.observe(c.tracker.Apply(event.Event{Seen: c.now, Kind: k, Type: event.Bookmark}))
		}
	}
	for i, stops := range c.servers {
		if tenth%100 == 13*(i+1) && !isIn(stops, float64(tenth)/10) {
			c.is(event.Modified, c.server(i))
		}
	}
	if tenth%20 != 0 || len(c.leaders) == 0 || isIn([][2]float64{c.leaderStops}, float64(tenth)/10) {
		return
	}
	holder, from := "", -1
	for since, name := range c.leaders {
		if since <= tenth/10 && since > from {
			holder, from = name, since
		}
	}
	c.is(event.Modified, &event.ControlPlaneLease{
		Meta: event.Meta{UID: event.ParseUID("leader"), Namespace: "kube-system", Name: event.LeaseControllerManager}, Holder: holder, RenewTime: c.now,
	})
}

// runs plays the story for the given number of seconds, in steps of 100 ms.
func (c *cluster) runs(until int) []incident.Incident {
	for tenth := 1; tenth <= until*10; tenth++ {
		t := float64(tenth) / 10
		c.at(t)
		if write := c.writes[tenth/10]; tenth%10 == 0 && write != nil {
			write()
		}
		c.controlPlane(tenth)
		if len(c.held) > 0 && t >= c.frozen[1] {
			c.is(event.Modified, c.held...)
			c.held = nil
		}
		for _, n := range c.nodes {
			due := math.Abs(math.Mod(t-n.phase, 10)) < 0.05 || math.Abs(math.Mod(t-n.phase, 10)-10) < 0.05
			switch {
			case n.gone:
			case due && !n.isSilent(t):
				c.heartbeat(n, t)
				if n.clock(t) > n.saved || n.unknown {
					n.last, n.saved = t, n.clock(t)
				}
				if n.unknown {
					c.ready(n, event.StatusTrue, "KubeletReady")
				}
			case isIn(c.holds, t):
			case !n.unknown && (n.isSilent(t) || n.by > 0) && t-n.last > c.grace+3 && tenth%50 == 0: // the node controller runs once per monitor period
				c.ready(n, event.StatusUnknown, "NodeStatusUnknown")
			}
		}
	}
	c.observe(c.tracker.Advance(c.now))
	return c.log.Incidents(c.now)
}

func tainted(o *event.Node) {
	o.Taints = []event.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: "NoSchedule"}}
}

// verdictsOf returns the incidents' verdicts with their counts.
func verdictsOf(all []incident.Incident) string {
	counts := map[string]int{}
	for _, x := range all {
		counts[x.Verdict.String()]++
	}
	var texts []string
	for v, n := range counts {
		texts = append(texts, fmt.Sprintf("%d %s", n, v))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func TestStoriesOfNodesEndInTheRightVerdict(t *testing.T) {
	far := math.Inf(1)
	for _, c := range []struct {
		name  string
		story func() []incident.Incident
		want  string
	}{
		{"a healthy hour", func() []incident.Incident { return newCluster(9, 40).runs(3600) }, ""},
		{"one kubelet is slow once", func() []incident.Incident { return newCluster(9, 40).silence(300, 355, 2).runs(500) }, "1 node"},
		{"three of nine nodes fall silent in the same ten seconds", func() []incident.Incident {
			return newCluster(9, 40).silence(300, far, 1, 4, 7).runs(420)
		}, "1 shared_path"},
		{"all nodes fall silent for 50 s", func() []incident.Incident {
			return newCluster(9, 40).silence(300, 350, 1, 2, 3, 4, 5, 6, 7, 8, 9).runs(500)
		}, "1 shared_path"},
		{"two of twenty fall silent together and return together", func() []incident.Incident {
			return newCluster(20, 40).silence(300, 360, 3, 9).runs(500)
		}, "1 shared_path"},
		{"two of twenty fall silent together and do not return", func() []incident.Incident {
			return newCluster(20, 40).silence(300, far, 3, 9).runs(420)
		}, "2 undecided"},
		{"two slow kubelets, an hour apart", func() []incident.Incident {
			return newCluster(20, 40).silence(300, 355, 3).silence(3900, 3955, 9).runs(4200)
		}, "2 node"},
		{"two slow kubelets, and then a zone that is cut off", func() []incident.Incident {
			return newCluster(9, 40).silence(300, 355, 2).silence(360, 415, 6).silence(420, 475, 1, 4, 7).runs(600)
		}, "1 shared_path, 2 node"},
		{"the node controller marks three nodes whose heartbeats are in time", func() []incident.Incident {
			return newCluster(9, 40).marks(300, 1, 2, 3).runs(400)
		}, "1 controller_manager"},
		{"an autoscaler removes four nodes", func() []incident.Incident {
			c := newCluster(9, 40)
			for i := 1; i <= 4; i++ {
				c.on(300, i, tainted).silence(340, far, i).deletes(500, i)
			}
			return c.runs(600)
		}, "4 planned"},
		{"a drained node is shut down and deleted", func() []incident.Incident {
			return newCluster(9, 40).on(300, 1, func(o *event.Node) { o.Unschedulable = true }).silence(360, far, 1).deletes(460, 1).runs(600)
		}, "1 planned"},
		{"a node reboots without notice", func() []incident.Incident {
			return newCluster(9, 40).silence(300, 390, 1).on(389, 1, func(o *event.Node) { o.BootID = "another" }).runs(600)
		}, "1 node_rebooted"},
		{"a host takes three nodes down, which reboot", func() []incident.Incident {
			c := newCluster(9, 40).silence(300, 390, 1, 2, 3)
			for i := 1; i <= 3; i++ {
				c.on(389, i, func(o *event.Node) { o.BootID = "another" })
			}
			return c.runs(600)
		}, "1 node_rebooted"},
		{"a machine is reclaimed without notice", func() []incident.Incident {
			return newCluster(9, 40).silence(300, far, 1).deletes(420, 1).runs(500)
		}, "1 undecided"},
		{"an unplanned loss beside a planned one", func() []incident.Incident {
			return newCluster(9, 40).on(300, 1, tainted).silence(340, far, 1, 2).runs(450)
		}, "1 node, 1 planned"},
		{"a grace period of 12 s and one slow kubelet", func() []incident.Incident {
			return newCluster(9, 12).silence(300, 330, 1).runs(500)
		}, "1 node"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := c.story()
			equal(t, "verdicts", verdictsOf(all), c.want)
			if t.Failed() {
				for _, x := range all {
					t.Logf("%s %s: %v", x.Subject, x.Verdict, x.Considered)
				}
			}
		})
	}
}
