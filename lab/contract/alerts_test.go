package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func TestEachAlert(t *testing.T) {
	for _, x := range slices.Concat(serviceAlerts(), endpointAlerts(), nodeAlerts(), selfAlerts(), databases()) {
		t.Run(x.seen, x.run)
	}
}

func serviceAlerts() []scene {
	return []scene{
		{
			seen: "a drained Service does not come back", happens: func(c *cluster) {
				w := c.workload("store")
				w.startup = 9 * minute
				c.at(0, func() {
					c.cordon(c.nodes[w.pods[0].Node])
					c.stop(w, w.pods[0], "EvictionByEvictionAPI")
					c.start(w, nil)
				})
			},
			fires: "critical ServiceDown shop/store 5m-7m 8m-11m", pages: 1,
		},
		{
			seen: "the new pod of a roll-out does not become ready", happens: func(c *cluster) {
				c.workload("store").startup = 9 * minute
				c.at(0, func() { c.rollOut(c.workload("store")) })
			},
			fires: "critical ServiceDown shop/store 5m-7m 8m-11m", pages: 1,
		},
		{
			seen: "two outages are short", happens: func(c *cluster) {
				for i := range 2 {
					c.at(time.Duration(i)*20*minute, func() { c.fails(c.workload("mail"), 2, 15*second) })
				}
			},
			fires: "maybe warning ServiceFlapping shop/mail",
		},
		{
			seen: "a Service has an outage of 45 s every hour", happens: func(c *cluster) {
				for i := range 5 {
					c.at(hours(float64(i)), func() { c.fails(c.workload("mail"), 2, 45*second) })
				}
			},
			fires: "warning ServiceBudgetBurning shop/mail 2h-2h3m\nmaybe warning ServiceBudgetBurning shop/mail",
		},
		{
			seen: "a Service has an outage of 20 s every 7 minutes", happens: func(c *cluster) {
				for i := range 10 {
					c.at(time.Duration(i)*7*minute, func() { c.fails(c.workload("mail"), 2, 20*second) })
				}
			},
			fires: "critical ServiceBudgetBurning shop/mail 14m-18m 1h10m-1h20m\nmaybe warning ServiceBudgetBurning shop/mail\n" + mayFlap, pages: 1,
		},
		{
			seen: "a Service is down that nodes took down one after the other", nodes: 9, happens: func(c *cluster) {
				w := c.workload("store")
				w.startup = 40 * minute
				first := c.nodes[w.pods[0].Node]
				c.at(0, func() { c.silence(first) })
				c.at(12*minute, func() {
					c.silence(slices.DeleteFunc(c.sorted(), func(n *node) bool { return n == first })[5:]...)
				})
				c.at(30*minute, func() {})
				c.at(46*minute, func() {})
			},
			fires: "critical ServiceDown shop/store 1m45s-3m 40m-50m\ncritical NodeLost - 12m50s-15m\n" + mayLose, pages: 2, faults: 2,
		},
		{
			seen: "a Service is deleted during an outage", happens: func(c *cluster) {
				downFor("web", 20*minute)(c)
				c.at(5*minute, func() { c.deletes(c.workload("web"), false) })
			},
			fires: "critical ServiceDown shop/web 1m-2m 5m-6m\nmaybe warning ServiceFlapping shop/web", pages: 1,
		},
		{
			seen: "a namespace is deleted", happens: func(c *cluster) {
				c.at(0, func() {
					for _, w := range slices.Clone(c.workloads[:5]) {
						c.deletes(w, true)
					}
				})
			},
		},
	}
}

