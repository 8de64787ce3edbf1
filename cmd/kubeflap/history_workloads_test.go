package main

import "github.com/kubeflap/kubeflap/exporter/event"

// solo returns a cluster with a Service of several pods, and these pods.
func solo(pods int) (*fakeCluster, []*fakePod) {
	c := newFakeCluster(9)
	service := c.service("solo", true)
	for i := range pods {
		service.start(c, c.nodes[i]).serve()
	}
	service.fill()
	return c, service.pods
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

// restartsOfWorkloads returns restarts during incidents of workloads.
func restartsOfWorkloads() map[string]restartStory {
	return map[string]restartStory{
		"two restarts in an outage": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 1205)
			return c
		}, restarts: [][2]float64{{400, 405}, {1200, 1210}}, looks: []float64{390, 1199, 1500}},
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
		"another address is lost later": {cluster: func() *fakeCluster {
			c, pods := solo(3)
			c.notReady(pods[0], 360, 2000)
			c.notReady(pods[1], 900, 1000)
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{399, 800, 950, 1500, 2300}},
		"the last address is lost later": {cluster: func() *fakeCluster {
			c, pods := solo(2)
			c.notReady(pods[0], 360, 2000)
			c.notReady(pods[1], 900, 1000)
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{399, 800, 950, 1500, 2300}},
		"another pod was never ready": {cluster: func() *fakeCluster {
			c, pods := solo(3)
			c.notReady(pods[2], 1, forever)
			c.notReady(pods[0], 360, 450)
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{399, 440, 700}},
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
		"the address flaps again soon after the restart": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 440)
			c.notReady(pods[0], 500, 520)
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{399, 430, 510, 800}},
		"two zones are down": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 3000, 1, 4, 7, 10).silence(900, 1500, 2, 5, 8, 11)
		}, restarts: [][2]float64{{1100, 1110}}, looks: []float64{1112, 1300, 1900, 3500}},
		"another zone fails an hour later": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 9000, 1, 4, 7, 10).silence(4000, 4600, 2, 5, 8, 11)
		}, restarts: [][2]float64{{400, 410}}, looks: []float64{450, 4100, 5000, 9500}},
		"two nodes, one outage": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 3000, 1).silence(900, 1500, 2)
		}, restarts: [][2]float64{{1100, 1110}}, looks: []float64{1112, 1300, 1900, 3500}},
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
		"it flaps again after the restart": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 395)
			c.notReady(pods[0], 490, 510)
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{406, 480, 500, 800}},
		"an address that returned flaps again": {cluster: func() *fakeCluster {
			c, pods := solo(3)
			c.notReady(pods[0], 360, 900)
			c.notReady(pods[1], 440, 500)
			c.notReady(pods[1], 930, 950)
			return c
		}, restarts: [][2]float64{{400, 405}}, looks: []float64{450, 700, 905, 940, 1200}},
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
