//go:build fleet

// Package fleet runs the rules for three clusters in a real Thanos ruler, with the configuration of docs/fleet.md. In
// each cluster, a kubeflap replays recordings, and a Prometheus scrapes it.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// lasts is how long to wait after the start of a replay. A replay takes up to two minutes, and some alerts need two
// more minutes.
const lasts = 4 * time.Minute

// TestFleet checks that the ruler sends exactly the alerts that the clusters' own Prometheus servers send. The
// recordings have the same node and Service names. If a cluster is lost, the ruler must report this, and must still
// send the alerts of the other clusters.
func TestFleet(t *testing.T) {
	if err := steps.Run(func() { compareFleet(t) }); err != nil {
		t.Fatal(err)
	}
}

func compareFleet(t *testing.T) {
	f := newFleet(t)
	f.replay(map[string]string{"eu": "1-heartbeat-loss", "us": "2-control-plane-stall", "ap": "4-endpoints-reset"})
	time.Sleep(lasts)
	f.replay(map[string]string{"eu": "5-batch-upgrade", "us": "3-tight-grace-period", "ap": "1-heartbeat-loss"})
	time.Sleep(lasts)
	f.compare("eu", "us", "ap")

	f.clusters["ap"].kubeflap.Stop()
	f.clusters["ap"].prometheus.Stop()
	f.replay(map[string]string{"eu": "2-control-plane-stall", "us": "1-heartbeat-loss"})
	for _, c := range []*center{f.all, f.few} {
		until(t, c.ruler, "KubeflapDown of ap", 20*time.Minute, func(context.Context) error {
			for _, x := range c.alertmanager.of("ap") {
				if x.labels["alertname"] == "KubeflapDown" && x.labels["severity"] == "critical" && x.now {
					return nil
				}
			}
			return errors.New("the ruler has not sent it")
		})
	}
	f.compare("eu", "us")
	for name := range f.clusters {
		for key, x := range f.few.alertmanager.of(name) {
			if x.labels["alertname"] != "KubeflapDown" || name != "ap" {
				t.Errorf("the ruler with few series sent:\n%s", key)
			}
		}
	}
}

// replay starts a new kubeflap in each of the given clusters, which replays a recording. The objects of the previous
// recording are then gone.
func (f *fleet) replay(recordings map[string]string) {
	for name, recording := range recordings {
		c := f.clusters[name]
		if c.kubeflap != nil {
			c.kubeflap.Stop()
		}
		c.kubeflap = f.start("kubeflap of "+name, "kubeflap", "replay", "--log.level=warn", "--web.listen-address="+c.address,
			fmt.Sprintf("%s/exporter/recording/incidents/%s.jsonl.gz", root, recording))
	}
}

// compare compares all alerts that the Prometheus servers of the given clusters have sent with those that the ruler
// with all series has sent for these clusters. The links in the ruler's alerts must lead to the cluster.
func (f *fleet) compare(names ...string) {
	f.t.Helper()
	time.Sleep(time.Minute) // the ruler evaluates rules with a delay
	for _, name := range names {
		own, central := f.clusters[name].own.of(name), f.all.alertmanager.of(name)
		f.t.Logf("%s: %d alerts", name, len(own))
		if len(own) == 0 {
			f.t.Errorf("%s: no alert fired", name)
		}
		for key, x := range own {
			y, found := central[key]
			if !found || len(x.starts) != len(y.starts) {
				f.t.Errorf("%s: the cluster's Prometheus fired %d times, but the ruler %d times:\n%s", name, len(x.starts), len(y.starts), key)
			}
			for _, part := range []string{"of cluster " + name, "https://kubeflap." + name + ".example.org/", "var-cluster=" + name} {
				if found && !strings.Contains(y.text, part) {
					f.t.Errorf("%s: no %q in:\n%s", name, part, y.text)
				}
			}
		}
		for key := range central {
			if _, found := own[key]; !found {
				f.t.Errorf("%s: only the ruler sent this alert:\n%s", name, key)
			}
		}
	}
}