func endpointAlerts() []scene {
	return []scene{
		{
			seen: "the addresses of a Service with a selector are overwritten", happens: func(c *cluster) {
				o := c.managesByHand("db", true)
				c.at(0, func() { o.writes(c, nil, "kube-controller-manager") })
			},
			fires: "critical EndpointsOverwritten shop/db 0s-1m30s 15m-19m\nmaybe warning SelectorConflict shop/db", pages: 1,
		},
		{
			seen: "somebody clears the addresses of a Service without a selector", happens: func(c *cluster) {
				o := c.managesByHand("db", false)
				c.at(0, func() { o.writes(c, nil, "kubectl") })
				c.at(30*second, func() { o.writes(c, o.endpoints.Addresses, "kubectl") })
			},
			fires: "warning EndpointsOverwritten shop/db 0s-1m30s 15m-19m",
		},
		{
			seen: "another writer adds addresses", happens: func(c *cluster) {
				o := c.foreignSlice(c.workload("web"))
				c.at(0, func() { c.tell(event.Added, o) })
				c.at(10*minute, func() { c.tell(event.Deleted, o) })
			},
			fires: "warning EndpointsWrong shop/web foreign 2m-4m 10m-20m",
		},
		{
			seen: "the kubelet does not restore the readiness of a pod", happens: func(c *cluster) {
				w := c.workload("web")
				p := w.pods[0]
				n := c.nodes[p.Node]
				c.at(0, func() { c.silence(n) })
				c.at(90*second, func() { w.forgotten = p; c.returns(n) })
				c.at(20*minute, func() { c.setReady(w, p, event.StatusTrue) })
			},
			fires: `warning EndpointsWrong shop unready_after_recovery 3m-6m 20m-30m
				warning NodeLost node-* 50s-2m 90s-12m
				maybe warning ServiceFlapping shop/web`,
		},
		{
			seen: "addresses follow their pods slowly", happens: func(c *cluster) {
				for i := range 15 {
					c.at(time.Duration(i)*minute, func() {
						for _, w := range c.workloads {
							w.delay = 7 * second
						}
						c.fails(c.workload("search"), 1, 20*second)
						c.fails(c.workload("web"), 1, 20*second)
					})
				}
			},
			fires: `warning EndpointsPropagationSlow - 5m-15m
				warning ServiceFlapping shop/web 2m-6m
				warning ServiceFlapping shop/search 2m-8m`, faults: 2,
		},
	}
}

func nodeAlerts() []scene {
	return []scene{
		{
			seen: "a node is silent for 5 minutes", happens: func(c *cluster) {
				n := c.sorted()[0]
				c.at(0, func() { c.silence(n) })
				c.at(5*minute, func() { c.returns(n) })
			},
			fires: "warning NodeLost node-* 50s-2m 5m-17m\n" + mayFlap,
		},
		{
			seen: "a node is silent for 40 s", happens: func(c *cluster) {
				n := c.sorted()[0]
				c.at(0, func() { c.silence(n) })
				c.at(35*second, func() { c.returns(n) })
			},
		},
		{
			seen: "a node is silent and then deleted", happens: func(c *cluster) {
				n := c.sorted()[0]
				c.at(0, func() { c.silence(n) })
				c.at(10*minute, func() { c.leaves(n) })
			},
			fires: "warning NodeLost node-* 50s-2m 10m-22m\n" + mayFlap,
		},
		{
			seen: "a drained node does not come back after its reboot", happens: func(c *cluster) {
				n := c.sorted()[0]
				c.at(0, func() { c.cordon(n); c.in(c.drain(n), func() { c.silence(n) }) })
				c.at(30*minute, func() { c.boots(n); c.uncordon(n) })
			},
			fires: "warning NodeLost node-* 15m-20m 30m-42m",
		},
		{
			seen: "a node is not Ready three times", happens: func(c *cluster) {
				n := c.sorted()[0]
				for i := range 3 {
					c.at(time.Duration(i)*5*minute, func() { c.turnReady(n, event.StatusFalse, "KubeletNotReady") })
					c.at(time.Duration(i)*5*minute+minute, func() { c.turnReady(n, event.StatusTrue, "KubeletReady") })
				}
			},
			fires: "warning NodeFlapping node-1 5m-9m",
		},
		{
			seen: "a node is not Ready once", happens: func(c *cluster) {
				n := c.sorted()[0]
				c.at(0, func() { c.turnReady(n, event.StatusFalse, "KubeletNotReady") })
				c.at(minute, func() { c.turnReady(n, event.StatusTrue, "KubeletReady") })
			},
		},
		{
			seen: "etcd stalls for 3 minutes", happens: func(c *cluster) { c.at(0, func() { c.stalls(3 * minute) }) },
			fires: "critical ControlPlaneFault - 50s-2m 3m-20m\nmaybe critical NodeLost -\nmaybe warning EndpointsWrong * ready_on_lost_node\n" + mayLose, pages: 1,
		},
		{
			seen: "a kubelet is slow, and the grace period is known", happens: slowKubelet(true),
			fires: "warning GracePeriodTooTight - 1m-15m",
		},
		{seen: "a kubelet is slow, and the grace period is unknown", happens: slowKubelet(false)},
	}
}

