package web

import (
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestCollectionsWaitForScrapes checks the percentage of garbage at which collections begin, during and after concurrent
// scrapes of two pages, and after a panic.
func TestCollectionsWaitForScrapes(t *testing.T) {
	const percent = 30
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	expect := func(when string, want uint64) {
		t.Helper()
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		if metrics.Read(sample); sample[0].Value.Uint64() != want {
			t.Errorf("%s, collections begin at %d %%, want %d", when, sample[0].Value.Uint64(), want)
		}
	}
	scrape := func(during func()) {
		handler := handlerOf(t, registryWith(func(chan<- prometheus.Metric) { during() }))
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	}
	for range 2 {
		scrape(func() {
			expect("during a scrape", 2*percent)
			scrape(func() { expect("during two scrapes", 2*percent) })
			expect("after the second scrape", 2*percent)
		})
		expect("after both scrapes", percent)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the handler did not panic")
			}
		}()
		withoutCollections(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") })).ServeHTTP(nil, nil)
	}()
	expect("after a panic", percent)
}
