package contract

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// day is a day without faults. The function plan schedules what people and controllers do. The first action is after an
// hour, because some rules compare with the values of an hour ago.
type day struct {
	name string
	plan func(*calendar)
}

// calendar is a cluster that records the times of scheduled actions.
type calendar struct {
	*cluster
	busy []time.Time
}

// at schedules an action. Around that time, the test scrapes and evaluates at the normal intervals. At other times, it
// skips most scrapes and evaluations.
func (c *calendar) at(d time.Duration, do func()) {
	c.busy = append(c.busy, c.now.Add(d))
	c.in(d, do)
}

func (c *calendar) isBusy(t time.Time) bool {
	for _, b := range c.busy {
		if d := t.Sub(b); d > -2*time.Minute && d < 16*time.Minute {
			return true
		}
	}
	return false
}

// nodesOfADay is the number of nodes. An alert about three nodes or half of all nodes can still fire.
const nodesOfADay = 6

func days() []day {
	hours := func(h float64) time.Duration { return time.Duration(h * float64(time.Hour)) }
	return []day{
		{"roll-outs, also of single replicas", func(c *calendar) {
			for i := range 9 {
				w := c.workloads[i%5]
				c.at(hours(1+0.1*float64(i)), func() { c.rollOut(w) })
			}
		}},
		{"Deployments are scaled down and up, also to zero, and kubeflap restarts", func(c *calendar) {
			few, none := c.workloads[2], c.workloads[1]
			c.at(hours(1), func() { c.scale(few, 2); c.scale(none, 0) })
			c.at(hours(1.2), c.watch)
			c.at(hours(1.5), func() { c.scale(few, 5); c.scale(none, 3) })
		}},
		{"nodes are drained, deleted and replaced", func(c *calendar) {
			for i := range 4 {
				c.at(hours(1+0.2*float64(i)), func() {
					n := c.anyNode("")
					c.cordon(n)
					c.in(c.drain(n), func() { c.leaves(n); c.joins() })
				})
			}
		}},
		{"an autoscaler removes four nodes at once, and adds four", func(c *calendar) {
			c.at(hours(1), func() {
				for _, n := range c.sorted()[:4] {
					c.taint(n, "ToBeDeletedByClusterAutoscaler")
					c.in(c.drain(n), func() { c.silence(n) })
					c.in(6*time.Minute, func() { c.leaves(n) })
				}
			})
			c.at(hours(1.5), func() {
				for range 4 {
					c.joins()
				}
			})
		}},
		{"spot machines are reclaimed with two minutes' notice", func(c *calendar) {
			for i := range 4 {
				c.at(hours(1+0.25*float64(i)), func() {
					n := c.anyNode("")
					c.taint(n, "aws-node-termination-handler/spot-itn")
					c.drain(n)
					c.in(2*time.Minute, func() { c.silence(n) })
					c.in(5*time.Minute, func() { c.leaves(n); c.joins() })
				})
			}
		}},
		{"a reboot daemon restarts all nodes, one after the other", func(c *calendar) {
			for i := range nodesOfADay {
				c.at(hours(1+0.15*float64(i)), func() {
					n := c.sorted()[i]
					c.cordon(n)
					c.in(c.drain(n), func() {
						c.silence(n)
						c.in(c.between(90*time.Second, 4*time.Minute), func() { c.boots(n); c.in(30*time.Second, func() { c.uncordon(n) }) })
					})
				})
			}
		}},
		{"all nodes are upgraded one by one, and the control plane before them", func(c *calendar) {
			c.at(hours(1), func() { // the API server restarts, and the watches of kubeflap break
				for _, k := range event.Kinds() {
					c.apply(event.Event{Seen: c.now, Kind: k, Type: event.Down, Reason: event.ReasonConnectionLost})
					c.in(8*time.Second, func() { c.apply(event.Event{Seen: c.now, Kind: k, Type: event.Up}) })
				}
			})
			c.at(hours(1.1), c.watch) // kubeflap is drained, and starts on another node
			for i := range nodesOfADay {
				c.at(hours(1.3+0.2*float64(i)), func() {
					n := c.sorted()[i]
					c.cordon(n)
					c.in(c.drain(n), func() {
						c.silence(n)
						c.in(c.between(3*time.Minute, 8*time.Minute), func() {
							c.write(n, func(o *event.Node) { o.KubeletVersion = "v1.37.2" })
							c.boots(n)
							c.in(30*time.Second, func() { c.uncordon(n) })
						})
					})
				})
			}
		}},
	}
}

// Three Prometheus servers with the usual scrape intervals evaluate all rules on each of these healthy days. No alert
// with severity critical or warning may fire.
func TestHealthyDaysPageNobody(t *testing.T) {
	for _, d := range days() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.pagesNobody(t)
		})
	}
}

func (d *day) pagesNobody(t *testing.T) {
	c := &calendar{cluster: populated(nodesOfADay, func(c *cluster) {
		for i := range 5 {
			c.deploy("shop", fmt.Sprintf("app-%d", i), []int{3, 3, 5, 1, 2}[i])
		}
		c.deploy("shop", "slow", 1).startup = 2 * time.Minute
		c.daemons("monitoring", "node-exporter")
	})}
	d.plan(c)
	var prometheuses []*evaluator
	for range intervals {
		prometheuses = append(prometheuses, newQuickEvaluator(t))
	}
	const quietScrape, quietEvaluation = 4 * time.Minute, 12 * time.Minute
	// Most rules read the last hour.
	end := slices.MaxFunc(c.busy, time.Time.Compare).Add(75 * time.Minute)
	for at := origin.Add(3 * time.Minute); at.Before(end); at = at.Add(15 * time.Second) {
		busy, since := c.isBusy(at), at.Sub(origin)
		if !busy && since%quietScrape != 0 {
			continue
		}
		c.runUntil(at)
		g := gathered(c.cluster)
		for i, e := range prometheuses {
			if since%intervals[i] == 0 {
				e.scrape(at, g, "a")
			}
			if since%time.Minute != 0 || !busy && since%quietEvaluation != 0 {
				continue
			}
			for _, a := range e.evaluate(at) {
				if a.Labels.Get("severity") != "info" {
					t.Fatalf("scraped every %s: %s fires after %s with the value %g", intervals[i], a.Labels, since, a.Value)
				}
			}
		}
	}
}

// gathered reads kubeflap's metrics once, for several scrapes.
func gathered(c *cluster) prometheus.Gatherer {
	families, err := c.collector.Gather()
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return families, err })
}