const (
	// mayFlap permits the warnings about Services that lose addresses with a node.
	mayFlap = "maybe warning ServiceFlapping *"
	// mayLose permits what accompanies a critical alert about nodes, which inhibits it.
	mayLose = "maybe critical ControlPlaneFault -\nmaybe warning ControlPlaneFault -\nmaybe warning NodeLost *\nmaybe warning ServiceBudgetBurning *\n" + mayFlap
)

// slowKubelet makes a kubelet renew its Lease every 45 s.
func slowKubelet(known bool) func(*cluster) {
	return func(c *cluster) {
		if known {
			c.tell(event.Added, &event.Pod{
				Meta: idOf("kube-system", "kube-controller-manager-1"), Phase: "Running", Ready: &event.Condition{Status: event.StatusTrue},
				ControllerManager: &event.ControllerManager{Version: c.version, GracePeriod: 50 * second},
			})
		}
		n := c.sorted()[0]
		for i := range 12 {
			c.at(time.Duration(i)*45*second, func() { n.silent = true })
			c.at(time.Duration(i)*45*second+44*second, func() { n.silent = false; c.renew(n, event.Modified) })
		}
	}
}

func selfAlerts() []scene {
	return []scene{
		{
			seen: "kubeflap cannot watch pods for 4 minutes", happens: func(c *cluster) {
				a := c.replicas[0]
				c.at(0, func() { a.breaks(event.KindPod) })
				c.at(4*minute, func() { a.list(event.KindPod) })
			},
			fires: "warning Blind - pods 1m-5m 5m-22m",
		},
		{
			seen: "kubeflap starts, and may not watch pods", happens: func(c *cluster) {
				c.at(0, func() {
					a := c.replicas[0]
					a.begin()
					a.list(slices.DeleteFunc(event.Kinds(), func(k event.Kind) bool { return k == event.KindPod })...)
					a.down(event.KindPod, event.ReasonForbidden)
				})
			},
			fires: "warning Blind - pods 2m-8m",
		},
		{
			seen: "one of two replicas cannot watch", happens: func(c *cluster) {
				b := c.watch("b")
				c.at(0, func() { b.breaks(event.Kinds()...) })
				c.at(10*minute, func() { b.list(event.Kinds()...) })
			},
		},
		{
			seen: "a replica stops", happens: func(c *cluster) {
				b := c.watch("b")
				c.at(0, func() { b.stopped = true })
			},
		},
		{
			seen: "the disk of kubeflap is full", happens: func(c *cluster) {
				a := c.replicas[0]
				a.process["kubeflap_recorder_recording"] = 1
				c.at(0, func() { a.process["kubeflap_recorder_recording"] = 0 })
				c.at(20*minute, func() { a.process["kubeflap_recorder_recording"] = 1 })
			},
			fires: "warning NotRecording - 10m-13m 20m-33m",
		},
		{
			seen: "the rules are newer than kubeflap", happens: func(c *cluster) {
				c.at(0, func() { c.replicas[0].lacks = "kubeflap_classes_info" })
			},
			fires: "warning ExporterOutdated - 15m-20m",
		},
	}
}

