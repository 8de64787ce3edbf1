package contract

import (
	"fmt"
	"testing"
	"time"
)

// For four busy hours, no alert may notify anybody in a healthy cluster with 60 nodes and 40 Services. Heartbeats jitter,
// nodes are drained and replaced, and kubeflap restarts once. Deployments roll out, and some of them have a single
// replica. One Deployment is scaled down and up again, and another one to zero and back. The metrics come from the real
// tracker. At the end, a kubelet stops, and an alert must fire.
func TestHealthyClusterPagesNobody(t *testing.T) {
	c := populated(60, func(c *cluster) {
		for i := range 40 {
			c.deploy(fmt.Sprintf("team-%d", i%5), fmt.Sprintf("app-%d", i), []int{3, 3, 5, 1}[i%4])
		}
	})
	plan(c)

	e := newQuickEvaluator(t)
	informed := 0
	end := origin.Add(4 * time.Hour)
	for at := origin.Add(3 * time.Minute); at.Before(end); at = at.Add(time.Minute) {
		for _, at := range []time.Time{at.Add(-30 * time.Second), at} {
			c.runUntil(at)
			e.scrape(at, c.collector, "a")
		}
		for _, a := range e.evaluate(at) {
			if a.Labels.Get("severity") == "info" {
				informed++
				continue
			}
			t.Errorf("%s fires after %s with the value %g", a.Labels, at.Sub(origin), a.Value)
		}
		if t.Failed() {
			return
		}
	}
	if informed == 0 {
		t.Error("no alert with severity info for the Service that was scaled to zero")
	}
	if roll, out := total(t, c, "kubeflap_service_address_churn_total"), total(t, c, "kubeflap_service_outages_total"); roll < 150 || out < 2 {
		t.Errorf("too few events: %v address changes and %v outages", roll, out)
	}
	n := c.anyNode("")
	n.silent = true
	for at := end; at.Before(end.Add(90 * time.Second)); at = at.Add(30 * time.Second) {
		c.runUntil(at)
		e.scrape(at, c.collector, "a")
		for _, a := range e.evaluate(at) {
			if a.Labels.Get("alertname") == "KubeflapNodeHeartbeatLost" && a.Labels.Get("node") == n.Name {
				return
			}
		}
	}
	t.Error("no alert for the node whose kubelet stopped")
}

// plan schedules what people and controllers do in these hours. Each workload is rolled out once or twice.
func plan(c *cluster) {
	for i := range 58 {
		w := c.workloads[i%len(c.workloads)]
		c.in(time.Duration(i)*4*time.Minute+time.Minute, func() { c.rollOut(w) })
	}
	for i := range 10 {
		c.in(time.Duration(i)*20*time.Minute+12*time.Minute, func() { c.replace(c.anyNode("")) })
	}
	few, none := c.workloads[2], c.workloads[1]
	c.in(25*time.Minute, func() { c.scale(few, 2) })
	c.in(65*time.Minute, func() { c.scale(few, 5) })
	c.in(85*time.Minute, func() { c.scale(none, 0) })
	c.in(2*time.Hour, c.watch)
	c.in(155*time.Minute, func() { c.scale(none, 3) })
}

// total returns the current sum of all series of a metric.
func total(t *testing.T, c *cluster, name string) (sum float64) {
	families, err := c.collector.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == name {
				sum += m.Counter.GetValue() + m.Gauge.GetValue()
			}
		}
	}
	return sum
}
