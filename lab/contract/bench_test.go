package contract

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	rulesapi "github.com/prometheus/prometheus/rules"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// BenchmarkRules measures one evaluation of all rules for 1,000 nodes and 5,000 Services. The rules read 6 hours of
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
	c := bigCluster(start, 5000)
	e := newEvaluator(b)
	at := start
	scrape := func() {
		for r := range replicas {
			e.scrape(at, c.collector, fmt.Sprint(r))
		}
		at = at.Add(30 * time.Second)
	}
	scrape()
	for ; at.Before(start.Add(6 * time.Hour)); at = at.Add(30 * time.Second) {
		// Only the rules for error budgets read more than the last hour.
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

// BenchmarkRulesAfterADayOfChurn measures one evaluation of all rules after a day of churn, with 1,000 nodes and 2,000
// Services. Every 10 s, a Service is replaced. Every second, a pod becomes not ready for some seconds.
//
// To save time, all metrics are scraped only for the last three hours. All rules are evaluated for the last hour, and
// every 5 minutes before that. Metrics about kubeflap itself are stored for the whole day. The optional rules for
// fleets are measured separately, as fleet-ms/op.
func BenchmarkRulesAfterADayOfChurn(b *testing.B) {
	for _, interval := range intervals {
		b.Run(fmt.Sprintf("every=%s", interval), func(b *testing.B) { benchmarkChurn(b, interval) })
	}
}

func benchmarkChurn(b *testing.B, interval time.Duration) {
	const full = 3 * time.Hour
	end := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	c := bigCluster(end.Add(-full), 2000)
	c.churns(full + time.Hour)
	e := newEvaluator(b)
	fleet := &evaluator{t: b, groups: slices.Clone(e.groups)}
	fleet.groups = slices.DeleteFunc(fleet.groups, func(g *rulesapi.Group) bool { return g.Name() != fleetGroup })
	e.groups = slices.DeleteFunc(e.groups, func(g *rulesapi.Group) bool { return g.Name() == fleetGroup })
	for at := end.Add(-24 * time.Hour); at.Before(end.Add(-full)); at = at.Add(interval) {
		e.watchesOf(at)
	}
	at := end.Add(-full)
	for ; at.Before(end); at = at.Add(interval) {
		c.runUntil(at)
		e.scrape(at, c.collector, "a")
		if left := end.Sub(at); left <= time.Hour || left%(5*time.Minute) == 0 {
			e.evaluate(at)
		}
	}
	firing, spent, ofFleet := 0, time.Duration(0), time.Duration(0)
	for b.Loop() {
		b.StopTimer()
		c.runUntil(at)
		e.scrape(at, c.collector, "a")
		began := time.Now()
		fleet.evaluate(at)
		ofFleet += time.Since(began)
		before := cpu(b)
		b.StartTimer()
		firing = len(e.evaluate(at))
		spent += cpu(b) - before
		at = at.Add(interval)
	}
	b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(ofFleet.Milliseconds())/float64(b.N), "fleet-ms/op")
	b.ReportMetric(float64(len(e.refs)), "series")
	b.ReportMetric(float64(firing), "alerts")
}

// fleetGroup is the name of the group in rules/fleet.yaml.
const fleetGroup = "kubeflap-fleet"

// watchesOf stores kubeflap's metrics about itself.
func (e *evaluator) watchesOf(at time.Time) {
	app := e.storage.Appender(e.t.Context())
	target := []string{"instance", "a", "job", "kubeflap"}
	e.append(app, at, append([]string{"__name__", "kubeflap_build_info"}, target...), nil, 1)
	for _, k := range event.Kinds() {
		e.append(app, at, append([]string{"__name__", "kubeflap_watch_synced", "resource", k.String()}, target...), nil, 1)
	}
	if err := app.Commit(); err != nil {
		e.t.Fatal(err)
	}
}

// churns schedules replacements of Services and flapping pods for the given duration.
func (c *cluster) churns(d time.Duration) {
	for _, n := range c.sorted() {
		c.in(c.between(0, 10*time.Second), func() { c.beat(n) })
	}
	for i := range int(d / (10 * time.Second)) {
		c.in(time.Duration(i)*10*time.Second, func() {
			c.remove(c.workloads[0])
			c.deploy(fmt.Sprintf("team-%d", i%100), c.name("new"), 2)
		})
	}
	for i := range int(d / time.Second) {
		c.in(time.Duration(i)*time.Second, func() {
			w := c.workloads[c.random.IntN(len(c.workloads))]
			p := w.pods[0]
			c.setReady(w, p, event.StatusFalse)
			c.in(c.between(2*time.Second, 20*time.Second), func() {
				if slices.Contains(w.pods, p) {
					c.setReady(w, p, event.StatusTrue)
				}
			})
		})
	}
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
	c.watch()
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
			p.Ready = &event.Condition{Status: event.StatusFalse, LastTransitionTime: c.now, Writer: "kube-controller-manager"}
			c.tell(event.Modified, clone(p))
		}
		c.sync(w)
	}
}

// cpu returns the CPU time that the process has used. On a busy machine, it says more than the elapsed time.
func cpu(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
