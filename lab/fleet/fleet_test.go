//go:build fleet

// Package fleet runs the rules for three clusters in a real Thanos ruler, with the configuration of docs/fleet.md. In
// each cluster, a kubeflap replays recordings, and a Prometheus scrapes it.
package fleet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"
)

var keep = flag.Bool("keep", false, "leave everything running at the end until Ctrl-C, and print the addresses of the queriers")

// fleet is three clusters and two centers. docs/fleet.md describes two ways to evaluate rules centrally, and there is a
// center for each.
type fleet struct {
	clusters map[string]*cluster
	// The center all receives all series that the rules read, and evaluates all rules. The center few only receives the
	// series that the clusters record, and only evaluates kubeflap.yaml.
	all, few *center
}

// lasts is how long to wait after the start of a replay. A replay takes up to two minutes, and some alerts need two
// more minutes.
const lasts = 4 * time.Minute

// TestFleet checks that the ruler sends exactly the alerts that the clusters' own Prometheus servers send, with the
// same labels and texts. The recordings have the same node and Service names. If a cluster is lost, the ruler must
// report this, and must still send the alerts of the other clusters.
func TestFleet(t *testing.T) {
	f := newFleet(t)
	f.replay(map[string]string{"eu": "1-heartbeat-loss", "us": "3-control-plane-stall", "ap": "2-endpoints-reset"})
	time.Sleep(lasts)
	f.replay(map[string]string{"eu": "4-batch-upgrade", "us": "5-tight-grace-period", "ap": "1-heartbeat-loss"})
	time.Sleep(lasts)
	f.compare(t, "eu", "us", "ap")
	f.checkDashboard(t)

	gone := time.Now()
	f.clusters["ap"].kubeflap.Stop()
	f.clusters["ap"].prometheus.Stop()
	f.replay(map[string]string{"eu": "3-control-plane-stall", "us": "1-heartbeat-loss"})
	for _, c := range []*center{f.all, f.few} {
		until(t, c.ruler, "KubeflapDown of ap", 20*time.Minute, func(context.Context) error {
			for _, x := range c.alertmanager.of("ap") {
				if x.labels["alertname"] == "KubeflapDown" && x.labels["severity"] == "critical" && x.now {
					return nil
				}
			}
			return errors.New("the ruler has not sent it")
		})
		t.Logf("%s: KubeflapDown of the lost cluster was sent after %s", c.name, time.Since(gone).Round(time.Second))
	}
	f.compare(t, "eu", "us")
	for name := range f.clusters {
		for key, x := range f.few.alertmanager.of(name) {
			if x.labels["alertname"] != "KubeflapDown" || name != "ap" {
				t.Errorf("the ruler with few series sent:\n%s", key)
			}
		}
	}
	f.checkDashboard(t)
	f.all.checkEvaluations(t)
	f.few.checkEvaluations(t)
	f.keep(t)
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	p := readPage(t)
	rules := p.linkedRules(t)
	f := &fleet{clusters: map[string]*cluster{}}
	f.all = newCenter(t, p, "all series", rules+"/*.yaml")
	f.few = newCenter(t, p, "few series", rules+"/kubeflap.yaml")
	for _, name := range []string{"eu", "us", "ap"} {
		f.clusters[name] = newCluster(t, p, name, rules, f.all.at, f.few.at)
	}
	return f
}

// replay starts a new kubeflap in each of the given clusters, which replays a recording. The objects of the previous
// recording are then gone. The ruler evaluates with a delay, so it still sends alerts about these objects for some
// time. But the queries in their annotations are not delayed, so some texts only come from the ruler.
func (f *fleet) replay(recordings map[string]string) {
	for name, recording := range recordings {
		c := f.clusters[name]
		if c.kubeflap != nil {
			c.kubeflap.Stop()
		}
		c.kubeflap = start(c.t, "kubeflap of "+name, "kubeflap", "replay", "--log.level=warn", "--web.listen-address="+c.address,
			fmt.Sprintf("%s/exporter/recording/incidents/%s.jsonl.gz", root, recording))
	}
}

// compare compares all alerts of the given clusters so far with those from the ruler.
func (f *fleet) compare(t *testing.T, names ...string) {
	t.Helper()
	time.Sleep(time.Minute) // the ruler evaluates rules with a delay
	for _, name := range names {
		own := f.clusters[name].own.of(name)
		compare(t, name, own, f.all.alertmanager.of(name))
		t.Logf("%s: %d alerts", name, len(own))
		if len(own) == 0 {
			t.Errorf("%s: no alert fired", name)
		}
	}
	for _, key := range f.all.alertmanager.others(f.clusters) {
		t.Errorf("alert without a known cluster:\n%s", key)
	}
}

// keep keeps everything running until the user interrupts the test. It does nothing unless the flag keep is set.
func (f *fleet) keep(t *testing.T) {
	t.Helper()
	if !*keep {
		return
	}
	for _, c := range []*center{f.all, f.few} {
		fmt.Printf("querier of %s: http://%s\n", c.name, c.querier)
	}
	<-f.all.ruler.Exited()
}
