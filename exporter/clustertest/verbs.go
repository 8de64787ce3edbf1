package clustertest

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// verb schedules what happens in a story.
type verb func(*Cluster, Act)

// verbs holds what can happen.
var verbs = func() map[string]verb {
	all := maps.Clone(nodeVerbs)
	maps.Copy(all, controlPlaneVerbs)
	maps.Copy(all, serviceVerbs)
	return all
}()

// each does something at once with each node that the arguments name. Nodes are numbered from 1.
func each(do func(*Node, Act)) verb {
	return func(c *Cluster, a Act) {
		for _, i := range a.ints() {
			do(c.Nodes[i-1], a)
		}
	}
}

// then does something at the time of the act. When the story begins, the nodes may not exist yet.
func then(do verb) verb {
	return func(c *Cluster, a Act) { c.At(a.At, func() { do(c, a) }) }
}

// changed changes each node that the arguments name, at the time of the act.
func changed(how func(*event.Node, Act)) verb {
	return then(each(func(n *Node, a Act) {
		how(&n.Node, a)
		if !n.Gone {
			n.cluster.Tell(event.Modified, &n.Node)
		}
	}))
}

var nodeVerbs = map[string]verb{
	"silent": each(func(n *Node, a Act) { n.silence(a.At, a.Until) }),
	"reboot": each(func(n *Node, a Act) { n.reboots(a.At, a.Until) }),
	"upgrade": each(func(n *Node, a Act) {
		n.silence(a.At, a.Until)
		n.cluster.At(a.Until, func() { n.KubeletVersion = "v1.31.5"; n.cluster.Tell(event.Modified, &n.Node) })
	}),
	// Some nodes are silent again and again, each by itself.
	"weak": func(c *Cluster, a Act) { c.weakens(a.At, a.Until, a.ints()[0], a.Number("every")) },
	// A node renews its Lease at these intervals.
	"slow": func(c *Cluster, a Act) {
		n := c.Nodes[a.ints()[0]-1]
		for _, d := range a.rest(2).numbers() {
			n.late = append(n.late, lateness{a.At, Seconds(d)})
		}
	},
	"drain":  then(each(func(n *Node, a Act) { n.drains(a.every(5)) })),
	"delete": then(each(func(n *Node, _ Act) { n.deletes() })),
	"create": then(func(c *Cluster, a Act) {
		c.Nodes[a.ints()[0]-1].recreates(func(o *event.Node) { o.BootID, o.ProviderID = a.word(1), a.word(2) })
	}),
	// A new node joins, with the pods of the DaemonSets.
	"join":     then(func(c *Cluster, _ Act) { c.joins() }),
	"provider": changed(func(o *event.Node, a Act) { o.ProviderID = a.word(1) }),
	"boot":     changed(func(o *event.Node, a Act) { o.BootID = a.word(1) }),
	"kubelet":  changed(func(o *event.Node, a Act) { o.KubeletVersion = a.last() }),
	"label": changed(func(o *event.Node, a Act) {
		key, value, _ := strings.Cut(a.last(), "=")
		o.Labels[key] = value
	}),
	"taint": changed(func(o *event.Node, a Act) {
		o.Taints = append(o.Taints, event.Taint{Key: a.last(), Effect: "NoSchedule"})
	}),
	"cordon": changed(func(o *event.Node, _ Act) {
		o.Unschedulable = true
		o.Taints = append(o.Taints, event.Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"})
	}),
	"uncordon": changed(func(o *event.Node, _ Act) { o.Unschedulable, o.Taints = false, nil }),
	"terminating": then(each(func(n *Node, _ Act) {
		n.DeletionTimestamp = n.cluster.Now.Truncate(time.Second)
		n.cluster.Tell(event.Modified, &n.Node)
	})),
	// A node has one condition at a time, or none.
	"condition": then(each(func(n *Node, a Act) {
		n.Lifecycle = nil
		if typ := event.LifecycleType(a.word(1)); typ != "" {
			n.Lifecycle = []event.LifecycleCondition{{Type: typ, Status: event.StatusTrue, LastTransitionTime: n.cluster.Now.Truncate(time.Second)}}
		}
		n.cluster.Tell(event.Modified, &n.Node)
	})),
	// The kubelet of a node reports Ready=False with a message.
	"complain": then(each(func(n *Node, a Act) {
		complains := func(message string, to event.Status, reason string) {
			n.Ready.Message = message
			n.setReady(to, reason)
		}
		complains(string(a.Reason), event.StatusFalse, "KubeletNotReady")
		n.cluster.At(a.Until, func() { complains("", event.StatusTrue, "KubeletReady") })
	})),
	"clock": then(func(c *Cluster, a Act) { c.Nodes[a.ints()[0]-1].clock += a.duration(1) }),
	"mark":  then(each(func(n *Node, _ Act) { n.mark() })),
	"turn":  then(each(func(n *Node, _ Act) { n.returns() })),
}

var controlPlaneVerbs = map[string]verb{
	"stall": func(c *Cluster, a Act) { c.stalls = append(c.stalls, a.span()) },
	"pause": func(c *Cluster, a Act) { c.stops(a.At, a.Until) },
	"lag":   func(c *Cluster, a Act) { c.manager.behind = append(c.manager.behind, a.span()) },
	"hold":  func(c *Cluster, a Act) { c.manager.holdsBack = append(c.manager.holdsBack, a.span()) },
	// The API server of the watchers, which is the last one, is cut off from etcd for a period. Afterwards the watches
	// deliver all events at once, beginning with the node watch.
	"cut-off": func(c *Cluster, a Act) {
		c.cut = append(c.cut, a.span())
		for _, k := range allKinds() {
			c.Watchers[0].freezes(k, a.At, a.Until)
		}
	},
	"servers": func(c *Cluster, a Act) { c.showsControlPlane(a.ints()[0]) },
	"lose":    func(c *Cluster, a Act) { c.manager.lost[a.ints()[0]] = a.At },
	"version": func(c *Cluster, a Act) { c.Version = a.word(0) },
	"grace":   func(c *Cluster, a Act) { c.grace = a.duration(0) },
	"manager": func(c *Cluster, a Act) { c.withManager(a.duration(0)) },
	// Another controller manager becomes the leader, which starts a new grace period for each node.
	"leader": then(func(c *Cluster, a Act) {
		c.manager.leases[0].Holder = a.word(0)
		for _, n := range c.Nodes {
			n.probed = c.Now
		}
	}),
	"kubeflap": func(c *Cluster, a Act) { c.from = a.At },
	"interval": func(c *Cluster, a Act) { c.interval = a.duration(0) },
	"statuses": func(c *Cluster, a Act) { c.leases, c.interval = false, a.duration(0) },
	// Nothing happens, but it is looked at.
	"pass": func(*Cluster, Act) {},
}

// watcherVerbs holds what can happen to a watcher.
var watcherVerbs = map[string]func(*Watcher, Act){
	"reads":  func(w *Watcher, a Act) { w.cluster.At(a.At, func() { w.noReads = a.Reason }) },
	"lacks":  eachKind(func(w *Watcher, k event.Kind, a Act) { w.cluster.At(a.At, func() { w.Lack(k, a.Reason) }) }),
	"break":  eachKind(func(w *Watcher, k event.Kind, a Act) { w.breaks(k, a.At, a.Until, a.Reason) }),
	"late":   eachKind(func(w *Watcher, k event.Kind, a Act) { w.lists(k, a.At, a.Until) }),
	"freeze": eachKind(func(w *Watcher, k event.Kind, a Act) { w.freezes(k, a.At, a.Until) }),
	"hang":   func(w *Watcher, a Act) { w.cluster.At(a.At, w.hangs) },
}

// eachKind does something at once for each resource that the arguments name.
func eachKind(do func(*Watcher, event.Kind, Act)) func(*Watcher, Act) {
	return func(w *Watcher, a Act) {
		for _, k := range a.kinds() {
			do(w, k, a)
		}
	}
}

// Does schedules what happens to the watcher. It reports whether there is a word for it.
func (w *Watcher) Does(a Act) bool {
	do := watcherVerbs[a.Verb]
	if do != nil {
		do(w, a)
	}
	return do != nil
}

// onPods does something at once with each pod that the first argument names.
func onPods(do func(*Pod, Act)) verb {
	return func(c *Cluster, a Act) {
		for _, p := range a.pods(c) {
			do(p, a)
		}
	}
}

// onPodsThen does something with each of these pods at the time of the act. They exist when the story begins.
func onPodsThen(do func(*Pod, Act)) verb {
	return onPods(func(p *Pod, a Act) { p.service.cluster.At(a.At, func() { do(p, a) }) })
}

// on does something with the Service that the first argument names, at the time of the act.
func on(do func(*Service, Act)) verb {
	return func(c *Cluster, a Act) {
		v := c.named(a.word(0))
		c.At(a.At, func() { do(v, a.rest(1)) })
	}
}

var serviceVerbs = map[string]verb{
	// A Service gets a ready pod on each of some nodes.
	"service": func(c *Cluster, a Act) {
		v := c.Service("shop", a.word(0), true)
		for _, i := range a.rest(1).ints() {
			v.Start(c.Nodes[i-1]).Serve()
		}
		v.Fill()
	},
	"unready": onPods(func(p *Pod, a Act) {
		p.service.cluster.At(a.At, func() { p.SetReady(false, "ContainersNotReady") })
		p.service.cluster.At(a.Until, p.recovers)
	}),
	"crash": onPods(func(p *Pod, a Act) {
		p.service.cluster.At(a.At, func() { p.exits(cmp.Or(string(a.Reason), "Error 137"), a.Until == forever) })
		p.service.cluster.At(a.Until, p.recovers)
	}),
	// The kubelet evicts a pod, because its node has a shortage.
	"fail": onPodsThen(func(p *Pod, a Act) { p.fails(string(a.Reason)) }),
	// The ReplicaSet gives up a pod.
	"release": onPodsThen(func(p *Pod, _ Act) { p.Owner = ""; p.changed() }),
	"gate": onPods(func(p *Pod, a Act) {
		p.Gates = 1
		p.service.cluster.At(a.At, func() {
			p.GatesNotReady = []string{"target-health.elbv2.k8s.aws/web"}
			p.SetReady(false, "ReadinessGatesNotReady")
		})
	}),
	"replace": onPodsThen(func(p *Pod, _ Act) { p.replace() }),
	"stop":    onPodsThen(func(p *Pod, _ Act) { p.stop("") }),
	"evict":   onPodsThen(func(p *Pod, a Act) { p.DisruptionMessage = string(a.Reason); p.stop(a.word(1)) }),
	"relabel": onPodsThen(func(p *Pod, a Act) { p.Labels = map[string]string{"app": a.word(1)}; p.changed() }),
	// The kubelet does not restore the readiness of a pod of a node that returns, until the end.
	"forget": onPods(func(p *Pod, a Act) {
		p.service.cluster.At(a.At, func() { p.Ready.Reason = "ContainersNotReady" })
		p.service.cluster.At(a.Until, p.recovers)
	}),
	"remove": onPodsThen(func(p *Pod, _ Act) { p.remove() }),
	// A pod starts on a node, and is ready at the end.
	"pod": on(func(v *Service, a Act) {
		for _, i := range a.ints() {
			p := v.Start(v.cluster.Nodes[i-1])
			v.cluster.Tell(event.Added, &p.Pod)
			v.cluster.At(a.Until, p.recovers)
		}
		v.sync()
	}),
	// A pod is deleted and created at once, with its UID.
	"again": onPodsThen(func(p *Pod, _ Act) {
		p.service.cluster.Tell(event.Deleted, &p.Pod)
		p.service.cluster.Tell(event.Added, &p.Pod)
	}),
	// After some seconds, the container of the updated pod is killed.
	"update": onPodsThen(func(p *Pod, a Act) {
		kill := a.rest(2).numbers()[0]
		p.updates(kill, a.Until-a.At-kill)
	}),
	// The kubelet reports the pods of a node not ready, and ready at the end.
	"stuck": then(each(func(n *Node, a Act) {
		for _, p := range n.pods() {
			p.Ready.Reason = "ContainersNotReady"
			n.cluster.At(a.Until, p.recovers)
		}
	})),
	"select": on(func(v *Service, a Act) {
		v.changes(func(o *event.Service) {
			if o.Selector = nil; a.word(0) != "" {
				o.Selector = map[string]string{"app": a.word(0)}
			}
		})
	}),
	"publish": on(func(v *Service, _ Act) { v.changes(func(o *event.Service) { o.PublishNotReady = true }) }),
	"manual":  func(c *Cluster, a Act) { c.Service("shop", a.word(0), a.word(1) == "selector").byHand = true },
	"write":   on(func(v *Service, a Act) { v.write(cmp.Or(string(a.Reason), kubectlApply), a.Args...) }),
	"overwrite": on(func(v *Service, _ Act) {
		v.endpoints.Addresses = nil
		v.cluster.Tell(event.Modified, &v.endpoints)
	}),
	// Truncated Endpoints have addresses of pods that do not exist, besides the right ones.
	"dead": on(func(v *Service, a Act) {
		v.endpoints.Truncated = true
		for i := range a.ints()[0] {
			v.endpoints.Addresses = append(v.endpoints.Addresses, event.Address{UID: event.ParseUID(fmt.Sprint("dead-", i)), IP: fmt.Sprintf("10.9.%d.%d", i>>8, i&255), Ready: true})
		}
		v.cluster.Tell(event.Modified, &v.endpoints)
	}),
	"slice":          then(func(c *Cluster, a Act) { c.slice(a.word(0), a.word(1), a.word(2), a.Args[3:]...) }),
	"unslice":        then(func(c *Cluster, a Act) { c.unslice(a.word(0)) }),
	"edit":           then(func(c *Cluster, a Act) { c.named("web").edit(a.word(0), a.word(1)) }),
	"delete-service": on(func(v *Service, _ Act) { v.deletes() }),
	"create-service": on(func(v *Service, _ Act) {
		v.cluster.Services, v.UID = append(v.cluster.Services, v), event.ParseUID("again")
		v.cluster.Tell(event.Added, &v.Service)
		v.sync()
	}),
	"delete-namespace": then(func(c *Cluster, _ Act) { c.deletesNamespace() }),
	"deploy":           func(c *Cluster, a Act) { c.deploy(a.word(0), a.rest(1).ints()[0]) },
	"daemons":          func(c *Cluster, a Act) { c.daemons(a.word(0), a.word(1)) },
	"roll-out":         on(func(v *Service, _ Act) { v.rollsOut() }),
	"scale":            on(func(v *Service, a Act) { v.scales(a.ints()[0]) }),
	// New pods of a Service take so long to become ready.
	"startup": func(c *Cluster, a Act) { c.named(a.word(0)).startup = a.duration(1) },
	// The addresses of all Services follow their pods late.
	"delay": then(func(c *Cluster, a Act) {
		for _, v := range c.Services {
			v.delay = a.duration(0)
		}
	}),
}
