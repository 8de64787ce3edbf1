package metrics

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// seriesOf returns the number of series of a healthy cluster with some nodes, Services and namespaces. A Service has one
// pod, and all Services are in the first namespace.
func seriesOf(t *testing.T, nodes, services, namespaces int) int {
	t.Helper()
	c := clustertest.New(1, 2)
	for range nodes {
		c.AddNode()
	}
	for i := range services {
		v := c.Service("namespace-0", fmt.Sprintf("service-%d", i), true)
		v.Start(c.Nodes[0]).Serve()
		v.Fill()
	}
	for i := range namespaces - 1 {
		c.Others = append(c.Others, &event.Pod{
			Meta: clustertest.Meta("pod", fmt.Sprintf("namespace-%d", i+1), "pod"), Phase: "Running", Ready: &event.Condition{Status: event.StatusTrue},
		})
	}
	_, collector := watched(c)
	c.RunUntil(20)
	page := NewPage(prometheus.NewRegistry())
	page.Add(collector, "")
	series := 0
	for line := range strings.Lines(string(scraped(t, page, expfmt.NewFormat(expfmt.TypeTextPlain)))) {
		if !strings.HasPrefix(line, "#") {
			series++
		}
	}
	return series
}

// TestThePageKnowsTheSeriesPerObject compares the numbers in the docs with /metrics.
func TestThePageKnowsTheSeriesPerObject(t *testing.T) {
	base := seriesOf(t, 1, 1, 1)
	want := fmt.Sprintf("%d series per node, %d per Service and %d per namespace",
		seriesOf(t, 2, 1, 1)-base, seriesOf(t, 1, 2, 1)-base, seriesOf(t, 1, 1, 2)-base)
	const path = "../../docs/performance.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
		t.Errorf("%s does not contain %q", path, want)
	}
}
