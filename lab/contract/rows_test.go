package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// rows are situations in which earlier rules were wrong.
func rows() []scene {
	return slices.Concat(restarts(), controlPlanes(), departures(), outages(), exemptions())
}

func TestRows(t *testing.T) {
	for _, x := range rows() {
		t.Run(x.seen, x.run)
	}
}

const (
	second = time.Second
	minute = time.Minute
)

// downFor makes all probes of a Service fail for a time.
func downFor(service string, d time.Duration) func(*cluster) {
	return func(c *cluster) {
		c.at(0, func() { c.fails(c.workload(service), len(c.workload(service).pods), d) })
		c.at(d, func() {}) // the end of the outage is scraped as often as its beginning
	}
}

func restarts() []scene {
	inOutage := func(how string, keep bool) scene {
		return scene{
			seen: "kubeflap restarts in the first minute of an outage, " + how,
			happens: func(c *cluster) {
				downFor("web", 10*minute)(c)
				c.at(20*second, func() { c.replicas[0].restart(15*second, keep) })
			},
			fires: "critical ServiceDown shop/web 1m-2m 10m-11m\n" + mayFlap, pages: 1,
		}
	}
	return []scene{
		inOutage("with its recordings", true),
		inOutage("without recordings", false),
		{
			seen: "a replica hangs during an outage, and serves its metrics on",
			happens: func(c *cluster) {
				c.watch("b")
				downFor("web", 15*minute)(c)
				c.at(5*minute, func() { c.replicas[1].hangs() })
			},
			fires: "critical ServiceDown shop/web 1m-2m 15m-17m\n" + mayFlap, pages: 1, lasts: hours(1.5),
		},
		{
			seen: "Prometheus cannot scrape for 7 minutes of an outage",
			happens: func(c *cluster) {
				downFor("web", 20*minute)(c)
				c.at(3*minute, func() { c.replicas[0].outOfReach = true })
				c.at(10*minute, func() { c.replicas[0].outOfReach = false })
			},
			fires: "critical ServiceDown shop/web 1m-2m 20m-21m\ncritical Down - 8m-10m 10m-11m\n" + mayFlap, pages: 2, faults: 2,
		},
		{
			seen: "the replicas disagree about an announcement",
			happens: func(c *cluster) {
				b := c.watch("b")
				c.workload("store").startup = 3 * minute
				n := c.nodes[c.workload("store").pods[0].Node]
				c.at(0, func() { b.breaks(event.KindNode) })
				c.at(10*second, func() {
					c.taint(n, "ToBeDeletedByClusterAutoscaler")
					c.in(c.drain(n), func() { c.silence(n) })
				})
				c.at(5*minute, func() { b.list(event.KindNode) })
				c.at(8*minute, func() { c.leaves(n) })
			},
			fires: mayFlap,
		},
		{
			seen:    "a cluster is taken down",
			happens: func(c *cluster) { c.at(0, func() { c.replicas[0].stopped = true }) },
			fires:   "critical Down - 5m-7m 23h50m-24h10m", pages: 6, lasts: hours(26),
		},
	}
}

func controlPlanes() []scene {
	return []scene{
		{
			seen:    "etcd stalls for 24 s, and nothing is lost",
			happens: func(c *cluster) { c.at(0, func() { c.stalls(24 * second) }) },
			fires:   "maybe warning ControlPlaneFault -",
		},
		{
			seen: "four nodes are lost 7 s apart, while all Services survive", nodes: 9,
			happens: func(c *cluster) {
				for i, n := range c.sorted()[:4] {
					c.at(time.Duration(i)*7*second, func() { c.silence(n) })
				}
				c.at(20*minute, func() {
					for _, n := range c.sorted()[:4] {
						c.returns(n)
					}
				})
			},
			fires: "critical NodeLost - 1m-3m 20m-32m\n" + mayLose, pages: 1,
		},
		{
			seen: "a host with three workers dies, and the short grace period is hidden", nodes: 9,
			happens: func(c *cluster) {
				c.version, c.grace = "v1.30.4", 16*second
				c.at(0, func() { c.silence(c.sorted()[:3]...) })
				c.at(20*minute, func() { c.returns(c.sorted()[:3]...) })
			},
			fires: "critical NodeLost - 40s-3m 20m-32m\n" + mayLose, pages: 1,
		},
		{
			seen: "a node with a hidden long grace period is silent",
			file: reports + "unknown-long-grace-period-node-silent", faults: 2,
			fires: `warning NodeLost node-3 17m-19m 24m-37m
				critical EndpointsOverwritten kube-system/kube-controller-manager 5m-6m30s
				critical EndpointsOverwritten kube-system/kube-scheduler 5m-6m30s
				maybe warning SelectorConflict kube-system/*
				maybe critical ServiceDown kube-system/*
				maybe warning EndpointsWrong shop ready_on_lost_node`, pages: 2,
		},
		{
			seen: "the clock of a node is wrong",
			happens: func(c *cluster) {
				n := c.sorted()[0]
				c.at(0, func() { n.clock = 90 * second })
				c.at(10*minute, func() { n.clock = 0 })
				c.at(20*minute, func() { n.clock = -10 * second })
			},
			fires: "maybe warning NodeLost node-1",
		},
	}
}

