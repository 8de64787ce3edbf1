package contract

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestBlindSpots tests situations in which kubeflap cannot see everything, or in which what it sees can be mistaken.
func TestBlindSpots(t *testing.T) {
	for _, x := range append(hungReplicas(), []scene{
		{
			seen: "a cordoned node dies with the only pod of a Service",
			happens: func(c *cluster) {
				n := c.nodes[c.workload("store").pods[0].Node]
				c.at(0, func() { c.cordon(n) })
				c.at(2*minute, func() { c.silence(n) })
				c.at(15*minute, func() { c.returns(n) })
			},
			fires: "critical ServiceDown shop/store 3m30s-5m 7m-17m\nwarning NodeLost * 2m40s-20m\n" + mayFlap, pages: 1,
		},
		{
			seen: "a spot machine is reclaimed with notice",
			happens: func(c *cluster) {
				n := c.nodes[c.workload("mail").pods[0].Node]
				c.at(0, func() { c.taint(n, "aws-node-termination-handler/spot-itn"); c.drain(n) })
				c.at(2*minute, func() { c.silence(n) })
				c.at(4*minute, func() { c.leaves(n) })
			},
			fires: mayFlap,
		},
		{
			seen: "a spot machine is reclaimed with notice, and the controller manager marks its node 30 s late",
			happens: func(c *cluster) {
				n := c.nodes[c.workload("mail").pods[0].Node]
				c.at(0, func() { c.taint(n, "aws-node-termination-handler/spot-itn"); c.drain(n) })
				c.at(100*second, func() { c.grace += 30 * second; c.silence(n); c.grace -= 30 * second })
				c.at(6*minute, func() { c.leaves(n) })
			},
			fires: mayFlap,
		},
		{
			seen: "kubeflap's own watches stand still for 30 s", nodes: 9,
			happens: func(c *cluster) { c.at(0, func() { c.replicas[0].freezes(30 * second) }) },
		},
		{
			seen: "kubeflap's own watches stand still for 2 minutes, and it may not read Leases", nodes: 9,
			happens: func(c *cluster) { c.at(0, func() { c.replicas[0].freezes(2 * minute) }); c.at(5*minute, func() {}) },
			fires: `maybe critical NodeLost -
				critical ControlPlaneFault - 40s-2m 2m-9m
				maybe warning ControlPlaneFault -
				maybe warning NodeLost *`, pages: 1,
		},
		{
			seen: "twelve weak nodes of sixty are silent again and again, by turns", nodes: 60,
			happens: weakNodes(70 * second),
			fires:   "maybe warning NodeLost *\nmaybe warning NodeFlapping *\nmaybe warning GracePeriodTooTight -\nmaybe warning ServiceBudgetBurning *\n" + mayFlap,
		},
		{
			seen: "twelve weak nodes of sixty are silent again and again, and three of them at once", nodes: 60,
			happens: weakNodes(200 * second), pages: 1,
			fires: "critical NodeLost - 1m-7m\nmaybe warning NodeLost *\nmaybe warning NodeFlapping *\nmaybe warning GracePeriodTooTight -\nmaybe warning ServiceBudgetBurning *\n" + mayFlap,
		},
	}...) {
		t.Run(x.seen, x.run)
	}
}

// weakNodes makes twelve nodes silent again and again, 50 s after each other.
func weakNodes(lasts time.Duration) func(*cluster) {
	return func(c *cluster) {
		for i := range 48 {
			n, at := c.sorted()[i*5%60], time.Duration(i)*50*second
			c.at(at, func() { c.silence(n) })
			c.at(at+lasts, func() { c.returns(n) })
		}
	}
}

// hungReplicas are situations that end while one of two replicas is hung. It shows them on.
func hungReplicas() []scene {
	hung := func(happens func(*cluster) (ends func())) func(*cluster) {
		return func(c *cluster) {
			b := c.watch("b")
			ends := happens(c)
			c.at(6*minute, func() { b.hangs() })
			c.at(10*minute, ends)
		}
	}
	return []scene{
		{
			seen: "a replica hangs while four nodes are lost", nodes: 9,
			happens: hung(func(c *cluster) func() {
				c.at(0, func() { c.silence(c.sorted()[:4]...) })
				return func() { c.returns(c.sorted()[:4]...) }
			}),
			fires: "critical NodeLost - 50s-3m 10m-22m\n" + mayLose, pages: 1, lasts: hours(2),
		},
		{
			seen: "a replica hangs while another writer has added addresses",
			happens: hung(func(c *cluster) func() {
				o := c.foreignSlice(c.workload("web"))
				c.at(0, func() { c.tell(event.Added, o) })
				return func() { c.tell(event.Deleted, o) }
			}),
			fires: "warning EndpointsWrong shop/web foreign 2m-4m 10m-20m", lasts: hours(2),
		},
	}
}
