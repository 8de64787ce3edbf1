package contract

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// BenchmarkRules measures one evaluation of all rules for 1,000 nodes and 2,000 Services. The rules read 6 hours of
// samples, with a scrape every 30 s. One benchmark is of a quiet cluster. The other is of the time just after etcd
// stopped, when all nodes are Unknown and no Service has a ready address.
func BenchmarkRules(b *testing.B) {
	for _, replicas := range []int{1, 2} {
		b.Run(fmt.Sprintf("peace/replicas=%d", replicas), func(b *testing.B) { benchmarkRules(b, replicas, false) })
		b.Run(fmt.Sprintf("all-lost/replicas=%d", replicas), func(b *testing.B) { benchmarkRules(b, replicas, true) })
	}
}

func benchmarkRules(b *testing.B, replicas int, lost bool) {
	start := origin
	c := bigCluster(start, 2000)
	e := newEvaluator(b)
	at := start
	scrape := func() {
		for r := range replicas {
			e.scrape(at, c.replicas[0].gathered(), fmt.Sprint(r))
		}
		at = at.Add(30 * time.Second)
	}
	scrape()
	for ; at.Before(start.Add(6 * time.Hour)); at = at.Add(30 * time.Second) {
		metrics := []string{""}
		if at.Before(start.Add(5 * time.Hour)) { // the rules read more than an hour of these metrics only
			metrics = []string{"kubeflap_service_outage_seconds_total", "kubeflap_service_outages_total", "kubeflap_service_addresses"}
		}
		for _, metric := range metrics {
			e.repeat(at, metric)
		}
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

func bigCluster(start time.Time, services int) *cluster {
	c := newCluster(start)
	for range 1000 {
		c.join()
	}
	c.runUntil(start.Add(time.Minute))
	for i := range services {
		c.deploy(fmt.Sprintf("team-%d", i%100), fmt.Sprintf("app-%d", i), 2)
	}
	c.runUntil(start.Add(2 * time.Minute))
	c.due = nil
	c.now = start
	c.watch("a")
	return c
}

// loseAll marks all nodes Unknown and all pods not ready, as the node controller and the endpointslice controller do.
func loseAll(c *cluster, at time.Time) {
	c.now = at.Add(time.Second)
	for _, n := range c.nodes {
		n.Ready = &event.Condition{Status: event.StatusUnknown, Reason: "NodeStatusUnknown", LastTransitionTime: c.now}
		o := *n.Node
		c.tell(event.Modified, &o)
	}
	for _, w := range c.workloads {
		for _, p := range w.pods {
			p.Ready = &event.Condition{Status: event.StatusFalse, LastTransitionTime: c.now}
			c.tell(event.Modified, clone(p))
		}
		c.sync(w)
	}
}

// cpu returns the CPU time that the process has used. On a busy machine, it says more than the elapsed time.
func cpu(b *testing.B) time.Duration {
	var use syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
