package main

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// extra adds a foreign slice with a dead address to the Service shop/web at the given second.
func (s *fakeCluster) extra(second float64) *event.EndpointSlice {
	slice := &event.EndpointSlice{
		Meta: metaOf("slice", "shop", "web-extra"), Service: "web", ManagedBy: "someone.example.com", Writer: "someone", Addresses: byHand("10.9.9.9"),
	}
	s.at(second, func() { s.others = append(s.others, slice); s.sendToWatch(event.Added, slice) })
	return slice
}

// remove deletes the slice at the given second.
func (s *fakeCluster) remove(second float64, slice *event.EndpointSlice) *fakeCluster {
	return s.at(second, func() { s.others = nil; s.sendToWatch(event.Deleted, slice) })
}

// edit changes the Endpoints of the Service shop/web at the given second, as another writer.
func (s *fakeCluster) edit(second float64, writer string, change func([]event.Address) []event.Address) *fakeCluster {
	return s.at(second, func() {
		v := s.web()
		v.fill()
		v.endpoints.Addresses, v.endpoints.Writer = change(v.endpoints.Addresses), writer
		s.sendToWatch(event.Modified, &v.endpoints)
	})
}

func addDead(all []event.Address) []event.Address { return append(all, byHand("10.9.9.9")...) }

func withoutFirst(all []event.Address) []event.Address { return all[1:] }

func firstNotReady(all []event.Address) []event.Address {
	all[0].Ready = false
	return all
}

func asItWas(all []event.Address) []event.Address { return all }

// deletesService deletes a Service at the given second, and its other objects shortly afterwards.
func (s *fakeCluster) deletesService(second float64, v *fakeService) *fakeCluster {
	return s.at(second, func() {
		s.services = slices.DeleteFunc(s.services, func(x *fakeService) bool { return x == v })
		s.sendToWatch(event.Deleted, &v.Service)
		s.after(time.Second, func() {
			for _, o := range v.objects() {
				s.sendToWatch(event.Deleted, o)
			}
		})
	})
}

// storiesOfConflicts returns stories about the end of selector conflicts.
func storiesOfConflicts() (stories []scenario) {
	const (
		had     = "Service shop/kube-scheduler had a selector that matched no pod, so the endpoints controller removed its manually managed addresses; "
		verdict = "endpoints_controller shop/kube-scheduler"
	)
	conflict := func(c *fakeCluster) *fakeService {
		v := c.manual("kube-scheduler", true)
		c.write(60, v, "192.168.10.1", "192.168.10.2")
		return v
	}
	for _, x := range []struct {
		name            string
		then            func(c *fakeCluster, v *fakeService)
		evidence, lacks []string
	}{
		{
			"the Service is deleted", func(c *fakeCluster, v *fakeService) { c.overwrite(480, v).deletesService(600, v) },
			[]string{had + "the Service was deleted.", "No action is needed. If you create the Service again"},
			[]string{"back", "Remove the selector", "resolved"},
		},
		{
			"the Service is deleted before the Endpoints are overwritten", func(c *fakeCluster, v *fakeService) { c.deletesService(600, v) },
			[]string{"Service shop/kube-scheduler had manually managed addresses, and a selector that matched no pod; the Service was deleted."},
			[]string{"will remove", "back"},
		},
		{
			"the operator removes the selector", func(c *fakeCluster, v *fakeService) {
				c.overwrite(480, v).at(600, func() { v.Selector = nil; c.sendToWatch(event.Modified, &v.Service) })
			},
			[]string{had + "they are not back.", "the selector conflict is resolved"},
			[]string{"they are back"},
		},
		{
			"the operator removes the selector in time", func(c *fakeCluster, v *fakeService) {
				c.at(600, func() { v.Selector = nil; c.sendToWatch(event.Modified, &v.Service) })
			},
			[]string{"Service shop/kube-scheduler had manually managed addresses, and a selector that matched no pod; no Service lost a ready address."},
			[]string{"will remove", "back"},
		},
		{
			"the operator removes the selector and writes the Endpoints", func(c *fakeCluster, v *fakeService) {
				c.overwrite(480, v).at(600, func() { v.Selector = nil; c.sendToWatch(event.Modified, &v.Service) }).write(630, v, "192.168.10.1", "192.168.10.2")
				mirror := event.EndpointSlice{
					Meta: metaOf("slice", "shop", "kube-scheduler-mirror"), Service: "kube-scheduler", ManagedBy: "endpointslicemirroring-controller.k8s.io",
					Writer: "kube-controller-manager", Addresses: byHand("192.168.10.1", "192.168.10.2"),
				}
				c.at(631, func() { c.others = append(c.others, &mirror); c.sendToWatch(event.Added, &mirror) })
			},
			[]string{had + "they are back."},
			[]string{"they are not back"},
		},
	} {
		stories = append(stories, scenario{
			name:     "manual Endpoints beside a selector: " + x.name,
			cluster:  func() *fakeCluster { c := newFakeCluster(3); x.then(c, conflict(c)); return c },
			expected: []expectation{{70, verdict}, {490, verdict}, {610, verdict}, {800, verdict}},
			evidence: x.evidence, lacks: x.lacks, over: true,
		})
	}
	return append(stories, scenario{
		name: "somebody keeps a slice beside the selector of a Service that is deleted",
		cluster: func() *fakeCluster {
			c := newFakeCluster(3)
			return c.remove(602, c.extra(300)).deletesService(600, c.web())
		},
		expected: []expectation{{330, "foreign_writer shop/web"}, {750, "foreign_writer shop/web"}},
		evidence: []string{"addresses from an unexpected writer; the Service was deleted.", "No action is needed."}, lacks: []string{"lost"}, over: true,
	})
}

