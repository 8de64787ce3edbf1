package contract

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func hours(h float64) time.Duration { return time.Duration(h * float64(time.Hour)) }

// days are days without faults.
func days() []scene {
	return []scene{
		{seen: "roll-outs, also of single replicas", happens: func(c *cluster) {
			for i := range 9 {
				w := c.workloads[i%5]
				c.at(hours(0.1*float64(i)), func() { c.rollOut(w) })
			}
		}},
		{seen: "Deployments are scaled down and up, also to zero, and kubeflap restarts", happens: func(c *cluster) {
			few, none := c.workload("search"), c.workload("cart")
			c.at(0, func() { c.scale(few, 2); c.scale(none, 0) })
			c.at(hours(0.2), func() { c.replicas[0].restart(10*time.Second, false) })
			c.at(hours(0.4), func() { c.replicas[0].restart(10*time.Second, true) })
			c.at(hours(0.5), func() { c.scale(few, 5); c.scale(none, 3) })
		}},
		{seen: "nodes are drained, deleted and replaced", happens: func(c *cluster) {
			for i := range 4 {
				c.at(hours(0.2*float64(i)), func() {
					n := c.anyNode()
					c.cordon(n)
					c.in(c.drain(n), func() { c.leaves(n); c.joins() })
				})
			}
		}},
		{seen: "an autoscaler removes four nodes at once, and adds four", happens: func(c *cluster) {
			c.at(0, func() {
				for _, n := range c.sorted()[:4] {
					c.taint(n, "ToBeDeletedByClusterAutoscaler")
					c.in(c.drain(n), func() { c.silence(n) })
					c.in(6*time.Minute, func() { c.leaves(n) })
				}
			})
			c.at(hours(0.5), func() {
				for range 4 {
					c.joins()
				}
			})
		}},
		{seen: "spot machines are reclaimed with two minutes' notice", happens: func(c *cluster) {
			for i := range 4 {
				c.at(hours(0.25*float64(i)), func() {
					n := c.anyNode()
					c.taint(n, "aws-node-termination-handler/spot-itn")
					c.drain(n)
					c.in(2*time.Minute, func() { c.silence(n) })
					c.in(5*time.Minute, func() { c.leaves(n); c.joins() })
				})
			}
		}},
		{seen: "a reboot daemon restarts all nodes, one after the other", happens: func(c *cluster) {
			c.eachReboots(0, 0.15, func(*node) time.Duration { return c.between(90*time.Second, 4*time.Minute) })
		}},
		{seen: "all nodes are upgraded one by one, and the control plane before them", happens: func(c *cluster) {
			a := c.replicas[0]
			c.at(0, func() { // the API server restarts, and the watches of kubeflap break
				a.breaks(event.Kinds()...)
				c.in(8*time.Second, func() { a.list(event.Kinds()...) })
			})
			c.at(hours(0.1), func() { a.restart(20*time.Second, true) }) // kubeflap is drained, and starts on another node
			c.eachReboots(0.3, 0.2, func(n *node) time.Duration {
				c.in(time.Minute, func() { c.write(n, func(o *event.Node) { o.KubeletVersion = "v1.37.2" }) })
				return c.between(3*time.Minute, 8*time.Minute)
			})
		}},
	}
}

// eachReboots drains and reboots all nodes, one after the other. The function takes returns how long a node is silent.
func (c *cluster) eachReboots(from, apart float64, takes func(*node) time.Duration) {
	for i, n := range c.sorted() {
		c.at(hours(from+apart*float64(i)), func() {
			c.cordon(n)
			c.in(c.drain(n), func() {
				c.silence(n)
				c.in(takes(n), func() { c.boots(n); c.in(30*time.Second, func() { c.uncordon(n) }) })
			})
		})
	}
}

// On a healthy day, no alert may fire.
func TestHealthyDaysPageNobody(t *testing.T) {
	for _, x := range days() {
		t.Run(x.seen, x.run)
	}
}
