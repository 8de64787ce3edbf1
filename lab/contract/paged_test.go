package contract

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// lasting is an incident in which a Service has no ready address for minutes, or again and again.
type lasting struct {
	name string
	// fault causes the incident. The first workload of the cluster has a single replica.
	fault func(*cluster)
	// pages lists the expected pages in order, each with its alerts.
	pages [][]string
	// soon means that a page must arrive within two minutes, because the outage lasts long enough.
	soon bool
	// lasts is how long the fault lasts.
	lasts time.Duration
}

func (c *cluster) single() *node { return c.nodes[c.workloads[0].pods[0].Node] }

func lastingIncidents() []lasting {
	service := [][]string{{"KubeflapServiceWithoutReadyAddresses"}}
	return []lasting{
		{name: "1: a kubelet stops", fault: kubeletStops, pages: service, soon: true, lasts: 8 * time.Minute},
		{name: "1: a slow kubelet", fault: slowKubelet, pages: service, lasts: 14 * time.Minute},
		{name: "a node is drained, and the next pod does not start", fault: drainFails, pages: service, lasts: 14 * time.Minute},
	}
}

func kubeletStops(c *cluster) {
	n := c.single()
	c.silence(n)
	c.in(8*time.Minute, func() { c.answers(n) })
}

func slowKubelet(c *cluster) {
	n := c.single()
	for i := range 8 {
		c.in(time.Duration(i)*100*time.Second, func() { c.silence(n) })
		c.in(time.Duration(i)*100*time.Second+80*time.Second, func() { c.answers(n) })
	}
}

// drainFails drains the node of the single replica. The next pod never becomes Ready.
func drainFails(c *cluster) {
	c.workloads[0].startup = 24 * time.Hour
	n := c.single()
	c.cordon(n)
	c.drain(n)
}

// batchUpgrade changes the images of all pods of the second workload. Their containers exit one after another. The new
// containers are ready after some minutes.
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

// timing says at which times between two scrapes the fault begins and the rules are evaluated.
type timing struct {
	// fault is the time from the scrape at 4 minutes until the fault begins.
	fault time.Duration
	// evaluation is the time from a scrape until the rules are evaluated.
	evaluation time.Duration
	// start and end are the times of the first and last evaluation.
	start, end time.Duration
}

// late returns almost the worst case. The fault begins 15 s after a scrape, and the rules are evaluated 25 s after a
// scrape.
func late() timing {
	return timing{fault: 15 * time.Second, evaluation: 25 * time.Second, end: 75 * time.Minute}
}

// The pager must receive one page per scope, and no more pages while the incident is ongoing. The page must arrive
// within two minutes after a Service permanently lost its last ready address. This must also hold with a scrape
// interval of one minute.
func TestALastAddressPagesOnce(t *testing.T) {
	for _, x := range lastingIncidents() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			lost, moments := x.observe(t, late())
			for i, interval := range intervals {
				t.Run(fmt.Sprintf("scraped every %s", interval), func(t *testing.T) {
					x.check(t, lost, moments[i])
				})
			}
		})
	}
}

// The page must arrive in time, regardless of the times of scrapes and evaluations.
func TestALastAddressPagesInTimeAlways(t *testing.T) {
	x := lasting{fault: batchUpgrade, pages: [][]string{{"KubeflapServiceWithoutReadyAddresses"}}, soon: true}
	for _, after := range []time.Duration{0, 25 * time.Second} {
		for fault := time.Duration(0); fault < time.Minute; fault += 10 * time.Second {
			t.Run(fmt.Sprintf("%s after a scrape, evaluated after %s", fault, after), func(t *testing.T) {
				t.Parallel()
				lost, moments := x.observe(t, timing{fault, after, 3 * time.Minute, 9 * time.Minute})
				for i := range intervals {
					x.check(t, lost, moments[i])
				}
			})
		}
	}
}

func (x *lasting) check(t *testing.T, lost time.Duration, moments []moment) {
	var pages []message
	for _, m := range notified(t, example(t), atWork, moments) {
		if m.receiver == "pager" && len(m.firing) > 0 {
			pages = append(pages, m)
		}
	}
	if x.soon && (len(pages) == 0 || pages[0].at > lost+2*time.Minute) {
		t.Errorf("no page within two minutes: the last address was lost at %s, and there was no page until %s", lost, lost+2*time.Minute)
	}
	for i, m := range pages {
		if i >= len(x.pages) || !slices.Equal(names(m.firing), x.pages[i]) {
			t.Errorf("got a page with %v after %s, want the pages %v", names(m.firing), m.at, x.pages)
		}
	}
	if len(pages) != len(x.pages) {
		t.Errorf("got %d pages, want %v", len(pages), x.pages)
	}
}

// observe returns the alerts that fire, by scrape interval. The result lost is the time at which a Service first lost
// its last ready address.
func (x *lasting) observe(t *testing.T, when timing) (lost time.Duration, all [3][]moment) {
	c := populated(9, (*cluster).shop)
	start := c.now
	const begin = 4 * time.Minute
	c.in(begin+when.fault, func() { x.fault(c) })
	prometheuses := []*evaluator{newQuickEvaluator(t), newQuickEvaluator(t), newQuickEvaluator(t)}
	for since := time.Duration(0); since < when.end; since += 5 * time.Second {
		at := start.Add(since)
		c.runUntil(at)
		if lost == 0 && since >= begin && total(t, c, "kubeflap_service_outages_total") > 0 {
			lost = since - 5*time.Second
		}
		if since%intervals[0] == 0 {
			scrapeAll(c, prometheuses, at, since)
		}
		for i, e := range prometheuses {
			if since >= when.start && (since-when.evaluation)%evaluation(since > begin+x.lasts+6*time.Minute) == 0 {
				all[i] = append(all[i], moment{since, e.firing(at)})
			}
		}
	}
	return lost, all
}
