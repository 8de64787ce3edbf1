package main

import (
	"maps"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestRestarts compares kubeflap with one that was not restarted, at times at which both must show the same. It covers what
// TestRestartsInAllStories does not: more than one restart, what changes after the restart, and few incidents that are kept.
func TestRestarts(t *testing.T) {
	all := restartsAnHourApart()
	maps.Copy(all, restartsOfNodes())
	maps.Copy(all, restartsOfServices())
	for name, story := range all {
		t.Run(name, story.run)
	}
}

// restartsAnHourApart returns two restarts in each of some incidents that do not change.
func restartsAnHourApart() map[string]restartStory {
	all := map[string]restartStory{}
	for name, cluster := range map[string]func() *fakeCluster{
		"foreign slice": func() *fakeCluster { c := newFakeCluster(9); x := c.extra(300); return c.remove(4205, x) },
		"withdrawn": func() *fakeCluster {
			return newFakeCluster(9).edit(300, "kubectl", withoutFirst).edit(4205, "kube-controller-manager", asItWas)
		},
		"conflict": func() *fakeCluster {
			c := newFakeCluster(3)
			v := c.manual("kube-scheduler", true)
			c.write(60, v, "192.168.10.1", "192.168.10.2")
			return c.at(4205, func() { v.Selector = nil; c.sendToWatch(event.Modified, &v.Service) })
		},
		"silent node":        func() *fakeCluster { return newFakeCluster(9).silence(300, 4202, 5) },
		"three silent nodes": func() *fakeCluster { return newFakeCluster(9).silence(300, 4202, 1, 4, 7) },
	} {
		all["two restarts an hour apart, "+name] = restartStory{cluster: cluster, restarts: [][2]float64{{600, 610}, {4200, 4230}}, looks: []float64{599, 700, 4199, 4600}, steady: true}
	}
	return all
}

func restartsOfNodes() map[string]restartStory {
	return map[string]restartStory{
		"two zones, part by part": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1500, 1, 4, 7).silence(300, 4000, 10).silence(900, 3000, 2, 5, 8).silence(900, 5000, 11)
		}, restarts: [][2]float64{{1100, 1110}}, looks: []float64{1112, 1300, 1600, 1900, 2900, 3500, 4500, 5500}},
		"the node is deleted after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, forever, 5).single(5).deletes(1000, 5)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 700, 990, 1100, 1300}, deletes: true},
		"comes back in the gap and fails again": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 610, 5).silence(640, 2000, 5)
		}, restarts: [][2]float64{{600, 700}}, looks: []float64{599, 702, 1000, 1900, 2300}},
		"three quick restarts": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 2000, 5).single(5)
		}, restarts: [][2]float64{{600, 602}, {602.6, 603}, {603.2, 604}, {604.1, 606}}, looks: []float64{599, 607, 1000, 1900, 2300}, kill: true},
		"watch of nodes breaks right after": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 2000, 5).breaks(event.KindNode, 611, 700, event.ReasonEnded)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 620, 750, 1900, 2300}},
		"a silent zone, one returns and fails again": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1000, 3, 6, 9).silence(300, 500, 12).silence(700, 900, 12)
		}, restarts: [][2]float64{{430, 440}}, looks: []float64{442, 600, 800, 1300}},
		"without Leases": {cluster: func() *fakeCluster {
			c := newFakeCluster(9).silence(300, 1000, 5)
			c.leases = false
			return c
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"the whole cluster, two restarts": {cluster: func() *fakeCluster {
			return newFakeCluster(9).stall(300, 1500)
		}, restarts: [][2]float64{{400, 405}, {700, 710}}, looks: []float64{410, 425, 465, 605, 712, 730, 1400, 1900}},
		"two incidents become one after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(1222, 3652, 8, 12)
		}, restarts: [][2]float64{{2000, 2010}}, looks: []float64{2100, 3600, 4201}},
		"the Lease watch of 9 nodes stops after the silence": {cluster: func() *fakeCluster {
			c := newFakeCluster(9).silence(300, 385, 1).freezes(event.KindLease, 425, 485)
			c.noReads = event.ReasonForbidden
			c.services = c.services[:1]
			return c
		}, restarts: [][2]float64{{410, 413}}, looks: []float64{409, 420, 500, 900}},
		"another zone while two nodes of the first are silent": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(60, 150, 7, 10).silence(60, 2000, 1, 4).silence(300, 900, 2, 5, 8, 11)
		}, restarts: [][2]float64{{200, 203}}, looks: []float64{199, 210, 380, 800, 1200, 2400}},
		"the grace period is too short": {cluster: func() *fakeCluster { return newFakeCluster(9).withManager(10 * time.Second) }, restarts: [][2]float64{{1500, 1502}}, looks: []float64{1499, 1540, 1600}},
		"node after node": {cluster: func() *fakeCluster {
			c := newFakeCluster(20)
			for i := range 14 {
				at := 200 + 190*float64(i)
				c.silence(at, at+75, i+1)
			}
			return c
		}, restarts: [][2]float64{{1430, 1434}}, looks: []float64{1429, 1437, 1500, 1900, 3500}},
		"a node of the zone fails hours later": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 16000, 3).silence(300, 500, 6, 9, 12).silence(9000, 9400, 9)
		}, restarts: [][2]float64{{700, 710}, {8000, 8010}}, looks: []float64{699, 800, 5000, 9200, 10000, 17000}},
		"an outage lasts through two restarts":              {cluster: func() *fakeCluster { return newFakeCluster(9).silence(300, 4000, 5).single(5) }, restarts: [][2]float64{{3300, 3330}, {3600, 3700}}, looks: []float64{3299, 3331, 3599, 3900, 4400}, kill: true},
		"an incident is seen as several":                    {cluster: func() *fakeCluster { return newFakeCluster(12).silence(300, 2000, 4, 5).silence(300, 450, 6, 8, 9) }, restarts: [][2]float64{{400, 600}}, looks: []float64{399, 700, 1900, 2300}, kill: true},
		"the process is killed just after the outage began": {cluster: func() *fakeCluster { return newFakeCluster(9).silence(300, 4000, 5).single(5) }, restarts: [][2]float64{{348, 353}}, looks: []float64{358, 500}, kill: true},
		"the pods return long after their node": {cluster: func() *fakeCluster {
			c := newFakeCluster(9).silence(300, 400, 5)
			c.at(360, func() {
				for _, p := range c.podsOn(c.nodes[4]) {
					p.Ready.Reason = "ContainersNotReady"
				}
			})
			c.at(900, func() {
				for _, p := range c.podsOn(c.nodes[4]) {
					p.setReady(c, true, "")
				}
			})
			return c
		}, restarts: [][2]float64{{420, 425}}, looks: []float64{419, 480, 800, 1200}},
		"the verdict is revised after the end": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(1000, 1400, 1).silence(1000, 1560, 11)
		}, restarts: [][2]float64{{1753, 1760}}, looks: []float64{1762, 1900}},
		"newer incidents displace one that was interrupted": {cluster: func() *fakeCluster {
			c := newFakeCluster(30).silence(300, 1000, 5)
			for i := range 8 {
				from := 3000 + float64(i)*500
				c.silence(from, from+100, 10+i)
			}
			return c
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{700, 2000, 3300, 4900, 5300, 5900, 7500}, size: 4},
	}
}

