package clustertest

import (
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
