package main

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestRestarts compares kubeflap with one that was not restarted, at times at which both must show the same.
func TestRestarts(t *testing.T) {
	for _, stories := range []map[string]restartStory{restartsInTheMiddle(), restartsBeforeMore(), restartsOfWorkloads(), restartsOfNodes()} {
		for name, story := range stories {
			t.Run(name, story.run)
		}
	}
}

// restartsInTheMiddle returns restarts during incidents of nodes, Services and writers of addresses.
func restartsInTheMiddle() map[string]restartStory {
	zoneA, zoneB := []int{1, 4, 7, 10}, []int{2, 5, 8, 11}
	return map[string]restartStory{
		"two zones, the first returns first": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1500, zoneA...).silence(900, 3000, zoneB...)
		}, restarts: [][2]float64{{1100, 1110}}, looks: []float64{1112, 1300, 1400, 1600, 1900, 2900, 3500}},
		"two zones, part by part": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1500, 1, 4, 7).silence(300, 4000, 10).silence(900, 3000, 2, 5, 8).silence(900, 5000, 11)
		}, restarts: [][2]float64{{1100, 1110}}, looks: []float64{1112, 1300, 1600, 1900, 2900, 3500, 4500, 5500}},
		"two zones return while down": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1105, zoneA...).silence(900, 3000, zoneB...)
		}, restarts: [][2]float64{{1100, 1150}}, looks: []float64{1152, 1300, 1600, 3500}},
		"three nodes at different times": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 3000, 1).silence(900, 2500, 2).silence(1500, 2700, 3)
		}, restarts: [][2]float64{{1800, 1810}}, looks: []float64{1799, 1812, 2000, 2600, 2800, 3500}},
		"foreign slice through a restart": {cluster: func() *fakeCluster {
			c := newFakeCluster(9)
			x := c.extra(300)
			return c.remove(3000, x)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 612, 800, 2900, 3500}},
		"foreign slice twice": {cluster: func() *fakeCluster {
			c := newFakeCluster(9)
			x := c.extra(300)
			c.remove(1000, x)
			y := c.extra(9000)
			return c.remove(9500, y)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 612, 2000, 9300, 9800}},
		"withdrawn addresses through a restart": {cluster: func() *fakeCluster {
			c := newFakeCluster(9)
			return c.edit(300, "kubectl", withoutFirst).edit(3000, "kube-controller-manager", asItWas)
		}, restarts: [][2]float64{{600, 610}, {900, 910}}, looks: []float64{599, 612, 800, 912, 940, 2900, 3500}},
		"withdrawn twice": {cluster: func() *fakeCluster {
			c := newFakeCluster(9)
			return c.edit(300, "kubectl", withoutFirst).edit(900, "kube-controller-manager", asItWas).edit(9000, "kubectl", withoutFirst).edit(9300, "kube-controller-manager", asItWas)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 612, 800, 2000, 9200, 9800}},
		"conflict, overwritten, through a restart": {cluster: func() *fakeCluster {
			c := newFakeCluster(3)
			v := c.manual("kube-scheduler", true)
			c.write(60, v, "192.168.10.1", "192.168.10.2")
			c.overwrite(480, v)
			c.at(3000, func() { v.Selector = nil; c.sendToWatch(event.Modified, &v.Service) })
			return c.write(3030, v, "192.168.10.1", "192.168.10.2")
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 612, 800, 2900, 3500}},
		"conflict through a restart": {cluster: func() *fakeCluster {
			c := newFakeCluster(3)
			v := c.manual("kube-scheduler", true)
			c.write(60, v, "192.168.10.1", "192.168.10.2")
			c.overwrite(900, v)
			return c.write(1000, v, "192.168.10.1", "192.168.10.2")
		}, restarts: [][2]float64{{400, 410}}, looks: []float64{399, 412, 800, 950, 1500}},
		"the Service is deleted during the outage": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, forever)
			return c.deletesService(900, pods[0].service)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 800, 1000, 1200}},
		"the Service is scaled to zero during the gap": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 9000)
			return c.at(602, func() { pods[0].stop(c, "") })
		}, restarts: [][2]float64{{600, 650}}, looks: []float64{599, 700, 1000, 1200}},
		"the node is deleted after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, forever, 5).single(5).deletes(1000, 5)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 700, 990, 1100, 1300}, deletes: true},
		"comes back in the gap and fails again": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 610, 5).silence(640, 2000, 5)
		}, restarts: [][2]float64{{600, 700}}, looks: []float64{599, 702, 1000, 1900, 2300}},
		"three quick restarts": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 2000, 5).single(5)
		}, restarts: [][2]float64{{600, 602}, {602.6, 603}, {603.2, 604}, {604.1, 606}}, looks: []float64{599, 607, 1000, 1900, 2300}, kill: true},
		"three quick restarts, clean": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 2000, 5).single(5)
		}, restarts: [][2]float64{{600, 602}, {602.6, 603}, {603.2, 604}, {604.1, 606}}, looks: []float64{599, 607, 1000, 1900, 2300}},
		"quick restarts, recovered": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 550, 5).single(5)
		}, restarts: [][2]float64{{600, 602}, {602.6, 603}, {603.2, 604}, {604.1, 606}}, looks: []float64{599, 607, 650, 1000}},
		"lost just before the restart": {cluster: func() *fakeCluster {
			c, pods := solo(2)
			c.notReady(pods[0], 360, 2000)
			return c
		}, restarts: [][2]float64{{363, 366}}, looks: []float64{367, 500, 1900, 2300}},
		"watch of nodes breaks right after": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 2000, 5).breaks(event.KindNode, 611, 700, event.ReasonEnded)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 620, 750, 1900, 2300}},
		"watch of slices breaks right after": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 800)
			return c.breaks(event.KindEndpointSlice, 610.2, 900, event.ReasonEnded)
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 950, 1900, 2300}},
	}
}

