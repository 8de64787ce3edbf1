package contract

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// One evaluation of all rules over a cluster of 1,000 nodes and 5,000 Services, with 6 hours of samples every 30 s behind it: in peace, and half a
// minute after etcd stopped, when every node is lost and no Service has an address.
func BenchmarkRules(b *testing.B) {
	for _, replicas := range []int{1, 2} {
		b.Run(fmt.Sprintf("peace/replicas=%d", replicas), func(b *testing.B) { benchmarkRules(b, replicas, false) })
		b.Run(fmt.Sprintf("all-lost/replicas=%d", replicas), func(b *testing.B) { benchmarkRules(b, replicas, true) })
	}
}

func benchmarkRules(b *testing.B, replicas int, lost bool) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	c := bigCluster(start)
	e := newEvaluator(b)
	at := start
	scrape := func() {
		for r := range replicas {
			e.scrape(at, gatherer(c), fmt.Sprint(r))
		}
		at = at.Add(30 * time.Second)
	}
	scrape()
	for ; at.Before(start.Add(6 * time.Hour)); at = at.Add(30 * time.Second) {
		// Nothing but the budget looks back for longer than an hour.
		metric := ""
		if at.Before(start.Add(5 * time.Hour)) {
			metric = "kubeflap_service_outage_seconds_total"
		}
		e.repeat(at, metric)
	}
	if lost {
		loseAll(c, at)
		for range 4 {
			c.now = at
			scrape()
		}
	}
	firing, before := 0, cpu(b)
	for b.Loop() {
		at = at.Add(time.Second)
		firing = len(e.evaluate(at))
	}
	b.ReportMetric(float64((cpu(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(len(e.refs)), "series")
	b.ReportMetric(float64(firing), "alerts")
}

func bigCluster(start time.Time) *cluster {
	c := newCluster(start)
	for range 1000 {
		c.join()
	}
	c.runUntil(start.Add(time.Minute))
	for i := range 5000 {
		c.deploy(fmt.Sprintf("team-%d", i%100), fmt.Sprintf("app-%d", i), 2)
	}
	c.runUntil(start.Add(2 * time.Minute))
	c.due = nil
	c.now = start
	c.watch()
	return c
}

// loseAll is what the node controller and the endpointslice controller make of it.
func loseAll(c *cluster, at time.Time) {
	c.now = at.Add(time.Second)
	for _, n := range c.nodes {
		n.Ready = &event.Condition{Status: event.StatusUnknown, Reason: "NodeStatusUnknown", Transition: c.now}
		o := *n.Node
		c.tell(event.Modified, &o)
	}
	for _, w := range c.workloads {
		for _, p := range w.pods {
			p.Ready = &event.Condition{Status: event.StatusFalse, Transition: c.now, Writer: "kube-controller-manager"}
			c.tell(event.Modified, clone(p))
		}
		c.sync(w)
	}
}

// cpu is what the process has used: on a busy machine it says more than the clock.
func cpu(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