// storiesOfWriters returns stories about writers of addresses other than the controllers.
func storiesOfWriters() []scenario {
	const (
		had = "Service shop/web had a selector, and addresses from an unexpected writer; it has no such addresses now."
	)
	harmed := []string{"lost", "Someone edited", "without clearing them", "manually managed"}
	foreign := []expectation{{330, "foreign_writer shop/web"}, {410, "foreign_writer shop/web"}, {530, "foreign_writer shop/web"}}
	stories := []scenario{{
		name: "a known manager removes its own addresses",
		cluster: func() *fakeCluster {
			c := newFakeCluster(3)
			slice := &event.EndpointSlice{Meta: metaOf("slice", "shop", "web-mesh"), Service: "web", ManagedBy: "endpointslice-mesh-controller.cilium.io", Writer: "clustermesh", Addresses: byHand("10.9.9.9", "10.9.9.8")}
			c.at(300, func() { c.others = append(c.others, slice); c.sendToWatch(event.Added, slice) })
			return c.remove(500, slice)
		},
		expected: []expectation{{330, ""}, {510, ""}, {900, ""}},
	}}
	for _, source := range []event.Kind{event.KindEndpointSlice, event.KindEndpoints} {
		cluster := func() *fakeCluster {
			c := newFakeCluster(3)
			if source == event.KindEndpoints {
				c.lacks(event.KindEndpointSlice, event.ReasonForbidden)
			}
			return c
		}
		for _, mended := range []string{"kubectl-edit", "kubectl-patch", "kube-controller-manager"} {
			stories = append(stories, scenario{
				name:     "somebody adds a dead address to the Endpoints of a Service with pods, " + mended + " removes it, read from " + source.String(),
				cluster:  func() *fakeCluster { return cluster().edit(300, "kubectl-edit", addDead).edit(400, mended, asItWas) },
				expected: foreign, evidence: []string{had}, lacks: harmed, over: true,
			})
		}
		took, lost := "Someone removed ready pod addresses from the Endpoints of Service shop/web; ", "clients that read Endpoints lost them."
		if source == event.KindEndpoints {
			lost = "shop/web lost 1 ready address."
		}
		for how, edit := range map[string]func([]event.Address) []event.Address{"removes a pod from": withoutFirst, "makes a pod not ready in": firstNotReady} {
			stories = append(stories, scenario{
				name: "somebody " + how + " the Endpoints of a Service with a selector, read from " + source.String(),
				cluster: func() *fakeCluster {
					return cluster().edit(300, "kubectl-edit", edit).edit(400, "kube-controller-manager", asItWas)
				},
				expected: foreign, over: true,
				evidence: []string{took + lost, "shop/web: 1 ready pod address was removed from Endpoints web (written by kubectl-edit), but not by a controller"},
				lacks:    []string{"beside", "has a selector, and"},
			})
		}
	}
	return append(stories, scenario{
		name: "somebody keeps a slice with dead addresses beside the selector, and the operator deletes it",
		cluster: func() *fakeCluster {
			c := newFakeCluster(3)
			return c.remove(400, c.extra(300))
		},
		expected: foreign, evidence: []string{had, "No action is needed"}, lacks: harmed, over: true,
	}, scenario{
		name: "the same, while kubeflap's watch of slices is broken",
		cluster: func() *fakeCluster {
			c := newFakeCluster(3)
			return c.remove(400, c.extra(300)).breaks(event.KindEndpointSlice, 395, 405, event.ReasonTimeout)
		},
		expected: foreign, evidence: []string{had}, lacks: harmed, over: true,
	}, scenario{
		name: "a writer removes its slice while all pods are replaced at once",
		cluster: func() *fakeCluster {
			c := newFakeCluster(3)
			v := c.web()
			c.at(390, func() {
				for _, p := range append([]*fakePod(nil), v.pods...) {
					p.stop(c, "")
				}
			})
			c.at(420, func() {
				for _, n := range c.nodes {
					p := v.start(c, n)
					c.sendToWatch(event.Added, &p.Pod)
					c.after(seconds(5), func() { p.setReady(c, true, "") })
				}
			})
			return c.remove(400, c.extra(300))
		},
		expected: []expectation{
			{330, "foreign_writer shop/web"}, {410, "foreign_writer shop/web; workload shop/Deployment/web"}, {560, "foreign_writer shop/web; workload shop/Deployment/web"},
		},
		evidence: []string{had, "Pods of Deployment shop/web were deleted; shop/web lost 3 ready addresses and had none for 25s."},
		lacks:    []string{"Someone edited", "manually managed"}, over: true,
	}, scenario{
		name: "somebody deletes the slice on which a Service without pods lived",
		cluster: func() *fakeCluster {
			c := newFakeCluster(3)
			for _, p := range append([]*fakePod(nil), c.web().pods...) {
				c.at(60, func() { p.stop(c, "") })
			}
			return c.remove(400, c.extra(30))
		},
		expected: []expectation{{120, "foreign_writer shop/web"}, {410, "foreign_writer shop/web"}, {600, "foreign_writer shop/web"}},
		evidence: []string{"Someone edited or removed the addresses of Service shop/web; shop/web lost 1 ready address and has had none"},
		lacks:    []string{"manually managed"},
	})
}
