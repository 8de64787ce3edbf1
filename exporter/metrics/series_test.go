package metrics

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// seriesOf returns the number of series of a healthy cluster with some nodes, Services and namespaces. A Service has one
// pod, and all Services are in the first namespace.
func seriesOf(t *testing.T, nodes, services, namespaces int) int {
	t.Helper()
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := begin
	tracker := track.New(track.Settings{BounceWindow: 2 * time.Minute})
	c := NewCollector(tracker, correlate.New(100), func() time.Time { return now })
	apply := func(kind event.Kind, what event.Type, object event.Object) {
		feed(c, tracker)(event.Event{Seen: now, Kind: kind, Type: what, Object: object})
	}
	list := func(kind event.Kind, n int, object func(int) event.Object) {
		apply(kind, event.Listing, nil)
		for i := range n {
			apply(kind, event.Listed, object(i))
		}
		apply(kind, event.Synced, nil)
	}
	in := func(namespace int, kind string, i int) event.Meta {
		name := fmt.Sprintf("%s-%d", kind, i)
		return event.Meta{UID: event.ParseUID(name), Namespace: fmt.Sprintf("namespace-%d", namespace), Name: name}
	}
	lease := func(i int) event.Object {
		return &event.Lease{Meta: event.Meta{UID: event.ParseUID(fmt.Sprintf("lease-%d", i)), Name: fmt.Sprintf("node-%d", i)}, RenewTime: now}
	}
	list(event.KindNode, nodes, func(i int) event.Object {
		return &event.Node{Meta: event.Meta{UID: event.ParseUID(fmt.Sprintf("node-%d", i)), Name: fmt.Sprintf("node-%d", i)}, Ready: &event.Condition{Status: event.StatusTrue}}
	})
	list(event.KindLease, nodes, lease)
	list(event.KindPod, services+namespaces-1, func(i int) event.Object {
		return &event.Pod{Meta: in(max(0, i-services+1), "pod", i), Phase: "Running", Labels: map[string]string{"app": "web"}, Ready: &event.Condition{Status: event.StatusTrue}}
	})
	list(event.KindService, services, func(i int) event.Object {
		return &event.Service{Meta: in(0, "service", i), Type: "ClusterIP", Selector: map[string]string{"app": "web"}}
	})
	list(event.KindEndpointSlice, services, func(i int) event.Object {
		return &event.EndpointSlice{Meta: in(0, "slice", i), Service: fmt.Sprintf("service-%d", i), ManagedBy: "endpointslice-controller.k8s.io", Addresses: []event.Address{{UID: event.ParseUID(fmt.Sprintf("pod-%d", i)), IP: "10.0.0.1", Ready: true}}}
	})
	now = begin.Add(10 * time.Second)
	for i := range nodes {
		apply(event.KindLease, event.Modified, lease(i))
	}
	page := NewPage(prometheus.NewRegistry())
	page.Add(c, "")
	series := 0
	for line := range strings.Lines(string(scraped(t, page, expfmt.NewFormat(expfmt.TypeTextPlain)))) {
		if !strings.HasPrefix(line, "#") {
			series++
		}
	}
	return series
}

// TestThePagesKnowTheSeriesPerObject compares the numbers in the docs with /metrics.
func TestThePagesKnowTheSeriesPerObject(t *testing.T) {
	base := seriesOf(t, 1, 1, 1)
	want := fmt.Sprintf("%d series per node, %d per Service and %d per namespace",
		seriesOf(t, 2, 1, 1)-base, seriesOf(t, 1, 2, 1)-base, seriesOf(t, 1, 1, 2)-base)
	for _, path := range []string{"../../docs/performance.md", "../../README.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("%s does not contain %q", path, want)
		}
	}
}
