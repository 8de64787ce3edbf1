package clustertest

import (
	"cmp"
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/event"
)

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
	// The kubelet ends a pod. Without a reason, it evicts the pod, because its node has a shortage.
	"fail":   onPodsThen(func(p *Pod, a Act) { p.fails(cmp.Or(a.word(1), "Evicted"), string(a.Reason)) }),
	"quit":   onPodsThen(func(p *Pod, a Act) { p.quits(string(a.Reason)) }),
	"reject": onPodsThen(func(p *Pod, a Act) { p.isRejected(a.word(1), string(a.Reason)) }),
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
