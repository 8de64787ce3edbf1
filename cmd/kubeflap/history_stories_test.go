package main

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestRestartsAgainstTheTruth restarts kubeflap during incidents of nodes, Services and writers of addresses.
func TestRestartsAgainstTheTruth(t *testing.T) {
	zoneA, zoneB := []int{1, 4, 7, 10}, []int{2, 5, 8, 11}
	for name, c := range map[string]restartStory{
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
		}, restarts: [][2]float64{{600, 610}}, looks: []float64{599, 700, 990, 1100, 1300}},
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
	} {
		t.Run(name, c.run)
	}
}