// restartsBeforeMore returns restarts during incidents that change after the restart: other nodes fail, or the reason of
// the failure becomes visible.
func restartsBeforeMore() map[string]restartStory {
	return map[string]restartStory{
		"a recovered node fails again with others": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 420, 12).silence(470, 700, 3, 6, 9, 12)
		}, restarts: [][2]float64{{430, 440}}, looks: []float64{442, 600, 690, 900}},
		"a silent node, then others": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1000, 12).silence(600, 1000, 3, 6, 9)
		}, restarts: [][2]float64{{430, 440}}, looks: []float64{442, 700, 990, 1300}},
		"a silent zone, then another node": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1000, 3, 6, 9).silence(600, 900, 12)
		}, restarts: [][2]float64{{430, 440}}, looks: []float64{442, 700, 990, 1300}},
		"a silent zone, one returns and fails again": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1000, 3, 6, 9).silence(300, 500, 12).silence(700, 900, 12)
		}, restarts: [][2]float64{{430, 440}}, looks: []float64{442, 600, 800, 1300}},
		"not ready instead of Unknown": {cluster: func() *fakeCluster {
			c := newFakeCluster(9).single(5)
			c.at(300, func() { c.setReady(c.nodes[4], event.StatusFalse, "KubeletNotReady") })
			return c.at(900, func() { c.setReady(c.nodes[4], event.StatusTrue, "KubeletReady") })
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"not ready, back in the gap": {cluster: func() *fakeCluster {
			c := newFakeCluster(9).single(5)
			c.at(300, func() { c.setReady(c.nodes[4], event.StatusFalse, "KubeletNotReady") })
			return c.at(505, func() { c.setReady(c.nodes[4], event.StatusTrue, "KubeletReady") })
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 530, 900}},
		"without Leases": {cluster: func() *fakeCluster {
			c := newFakeCluster(9).silence(300, 1000, 5)
			c.leases = false
			return c
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"upgraded after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(9).upgrades(300, 900, 5)
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"drained after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 1000, 5).drains(700, 5)
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"the whole cluster": {cluster: func() *fakeCluster {
			return newFakeCluster(9).stall(300, 900)
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"the whole cluster, two restarts": {cluster: func() *fakeCluster {
			return newFakeCluster(9).stall(300, 1500)
		}, restarts: [][2]float64{{500, 510}, {700, 710}}, looks: []float64{499, 512, 712, 730, 1400, 1900}},
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
		"reboots after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(9).reboots(300, 2000, 5)
		}, restarts: [][2]float64{{900, 910}}, looks: []float64{912, 1900, 2500}},
		"two incidents become one after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(1222, 3652, 8, 12)
		}, restarts: [][2]float64{{2000, 2010}}, looks: []float64{2100, 3600, 4201}},
	}
}
