package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// verbs holds what can happen in a story.
var verbs = func() map[string]func(*fakeCluster, act) {
	all := maps.Clone(nodeVerbs)
	maps.Copy(all, controlPlaneVerbs)
	maps.Copy(all, serviceVerbs)
	return all
}()

// eachNode schedules a change of each node that the arguments name.
func (s *fakeCluster) eachNode(a act, how func(*event.Node)) {
	for _, i := range a.ints() {
		s.change(a.at, i, how)
	}
}

var nodeVerbs = map[string]func(*fakeCluster, act){
	"silent":  func(s *fakeCluster, a act) { s.silence(a.at, a.until, a.ints()...) },
	"reboot":  func(s *fakeCluster, a act) { s.reboots(a.at, a.until, a.ints()...) },
	"upgrade": func(s *fakeCluster, a act) { s.upgrades(a.at, a.until, a.ints()...) },
	// Some nodes are silent again and again, each by itself.
	"weak":  func(s *fakeCluster, a act) { s.weakens(a.at, a.until, a.ints()[0], a.number("every")) },
	"slow":  func(s *fakeCluster, a act) { s.slow(a.ints()[0], a.at, act{args: a.args[2:]}.numbers()...) },
	"drain": func(s *fakeCluster, a act) { s.drains(a.at, a.ints()[0]) },
	"delete": func(s *fakeCluster, a act) {
		for _, i := range a.ints() {
			s.deletes(a.at, i)
		}
	},
	"create": func(s *fakeCluster, a act) {
		s.recreates(a.at, a.ints()[0], func(o *event.Node) { o.BootID, o.ProviderID = a.word(1), a.word(2) })
	},
	"provider": func(s *fakeCluster, a act) { s.eachNode(a, func(o *event.Node) { o.ProviderID = a.word(1) }) },
	"boot":     func(s *fakeCluster, a act) { s.eachNode(a, func(o *event.Node) { o.BootID = a.word(1) }) },
	"label": func(s *fakeCluster, a act) {
		key, value, _ := strings.Cut(a.args[len(a.args)-1], "=")
		s.eachNode(a, func(o *event.Node) { o.Labels[key] = value })
	},
	"taint": func(s *fakeCluster, a act) {
		s.eachNode(a, func(o *event.Node) {
			o.Taints = append(o.Taints, event.Taint{Key: a.args[len(a.args)-1], Effect: "NoSchedule"})
		})
	},
	"cordon": func(s *fakeCluster, a act) {
		s.eachNode(a, func(o *event.Node) {
			o.Unschedulable = true
			o.Taints = append(o.Taints, event.Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"})
		})
	},
	"uncordon": func(s *fakeCluster, a act) {
		s.eachNode(a, func(o *event.Node) { o.Unschedulable, o.Taints = false, nil })
	},
	"terminating": func(s *fakeCluster, a act) {
		s.eachNode(a, func(o *event.Node) { o.DeletionTimestamp = s.now.Truncate(time.Second) })
	},
	// A node has one condition at a time, or none.
	"condition": func(s *fakeCluster, a act) {
		s.eachNode(a, func(o *event.Node) {
			o.Lifecycle = nil
			if typ := event.LifecycleType(a.word(1)); typ != "" {
				o.Lifecycle = []event.LifecycleCondition{{Type: typ, Status: event.StatusTrue, LastTransitionTime: s.now.Truncate(time.Second)}}
			}
		})
	},
	// The kubelet of a node reports Ready=False with a message.
	"complain": func(s *fakeCluster, a act) {
		n := s.nodes[a.ints()[0]-1]
		s.at(a.at, func() { n.Ready.Message = string(a.reason); s.setReady(n, event.StatusFalse, "KubeletNotReady") })
		s.at(a.until, func() { n.Ready.Message = ""; s.setReady(n, event.StatusTrue, "KubeletReady") })
	},
	"clock": func(s *fakeCluster, a act) { s.at(a.at, func() { s.nodes[a.ints()[0]-1].clock += a.duration(1) }) },
	"mark":  func(s *fakeCluster, a act) { s.at(a.at, func() { s.mark(s.nodes[a.ints()[0]-1]) }) },
	"turn":  func(s *fakeCluster, a act) { s.at(a.at, func() { s.returns(s.nodes[a.ints()[0]-1]) }) },
}

var controlPlaneVerbs = map[string]func(*fakeCluster, act){
	"stall":   func(s *fakeCluster, a act) { s.stall(a.at, a.until) },
	"pause":   func(s *fakeCluster, a act) { s.stops(a.at, a.until) },
	"lag":     func(s *fakeCluster, a act) { s.manager.behind = append(s.manager.behind, span{a.at, a.until}) },
	"hold":    func(s *fakeCluster, a act) { s.manager.holdsBack = append(s.manager.holdsBack, span{a.at, a.until}) },
	"cut-off": func(s *fakeCluster, a act) { s.cutsOff(a.at, a.until) },
	"servers": func(s *fakeCluster, a act) { s.showsControlPlane(a.ints()[0]) },
	"lose":    func(s *fakeCluster, a act) { s.manager.lost[a.ints()[0]] = a.at },
	"version": func(s *fakeCluster, a act) { s.version = a.word(0) },
	"grace":   func(s *fakeCluster, a act) { s.grace = a.duration(0) },
	"manager": func(s *fakeCluster, a act) { s.withManager(a.duration(0)) },
	// Another controller manager becomes the leader, which starts a new grace period for each node.
	"leader": func(s *fakeCluster, a act) {
		s.at(a.at, func() {
			s.manager.leases[0].Holder = a.word(0)
			for _, n := range s.nodes {
				n.probed = s.now
			}
		})
	},
	"kubeflap": func(s *fakeCluster, a act) { s.from = a.at },
	"interval": func(s *fakeCluster, a act) { s.interval = a.duration(0) },
	"statuses": func(s *fakeCluster, a act) { s.leases, s.interval = false, a.duration(0) },
	"reads":    func(s *fakeCluster, a act) { s.noReads = a.reason },
	"lacks": func(s *fakeCluster, a act) {
		for _, k := range a.kinds() {
			s.lacks(k, a.reason)
		}
	},
	"break": func(s *fakeCluster, a act) {
		for _, k := range a.kinds() {
			s.breaks(k, a.at, a.until, a.reason)
		}
	},
	"late": func(s *fakeCluster, a act) {
		k := a.kinds()[0]
		s.at(a.at, func() { s.watches[k].down, s.watches[k].late = true, true })
		s.at(a.until, func() { s.watches[k].down, s.watches[k].late = false, false; s.list(k) })
	},
	"freeze": func(s *fakeCluster, a act) {
		for _, k := range a.kinds() {
			s.freezes(k, a.at, a.until)
		}
	},
}

var serviceVerbs = map[string]func(*fakeCluster, act){
	// A Service gets a ready pod on each of some nodes.
	"service": func(s *fakeCluster, a act) { s.serviceOn(a.word(0), act{args: a.args[1:]}.ints()...) },
	"unready": func(s *fakeCluster, a act) {
		for _, p := range a.pods(s) {
			s.at(a.at, func() { p.setReady(s, false, "ContainersNotReady") })
			s.at(a.until, func() { p.setReady(s, true, "") })
		}
	},
	"crash": func(s *fakeCluster, a act) {
		for _, p := range a.pods(s) {
			s.at(a.at, func() { p.crash(s) })
			s.at(a.until, func() { p.setReady(s, true, "") })
		}
	},
	"gate": func(s *fakeCluster, a act) {
		p := a.pods(s)[0]
		p.Gates = 1
		s.at(a.at, func() {
			p.GatesNotReady = []string{"target-health.elbv2.k8s.aws/web"}
			p.setReady(s, false, "ReadinessGatesNotReady")
		})
	},
	"replace": func(s *fakeCluster, a act) { p := a.pods(s)[0]; s.at(a.at, func() { p.service.replace(s, p) }) },
	"stop": func(s *fakeCluster, a act) {
		for _, p := range a.pods(s) {
			s.at(a.at, func() { p.stop(s, "") })
		}
	},
	"evict": func(s *fakeCluster, a act) { p := a.pods(s)[0]; s.at(a.at, func() { p.stop(s, a.word(1)) }) },
	"relabel": func(s *fakeCluster, a act) {
		p := a.pods(s)[0]
		s.at(a.at, func() {
			p.Labels = map[string]string{"app": a.word(1)}
			s.sendToWatch(event.Modified, &p.Pod)
			s.syncSoon(p.service)
		})
	},
	"remove": func(s *fakeCluster, a act) { p := a.pods(s)[0]; s.at(a.at, func() { p.remove(s) }) },
	// A pod starts on a node, and is ready at the end.
	"pod": func(s *fakeCluster, a act) {
		v := s.named(a.word(0))
		s.at(a.at, func() {
			for _, i := range (act{args: a.args[1:]}).ints() {
				p := v.start(s, s.nodes[i-1])
				s.sendToWatch(event.Added, &p.Pod)
				s.at(a.until, func() { p.setReady(s, true, "") })
			}
			s.syncSoon(v)
		})
	},
	// A pod is deleted and created at once, with its UID.
	"again": func(s *fakeCluster, a act) {
		p := a.pods(s)[0]
		s.at(a.at, func() { s.sendToWatch(event.Deleted, &p.Pod); s.sendToWatch(event.Added, &p.Pod) })
	},
	// After some seconds, the container of the updated pod is killed.
	"update": func(s *fakeCluster, a act) {
		kill := act{args: a.args[2:]}.numbers()[0]
		s.updates(a.at, a.pods(s), func(int) float64 { return kill }, a.until-a.at-kill)
	},
	// The kubelet reports the pods of a node not ready, and ready at the end.
	"stuck": func(s *fakeCluster, a act) {
		s.at(a.at, func() {
			for _, p := range s.podsOn(s.nodes[a.ints()[0]-1]) {
				p.Ready.Reason = "ContainersNotReady"
				s.at(a.until, func() { p.setReady(s, true, "") })
			}
		})
	},
	"select": func(s *fakeCluster, a act) {
		v := s.named(a.word(0))
		s.at(a.at, func() {
			if v.Selector = nil; a.word(1) != "" {
				v.Selector = map[string]string{"app": a.word(1)}
			}
			s.sendToWatch(event.Modified, &v.Service)
			s.syncSoon(v)
		})
	},
	"publish": func(s *fakeCluster, a act) {
		v := s.named(a.word(0))
		s.at(a.at, func() {
			v.PublishNotReady = true
			s.sendToWatch(event.Modified, &v.Service)
			s.syncSoon(v)
		})
	},
	"manual": func(s *fakeCluster, a act) { s.service(a.word(0), a.word(1) == "selector").byHand = true },
	"write":  func(s *fakeCluster, a act) { s.write(a.at, s.named(a.word(0)), a.args[1:]...) },
	"overwrite": func(s *fakeCluster, a act) {
		v := s.named(a.word(0))
		s.at(a.at, func() {
			v.endpoints.Addresses = nil
			s.sendToWatch(event.Modified, &v.endpoints)
		})
	},
	"slice": func(s *fakeCluster, a act) {
		s.at(a.at, func() { s.slice(a.word(0), a.word(1), a.word(2), a.args[3:]...) })
	},
	"unslice": func(s *fakeCluster, a act) {
		s.at(a.at, func() {
			i := s.sliceNamed(a.word(0))
			o := s.others[i]
			s.others = slices.Delete(s.others, i, i+1)
			s.sendToWatch(event.Deleted, o)
		})
	},
	"edit":           func(s *fakeCluster, a act) { s.at(a.at, func() { s.edit(a.word(0), a.word(1)) }) },
	"delete-service": func(s *fakeCluster, a act) { s.deletesService(a.at, s.named(a.word(0))) },
	"create-service": func(s *fakeCluster, a act) {
		v := s.named(a.word(0))
		s.at(a.at, func() {
			s.services, v.UID = append(s.services, v), event.ParseUID("again")
			s.sendToWatch(event.Added, &v.Service)
			s.syncSoon(v)
		})
	},
}

// named returns the Service with a name in the namespace shop.
func (s *fakeCluster) named(name string) *fakeService {
	return s.services[slices.IndexFunc(s.services, func(v *fakeService) bool { return v.Name == name })]
}
