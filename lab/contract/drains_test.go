package contract

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	rulesapi "github.com/prometheus/prometheus/rules"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// drainOf is a cluster of six nodes that are drained. One Service has a single replica. It has no address from the
// eviction of its pod until the next pod is Ready.
type drainOf struct {
	*cluster
	single *workload
}

func newDrain(startup time.Duration) *drainOf {
	d := &drainOf{}
	d.cluster = populated(nodesOfADay, func(c *cluster) {
		c.deploy("shop", "web", 3)
		d.single = c.deploy("shop", "single", 1)
	})
	d.single.startup = startup
	return d
}

// evict drains a node as kubectl drain does. If possible, the next pod of the single replica starts on a node that will
// also be drained.
func (d *drainOf) evict(n *node, later []*node) {
	d.cordon(n)
	d.podsOn(n, func(w *workload, p *event.Pod) {
		d.in(2*time.Second, func() {
			d.stop(w, p, "EvictionByEvictionAPI")
			if w != d.single || len(later) == 0 {
				d.start(w, nil)
			} else {
				d.startOn(w, later[0], nil)
			}
		})
	})
}

// home returns the node of the single replica.
func (d *drainOf) home() *node { return d.nodes[d.single.pods[0].Node] }

// firing returns the critical and warning alerts that fire until an hour after the last drain, which ends at the given
// time. For each alert, it returns when it first fires, as the time since the start.
func (d *drainOf) firing(t *testing.T, interval, drained time.Duration) (first map[string]time.Duration) {
	t.Helper()
	e := newQuickEvaluator(t)
	first = map[string]time.Duration{}
	start := d.now
	for at := start; at.Before(start.Add(drained + time.Hour)); at = at.Add(15 * time.Second) {
		d.runUntil(at)
		if since := at.Sub(start); since%interval == 0 {
			e.scrape(at, d.collector, "a")
		}
		if at.Sub(start)%evaluation(at.Sub(start) > drained+6*time.Minute) != 0 {
			continue
		}
		for _, a := range paged(e.evaluate(at)) {
			name := a.Labels.Get("alertname") + "/" + a.Labels.Get("severity")
			if _, known := first[name]; !known {
				first[name] = at.Sub(start)
				t.Logf("%s fires after %s with the value %g", a.Labels, at.Sub(start), a.Value)
			}
		}
	}
	return first
}

// paged removes alerts with severity info, because they do not notify anybody.
func paged(all []*rulesapi.Alert) []*rulesapi.Alert {
	return slices.DeleteFunc(all, func(a *rulesapi.Alert) bool { return a.Labels.Get("severity") == "info" })
}

// Nobody must be notified if the node with a Service's only pod is drained. The next pod is Ready after two minutes.
func TestDrainOfASingleReplicaPagesNobody(t *testing.T) {
	for _, interval := range intervals {
		t.Run(fmt.Sprint(interval), func(t *testing.T) {
			t.Parallel()
			d := newDrain(2 * time.Minute)
			d.in(5*time.Minute, func() {
				n := d.home()
				d.evict(n, nil)
				d.in(4*time.Minute, func() { d.leaves(n); d.join() })
			})
			if found := d.firing(t, interval, 10*time.Minute); len(found) > 0 {
				t.Errorf("unexpected alerts %v", found)
			}
		})
	}
}

// Nobody must be notified if all nodes are upgraded, one every eight minutes. The single replica is evicted each time.
// Its next pod is Ready after two minutes.
func TestUpgradeOfEachNodePagesNobody(t *testing.T) {
	for _, interval := range intervals {
		t.Run(fmt.Sprint(interval), func(t *testing.T) {
			t.Parallel()
			d := newDrain(2 * time.Minute)
			all := d.sorted()
			slices.SortStableFunc(all, func(a, b *node) int { return cmp.Compare(apart(a, d.home()), apart(b, d.home())) })
			for i, n := range all {
				d.in(8*time.Minute*time.Duration(i)+5*time.Minute, func() {
					d.evict(n, all[i+1:])
					d.in(3*time.Minute, func() {
						d.silence(n)
						d.in(4*time.Minute, func() { d.boots(n); d.in(30*time.Second, func() { d.uncordon(n) }) })
					})
				})
			}
			found := d.firing(t, interval, 8*time.Minute*time.Duration(len(all))+5*time.Minute)
			if len(found) > 0 {
				t.Errorf("unexpected alerts %v", found)
			}
			if out := total(t, d.cluster, "kubeflap_service_outages_total"); out != float64(len(all)) {
				t.Errorf("got %v outages, want one for each node", out)
			}
		})
	}
}

// apart returns 0 if both nodes are the same, and 1 otherwise.
func apart(a, b *node) int {
	if a == b {
		return 0
	}
	return 1
}

// After a drain, the next pod never becomes Ready. An alert must then be critical after five minutes, but not before.
func TestDrainThatFailsPages(t *testing.T) {
	d := newDrain(24 * time.Hour)
	d.in(5*time.Minute, func() { d.evict(d.home(), nil) })
	found := d.firing(t, 30*time.Second, 5*time.Minute)
	at, pages := found["KubeflapServiceWithoutReadyAddresses/critical"]
	if after := at - 5*time.Minute; !pages || after < 5*time.Minute || after > 6*time.Minute+30*time.Second {
		t.Errorf("unexpected page time %s: %v", after, found)
	}
}
