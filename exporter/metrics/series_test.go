package metrics

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// seriesOf returns the number of series of a healthy cluster with some nodes, Services and namespaces. A Service has one
// pod, and all Services are in the first namespace.
func seriesOf(t *testing.T, nodes, services, namespaces int) int {
	t.Helper()
	s := newOutage(t, &strings.Builder{}, nodes)
	in := func(namespace int, kind string, i int) event.Meta {
		name := fmt.Sprintf("%s-%d", kind, i)
		return event.Meta{UID: event.ParseUID(name), Namespace: fmt.Sprintf("namespace-%d", namespace), Name: name}
	}
	for i := range services + namespaces - 1 {
		pod := &event.Pod{Meta: in(max(0, i-services+1), "pod", i), Phase: "Running", Labels: map[string]string{"app": "web"}, Ready: &event.Condition{Status: event.StatusTrue}}
		s.apply(event.Added, event.KindPod, pod)
	}
	for i := range services {
		s.apply(event.Added, event.KindService, &event.Service{Meta: in(0, "service", i), Type: "ClusterIP", Selector: map[string]string{"app": "web"}})
		address := event.Address{UID: event.ParseUID(fmt.Sprintf("pod-%d", i)), IP: "10.0.0.1", Ready: true}
		s.apply(event.Added, event.KindEndpointSlice, &event.EndpointSlice{
			Meta: in(0, "slice", i), Service: fmt.Sprintf("service-%d", i), ManagedBy: "endpointslice-controller.k8s.io", Addresses: []event.Address{address},
		})
	}
	page := NewPage(prometheus.NewRegistry())
	page.Add(s.until(20).c, "")
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