func restartsOfServices() map[string]restartStory {
	return map[string]restartStory{
		"foreign slice twice": {cluster: func() *fakeCluster {
			c := newFakeCluster(9)
			x := c.extra(300)
			c.remove(1000, x)
			y := c.extra(9000)
			return c.remove(9500, y)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 612, 2000, 9300, 9800}},
		"withdrawn twice": {cluster: func() *fakeCluster {
			c := newFakeCluster(9)
			return c.edit(300, "kubectl", withoutFirst).edit(900, "kube-controller-manager", asItWas).edit(9000, "kubectl", withoutFirst).edit(9300, "kube-controller-manager", asItWas)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 612, 800, 2000, 9200, 9800}},
		"conflict through a restart": {cluster: func() *fakeCluster {
			c := newFakeCluster(3)
			v := c.manual("kube-scheduler", true)
			c.write(60, v, "192.168.10.1", "192.168.10.2")
			c.overwrite(900, v)
			return c.write(1000, v, "192.168.10.1", "192.168.10.2")
		}, restarts: [][2]float64{{400, 410}}, looks: []float64{399, 412, 800, 950, 1500}},
		"the Service is scaled to zero during the gap": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 9000)
			return c.at(602, func() { pods[0].stop(c, "") })
		}, restarts: [][2]float64{{600, 650}}, looks: []float64{599, 700, 1000, 1200}},
		"watch of slices breaks right after": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 800)
			return c.breaks(event.KindEndpointSlice, 610.2, 900, event.ReasonEnded)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 950, 1900, 2300}},
		"the Service is recreated after the restart": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 2000)
			v := pods[0].service
			c.deletesService(700, v)
			return c.at(730, func() {
				c.services = append(c.services, v)
				v.UID = event.ParseUID("again")
				c.sendToWatch(event.Added, &v.Service)
				c.syncSoon(v)
			})
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 690, 720, 1000, 1900, 2300}},
		"the pod is deleted, the UID is used again": {cluster: func() *fakeCluster {
			c, pods := solo(2)
			p := pods[0]
			c.notReady(p, 360, 900)
			c.at(600, func() { c.sendToWatch(event.Deleted, &p.Pod); c.sendToWatch(event.Added, &p.Pod) })
			return c
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 700, 1300}},
		"the last address is lost during the restart": {cluster: func() *fakeCluster {
			c, pods := solo(2)
			c.notReady(pods[0], 360, 800)
			c.notReady(pods[1], 405, 800)
			return c
		}, restarts: [][2]float64{{400, 410}}, looks: []float64{399, 420, 700, 1100}},
		"a recovered Service is lost during the restart": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 400)
			c.notReady(pods[0], 410, 1500)
			return c
		}, restarts: [][2]float64{{405, 430}}, looks: []float64{404, 440, 700, 1400, 1800}},
		"another pod was never ready": {cluster: func() *fakeCluster {
			c, pods := solo(3)
			c.notReady(pods[2], 1, forever)
			c.notReady(pods[0], 360, 450)
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{399, 440, 700}},
		"two causes in one Service": {cluster: func() *fakeCluster {
			c, pods := solo(4)
			c.notReady(pods[0], 360, 1500)
			c.at(370, func() {
				x := &pods[1].Containers[0]
				x.Restarts, x.ID, x.Started = x.Restarts+1, x.ID+"+", c.now
				pods[1].setReady(c, false, "ContainersNotReady")
			})
			c.at(1000, func() { pods[1].setReady(c, true, "") })
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{406, 700, 1300, 1900}},
		"a new pod becomes ready": {cluster: func() *fakeCluster {
			c, pods := solo(3)
			c.notReady(pods[0], 360, 1500)
			c.at(395, func() {
				x := pods[0].service.start(c, c.nodes[6])
				c.sendToWatch(event.Added, &x.Pod)
				c.syncSoon(pods[0].service)
				c.at(425, func() { x.setReady(c, true, "") })
			})
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{406, 450, 1300, 1900}},
		"an address is not ready for hours": {cluster: func() *fakeCluster {
			c, pods := solo(2)
			c.notReady(pods[0], 360, 20000)
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{3900, 4200, 10000, 20200}},
		"a displaced incident stays away": {cluster: func() *fakeCluster {
			c := newFakeCluster(9)
			for i, x := range [][2]float64{{360, 800}, {600, 3000}, {700, 3100}} {
				v := c.service([]string{"one", "two", "three"}[i], true)
				v.start(c, c.nodes[i]).serve()
				v.fill()
				c.notReady(v.pods[0], x[0], x[1])
			}
			return c
		}, restarts: [][2]float64{{5000, 5010}}, looks: []float64{5012, 5200}, size: 2},
		"an address returns for less than a second": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 500.25)
			c.notReady(pods[0], 500.55, 2000)
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{499, 600, 1900, 2300}},
		"publishNotReadyAddresses is set in the gap": {cluster: func() *fakeCluster {
			c, pods := solo(2)
			c.notReady(pods[0], 360, forever)
			return c.at(402, func() {
				v := pods[0].service
				v.PublishNotReady = true
				c.sendToWatch(event.Modified, &v.Service)
				v.fill()
				for i := range v.slice.Addresses {
					v.slice.Addresses[i].Ready = true
				}
				c.sendToWatch(event.Modified, &v.slice)
			})
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{900}},
	}
}

// solo returns a cluster with a Service of several pods, and these pods.
func solo(pods int) (*fakeCluster, []*fakePod) {
	return newFakeCluster(9).solo([]int{0, 1, 2, 3}[:pods]...)
}

// solo adds a Service with a pod on each of some nodes.
func (s *fakeCluster) solo(nodes ...int) (*fakeCluster, []*fakePod) {
	service := s.service("solo", true)
	for _, i := range nodes {
		service.start(s, s.nodes[i]).serve()
	}
	service.fill()
	return s, service.pods
}

// notReady makes a pod not ready between two times.
func (s *fakeCluster) notReady(p *fakePod, from, to float64) {
	s.at(from, func() { p.setReady(s, false, "ContainersNotReady") })
	s.at(to, func() { p.setReady(s, true, "") })
}

// single adds a Service whose only pod runs on a node.
func (s *fakeCluster) single(node int) *fakeCluster {
	service := s.service("single", true)
	service.start(s, s.nodes[node-1]).serve()
	service.fill()
	return s
}
