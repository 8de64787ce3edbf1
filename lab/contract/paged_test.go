package contract

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// lasting is the incident of a post that costs a Service its last address for minutes, or again and again.
type lasting struct {
	name string
	// fault makes it happen. The first workload has a single replica.
	fault func(*cluster)
	// pages are the alerts of each page, in their order.
	pages [][]string
	// soon says that the Service is without an address for so long that somebody is paged within two minutes.
	soon bool
}

func (c *cluster) single() *node { return c.nodes[c.workloads[0].pods[0].Node] }

func lastingIncidents() []lasting {
	service := [][]string{{"KubeflapServiceWithoutReadyAddresses"}}
	return []lasting{
		{name: "1: a kubelet stops", fault: kubeletStops, pages: service, soon: true},
		{name: "1: a slow kubelet", fault: slowKubelet, pages: service},
		{name: "3: etcd stalls", fault: etcdStalls, pages: [][]string{{"KubeflapHeartbeatsLateClusterWide"}}, soon: true},
		{name: "4: a batch is upgraded in place", fault: batchUpgrade, pages: service, soon: true},
	}
}

func kubeletStops(c *cluster) {
	n := c.single()
	c.silence(n)
	c.in(20*time.Minute, func() { c.answers(n) })
}

func slowKubelet(c *cluster) {
	n := c.single()
	for i := range 12 {
		c.in(time.Duration(i)*100*time.Second, func() { c.silence(n) })
		c.in(time.Duration(i)*100*time.Second+80*time.Second, func() { c.answers(n) })
	}
}

func etcdStalls(c *cluster) {
	for _, n := range c.sorted() {
		c.in(c.between(0, 5*time.Second), func() { c.silence(n) })
		c.in(3*time.Minute+c.between(0, 5*time.Second), func() { c.answers(n) })
	}
}

// batchUpgrade changes the images of all pods of the second workload. Their containers end one after the other, and take long to start.
func batchUpgrade(c *cluster) {
	w := c.workloads[1]
	for i, p := range w.pods {
		p.Containers[0].Image = "app:2"
		c.tell(event.Modified, clone(p))
		c.in(time.Duration(2+i)*time.Second, func() {
			p.Containers[0].ID, p.Containers[0].Restarts = "new", 1
			p.Ready.Reason = "ContainersNotReady"
			c.setReady(w, p, event.StatusFalse)
		})
		c.in(5*time.Minute, func() { c.setReady(w, p, event.StatusTrue) })
	}
}

// Whoever is paged is paged once for each scope, however the incident goes on, and within two minutes after it has cost a Service its last address for good.
// Scrapes may be a minute apart: then it takes half a minute more.
func TestALastAddressPagesOnce(t *testing.T) {
	for _, x := range lastingIncidents() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			lost, moments := x.happens(t)
			for i, interval := range intervals {
				t.Run(fmt.Sprintf("scraped every %s", interval), func(t *testing.T) {
					x.check(t, lost, interval, moments[i])
				})
			}
		})
	}
}

func (x *lasting) check(t *testing.T, lost, interval time.Duration, moments []moment) {
	var pages []message
	for _, m := range notified(t, example(t), atWork, moments) {
		if m.receiver == "pager" && len(m.firing) > 0 {
			pages = append(pages, m)
		}
	}
	within := 2 * time.Minute
	if interval == time.Minute {
		within += 30 * time.Second
	}
	if x.soon && (len(pages) == 0 || pages[0].at > lost+within) {
		t.Errorf("the last address is lost at %s, and nobody is paged until %s", lost, lost+within)
	}
	for i, m := range pages {
		if i >= len(x.pages) || !slices.Equal(names(m.firing), x.pages[i]) {
			t.Errorf("%v are paged after %s, want the pages %v", names(m.firing), m.at, x.pages)
		}
	}
	if len(pages) != len(x.pages) {
		t.Errorf("%d pages, want %v", len(pages), x.pages)
	}
}

// happens are the alerts that fire at each of the intervals, and when a Service lost its last address first. The rules are evaluated 25 s
// after a scrape, and the fault happens so that a scrape just misses what it takes: that is about as late as it gets.
func (x *lasting) happens(t *testing.T) (lost time.Duration, all [3][]moment) {
	c := newCluster(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	for range 9 {
		c.join()
	}
	c.runUntil(c.now.Add(time.Minute))
	c.deploy("shop", "single", 1)
	c.deploy("shop", "web", 4)
	c.runUntil(c.now.Add(2 * time.Minute))
	c.watch()
	start := c.now
	c.in(10*time.Minute+15*time.Second, func() { x.fault(c) })
	prometheuses := []*evaluator{newEvaluator(t), newEvaluator(t), newEvaluator(t)}
	for since := time.Duration(0); since < 80*time.Minute; since += 5 * time.Second {
		at := start.Add(since)
		c.runUntil(at)
		if lost == 0 && since >= 10*time.Minute && total(t, c, "kubeflap_service_outages_total") > 0 {
			lost = since - 5*time.Second
		}
		if since%intervals[0] == 0 {
			scrapeAll(c, prometheuses, at, since)
		}
		for i, e := range prometheuses {
			if (since-25*time.Second)%evaluation(since > 40*time.Minute) == 0 {
				all[i] = append(all[i], moment{since, e.firing(at)})
			}
		}
	}
	return lost, all
}