func departures() []scene {
	return []scene{
		{
			seen: "a pool is cordoned, and drained and rebooted 2 h 40 min later",
			happens: func(c *cluster) {
				c.workload("store").startup = 2 * minute
				var pool []*node
				c.at(0, func() {
					for _, name := range []string{"store", "mail"} {
						n := c.nodes[c.workload(name).pods[0].Node]
						c.cordon(n)
						pool = append(pool, n)
					}
				})
				c.at(hours(2.67), func() {
					for _, n := range pool {
						c.in(c.drain(n), func() { c.silence(n); c.in(3*minute, func() { c.boots(n); c.uncordon(n) }) })
					}
				})
			},
		},
		{
			seen: "a slow cloud removes nodes",
			happens: func(c *cluster) {
				for i := range 2 {
					c.at(time.Duration(i)*5*minute, func() {
						n := c.anyNode()
						c.taint(n, "ToBeDeletedByClusterAutoscaler")
						c.in(c.drain(n), func() { c.silence(n); c.in(12*minute, func() { c.leaves(n) }) })
					})
				}
			},
		},
		{
			seen:  "a removal taint is forgotten, and the machine dies 70 minutes later",
			file:  reports + "old-removal-taint-then-machine-dies",
			fires: "critical ServiceDown shop/store 1h16m35s-1h17m35s\nwarning NodeLost node-3 1h15m-1h21m", pages: 1,
		},
	}
}

const reports = "cmd/kubeflap/testdata/reports/"

func outages() []scene {
	return []scene{
		{
			seen: "a Service flaps, has outages and is deleted",
			happens: func(c *cluster) {
				downFor("web", 20*second)(c)
				for i := range 4 {
					c.at(time.Duration(i)*90*second, func() { c.fails(c.workload("web"), 3, 25*second) })
				}
				c.at(10*minute, func() { c.deletes(c.workload("web"), false) })
			},
			fires: `critical ServiceBudgetBurning shop/web 1m-8m 15m-23m
				maybe warning ServiceBudgetBurning shop/web
				warning ServiceFlapping shop/web 0s-8m 10m-16m`, pages: 1, lasts: hours(7),
		},
		{
			seen: "a blue-green switch",
			happens: func(c *cluster) {
				green := c.deploy("shop", "green", 3)
				c.at(0, func() { c.switches(c.workload("web"), green) })
			},
		},
		{
			seen:    "an ordinary outage",
			happens: downFor("web", 3*minute), fires: "critical ServiceDown shop/web 1m-2m 3m-4m\n" + mayFlap, pages: 1, lasts: hours(7),
		},
		{
			seen: "one of 200 pods is not ready for 10 s every 2 minutes", nodes: 3,
			happens: func(c *cluster) {
				c.deploy("shop", "large", 200)
				for i := range 60 {
					c.at(time.Duration(i)*2*minute, func() { c.fails(c.workload("large"), 1, 10*second) })
				}
			},
		},
	}
}

func exemptions() []scene {
	return []scene{
		{
			seen:    "truncated Endpoints have 990 dead addresses",
			happens: func(c *cluster) { c.at(0, func() { c.writesDeadEndpoints(c.workload("web"), 997) }) },
			fires:   "warning EndpointsWrong shop/web diverged 2m-4m",
		},
		{
			seen:  "a Service with 3 addresses loses one every 11 s, because pods are replaced",
			file:  reports + "static-pod-mirror-recreated-every-11s",
			fires: "warning ServiceFlapping kube-system/sched-metrics 5m-20m",
		},
		{
			seen: "a pod fails after its image was changed in place",
			happens: func(c *cluster) {
				c.at(0, func() { c.changesImage(c.workload("store")) })
				c.at(80*second, func() { c.fails(c.workload("store"), 1, 5*minute) })
			},
			fires: "critical ServiceDown shop/store 2m20s-3m20s 6m20s-7m30s\nmaybe warning ServiceBudgetBurning shop/store", pages: 1,
		},
	}
}

// switches makes a Service select the pods of another workload.
func (c *cluster) switches(w, to *workload) {
	o := *w.Service
	o.Selector = to.Selector
	w.Service, w.others = &o, to
	c.tell(event.Modified, w.Service)
	c.syncs(w)
}

// changesImage changes the image of a Service's pod in place. The pod is soon Ready again.
func (c *cluster) changesImage(w *workload) {
	p := w.pods[0]
	p.Containers[0].Image = "app:next"
	c.tell(event.Modified, clone(p))
	c.in(2*second, func() {
		x := &p.Containers[0]
		x.ID, x.Restarts, x.Started = c.named("id"), x.Restarts+1, c.now
		c.setReady(w, p, event.StatusFalse)
	})
	c.in(8*second, func() { c.setReady(w, p, event.StatusTrue) })
}

// writesDeadEndpoints writes truncated Endpoints of a Service that have, besides the right ones, addresses of pods that
// do not exist.
func (c *cluster) writesDeadEndpoints(w *workload, dead int) {
	o := &event.Endpoints{Meta: idOf(w.Namespace, w.Name), Truncated: true, Writer: "kube-controller-manager", Addresses: slices.Clone(w.slice.Addresses)}
	for range dead {
		name := c.named("dead")
		o.Addresses = append(o.Addresses, event.Address{UID: event.ParseUID(name), IP: "10.9." + name, Ready: true})
	}
	c.tell(event.Added, o)
}