func databases() []scene {
	return []scene{
		{
			seen: "Prometheus starts with an empty database after outages", since: 10 * minute,
			happens: func(c *cluster) {
				downFor("web", 3*minute)(c)
				c.at(5*minute, func() { c.fails(c.workload("cart"), 3, 2*minute) })
				c.at(10*minute, func() {})
			},
		},
		{
			seen: "Prometheus starts with an empty database during an outage", since: 10 * minute,
			happens: func(c *cluster) {
				downFor("web", 20*minute)(c)
				c.at(10*minute, func() {})
			},
			fires: "critical ServiceDown shop/web 10m-12m 20m-21m\nmaybe warning ServiceFlapping shop/web", pages: 1,
		},
		{
			seen: "Prometheus knows an outage that ended while kubeflap was not running",
			happens: func(c *cluster) {
				downFor("web", 40*minute)(c)
				c.at(3*minute, func() { c.replicas[0].restart(2*time.Hour, true) })
				c.at(hours(2.1), func() {})
			},
			fires: "critical ServiceDown shop/web 1m-2m 3m-15m\nmaybe critical Down -\n" + mayFlap, pages: 2, faults: 2, lasts: hours(1),
		},
		{
			seen: "two clusters have Services of the same name",
			happens: func(c *cluster) {
				other := populated(1, func(c *cluster) { c.deploy("shop", "web", 3) })
				c.replicas[0].target, other.replicas[0].target = []string{"cluster", "eu"}, []string{"cluster", "us"}
				c.others = append(c.others, other)
				downFor("web", 10*minute)(c)
			},
			fires: "critical ServiceDown shop/web eu 1m-2m 10m-11m\n" + mayFlap, pages: 1,
		},
	}
}

// foreignSlice returns a slice with an address of a Service that neither Kubernetes nor a known manager wrote.
func (c *cluster) foreignSlice(w *workload) *event.EndpointSlice {
	return &event.EndpointSlice{
		Meta: idOf(w.Namespace, w.Name+"-foreign"), Service: w.Name, Owner: w.UID, ManagedBy: "somebody",
		Addresses: []event.Address{{UID: event.AddressUID("10.9.9.9"), IP: "10.9.9.9", ByHand: true, Ready: true}},
	}
}

// manual is a Service with manually managed Endpoints.
type manual struct {
	*event.Service
	endpoints *event.Endpoints
}

func (c *cluster) managesByHand(name string, selector bool) *manual {
	o := &manual{
		&event.Service{Meta: idOf("shop", name), Type: "ClusterIP"},
		&event.Endpoints{Meta: idOf("shop", name), Writer: "kubectl", LastApplied: true},
	}
	if selector {
		o.Selector = map[string]string{"app": name}
	}
	for _, ip := range []string{"192.0.2.1", "192.0.2.2"} {
		o.endpoints.Addresses = append(o.endpoints.Addresses, event.Address{UID: event.AddressUID(ip), IP: ip, ByHand: true, Ready: true})
	}
	c.tell(event.Added, o.Service)
	o.writes(c, o.endpoints.Addresses, "kubectl")
	return o
}

// writes changes the Endpoints. The mirroring controller copies those of a Service without a selector into a slice.
func (o *manual) writes(c *cluster, addresses []event.Address, writer string) {
	written := *o.endpoints
	written.Addresses, written.Writer = addresses, writer
	c.tell(event.Modified, &written)
	if o.Selector == nil {
		c.tell(event.Modified, &event.EndpointSlice{
			Meta: idOf("shop", o.Name+"-mirrored"), Service: o.Name, Owner: written.UID, ManagedBy: "endpointslicemirroring-controller.k8s.io",
			Writer: "kube-controller-manager", Addresses: addresses,
		})
	}
}
