package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// watched returns a tracker and a collector of what happens in a cluster.
func watched(c *clustertest.Cluster) (*track.Tracker, *Collector) {
	tracker := track.New(track.Settings{GracePeriod: 40 * time.Second})
	collector := NewCollector(tracker, correlate.New(100), func() time.Time { return c.Now })
	c.Watchers[0].Sink = feed(collector, tracker)
	c.Start()
	return tracker, collector
}

// classesOfNodes returns the series with a class, and the numbers of nodes in incidents, except those that are always 0.
func classesOfNodes(t *testing.T, c *Collector) (text string) {
	t.Helper()
	for line := range strings.Lines(exposed(t, familiesOf(t, pageOf(c)))) {
		is := func(name string) bool { return strings.HasPrefix(line, name) }
		isZero := strings.HasSuffix(line, " 0\n")
		if is("kubeflap_node_silence_start") || !isZero && (is("kubeflap_node_unready_total") || is("kubeflap_node_unready_seconds_total") || is("kubeflap_incident_nodes")) {
			text += "  " + strings.TrimPrefix(line, "kubeflap_")
		}
	}
	return text
}

// TestClassesOfNodes shows each class of silences and of periods of not Ready, and each change from one to another, in
// stories like those in cmd/kubeflap/testdata/stories/README.md. In one of them, the counters start later.
func TestClassesOfNodes(t *testing.T) {
	var text strings.Builder
	for _, x := range clustertest.Stories(t, "testdata/node_classes.txt") {
		fmt.Fprintf(&text, "\n=== %s\n", x.Name)
		cluster := x.Cluster(0)
		tracker, collector := watched(cluster)
		for _, a := range x.Others {
			cluster.At(a.At, func() { tracker.StartCounting(cluster.Now) })
		}
		for _, a := range x.Asks {
			cluster.RunUntil(a.At)
			fmt.Fprintf(&text, "%g s: %s\n%s", a.At, a.Want, classesOfNodes(t, collector))
		}
	}
	golden(t, "testdata/classes.txt", strings.TrimPrefix(text.String(), "\n"))
}

// TestLossesOfForeignAddressesHaveACause removes a foreign address. It does not count as the Service's last loss.
func TestLossesOfForeignAddressesHaveACause(t *testing.T) {
	c := clustertest.Told("start 3; 60 slice web-extra web someone.example.com 10.9.9.9; 100 unslice web-extra")
	_, collector := watched(c)
	c.RunUntil(120)
	text := exposed(t, familiesOf(t, pageOf(collector)))
	const series = `kubeflap_service_address_losses_total{cause="manual_write",namespace="shop",service="web"} 1`
	if !strings.Contains(text, series) || strings.Contains(text, "kubeflap_service_last_loss") {
		t.Errorf("%s is missing, or there is a last loss:\n%s", series, text)
	}
}
