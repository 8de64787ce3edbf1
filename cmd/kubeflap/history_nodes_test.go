package main

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// restartsOfNodes returns restarts during incidents of nodes and zones.
func restartsOfNodes() map[string]restartStory {
	return map[string]restartStory{
		"three machines reboot": {cluster: func() *fakeCluster { return newFakeCluster(9).reboots(300, 1000, 1, 2, 3) }, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 600, 1100, 1500}},
		"four machines are terminated": {cluster: func() *fakeCluster {
			return newFakeCluster(10).silence(300, forever, 1, 2, 3, 4).deletes(480, 1).deletes(482, 2).deletes(484, 3).deletes(486, 4)
		}, restarts: [][2]float64{{400, 410}}, looks: []float64{399, 420, 500, 900}, deletes: true},
		"a machine is terminated": {cluster: func() *fakeCluster { return newFakeCluster(10).silence(300, forever, 5).deletes(480, 5) }, restarts: [][2]float64{{400, 410}}, looks: []float64{399, 420, 500, 900}, deletes: true},
		"the Lease watch of 1 nodes stops after the silence": {cluster: func() *fakeCluster {
			c := newFakeCluster(1).silence(300, 385, 1).freezes(event.KindLease, 425, 485)
			c.noReads = event.ReasonForbidden
			c.services = c.services[:1]
			return c
		}, restarts: [][2]float64{{410, 413}}, looks: []float64{409, 420, 500, 900}},
		"the Lease watch of 9 nodes stops after the silence": {cluster: func() *fakeCluster {
			c := newFakeCluster(9).silence(300, 385, 1).freezes(event.KindLease, 425, 485)
			c.noReads = event.ReasonForbidden
			c.services = c.services[:1]
			return c
		}, restarts: [][2]float64{{410, 413}}, looks: []float64{409, 420, 500, 900}},
		"another zone after an incident": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(60, 130, 1, 4, 7, 10).silence(400, 500, 2, 5, 8, 11)
		}, restarts: [][2]float64{{300, 303}, {1000, 1003}}, looks: []float64{299, 310, 450, 700, 1100}},
		"another zone before the end of an incident": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(60, 140, 1, 4, 7, 10).silence(190, 300, 2, 5, 8, 11)
		}, restarts: [][2]float64{{170, 173}}, looks: []float64{169, 180, 260, 295, 600}},
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
		"the controller manager stands still twice": {cluster: func() *fakeCluster { return newFakeCluster(9).stops(1100, 1160).stops(1190, 1250) }, restarts: [][2]float64{{1180, 1185}}, looks: []float64{1179, 1188, 1260, 1600}},
		"a node of the zone fails again": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1500, 3, 6, 9).silence(300, 400, 12).silence(700, 900, 12)
		}, restarts: [][2]float64{{430, 440}}, looks: []float64{429, 450, 600, 800, 1400, 1900}},
		"a zone flaps": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 380, 3, 6, 9, 12).silence(430, 520, 3, 6, 9, 12)
		}, restarts: [][2]float64{{410, 413}}, looks: []float64{409, 420, 500, 900}},
		"a zone flaps later": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(500, 580, 3, 6, 9, 12).silence(630, 720, 3, 6, 9, 12)
		}, restarts: [][2]float64{{610, 613}}, looks: []float64{609, 620, 700, 1100}},
		"a node of the zone fails hours later": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 16000, 3).silence(300, 500, 6, 9, 12).silence(9000, 9400, 9)
		}, restarts: [][2]float64{{700, 710}, {8000, 8010}}, looks: []float64{699, 800, 5000, 9200, 10000, 17000}},
		"a node of the zone fails later with another zone": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 16000, 3).silence(300, 500, 6, 9, 12).silence(3000, 3600, 12, 1, 4, 7, 10)
		}, restarts: [][2]float64{{700, 710}}, looks: []float64{699, 800, 2900, 3300, 4000}},
		"three outages in one incident": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 600, 5).silence(650, 900, 5).silence(930, 1200, 5).single(5)
		}, restarts: [][2]float64{{500, 505}}, looks: []float64{499, 520, 640, 800, 1100, 1600}},
		"just before the node is marked":                    {cluster: func() *fakeCluster { return newFakeCluster(9).silence(300, 900, 5) }, restarts: [][2]float64{{335, 336}}, looks: []float64{338, 341, 356, 396, 536}},
		"etcd is stalled":                                   {cluster: func() *fakeCluster { return newFakeCluster(9).stall(300, 900) }, restarts: [][2]float64{{500, 510}}, looks: []float64{515, 530, 570, 710}},
		"etcd is stalled, soon":                             {cluster: func() *fakeCluster { return newFakeCluster(9).stall(300, 1500) }, restarts: [][2]float64{{400, 405}}, looks: []float64{410, 425, 465, 605}},
		"the silence of a node lasts":                       {cluster: func() *fakeCluster { return newFakeCluster(12).silence(300, 4000, 5) }, restarts: [][2]float64{{2010, 2020}}, looks: []float64{2022, 2100, 3900}},
		"the silence of three nodes lasts":                  {cluster: func() *fakeCluster { return newFakeCluster(12).silence(300, 4000, 4, 5, 6) }, restarts: [][2]float64{{2010, 2020}}, looks: []float64{2022, 2100, 3900}},
		"one of three nodes is still silent":                {cluster: func() *fakeCluster { return newFakeCluster(12).silence(1324, 4044, 5).silence(1324, 3161, 11, 8) }, restarts: [][2]float64{{1772.5, 1773}, {3317.5, 3320.5}}, looks: []float64{4600}},
		"an outage lasts through two restarts":              {cluster: func() *fakeCluster { return newFakeCluster(9).silence(300, 4000, 5).single(5) }, restarts: [][2]float64{{3300, 3330}, {3600, 3700}}, looks: []float64{3299, 3331, 3599, 3900, 4400}, kill: true},
		"an outage outlasts its node":                       {cluster: func() *fakeCluster { return newFakeCluster(9).silence(300, 520, 5).single(5) }, restarts: [][2]float64{{400, 522}}, looks: []float64{399, 900}, kill: true},
		"an incident is seen as several":                    {cluster: func() *fakeCluster { return newFakeCluster(12).silence(300, 2000, 4, 5).silence(300, 450, 6, 8, 9) }, restarts: [][2]float64{{400, 600}}, looks: []float64{399, 700, 1900, 2300}, kill: true},
		"the process is killed just after the outage began": {cluster: func() *fakeCluster { return newFakeCluster(9).silence(300, 4000, 5).single(5) }, restarts: [][2]float64{{348, 353}}, looks: []float64{358, 500}, kill: true},
	}
}
